"""The vectors of a data set's texts by a sentence encoder, kept in files so that each text is encoded once.

    python benchmarks/sentence_vectors.py cooking ENCODER FOLDER

ENCODER is what `neartag train --encoder` takes. FOLDER gets NAME-train.ENCODER.npy and NAME-test.ENCODER.npy. "debian"
is the embedded corpus: it has the words of a package's name and summary as a sorted set, which is its text here.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from texts import texts_of

from neartag.data import debian
from neartag.data.documents import Document
from neartag.encoders.sentence import SentenceFeatures

EMBEDDED = "debian"


def documents_of(name: str, part: str) -> list[Document]:
    """Texts and labels of one part of a data set that has texts."""
    if name != EMBEDDED:
        return texts_of(name, part)
    packages = debian.load(part)
    rows = zip(packages.names, packages.words, packages.tags, strict=True)
    return [Document(" ".join(words), tags, f"{part} {package}", None, "") for package, words, tags in rows]


def vectors_of(name: str, part: str, encoder: str, folder: str | Path) -> np.ndarray:
    """The vectors of one part (n, dim), float32, each of length 1: from the file, or encoded and kept there."""
    kept = Path(folder) / f"{name}-{part}.{Path(encoder).stem}.npy"
    if not kept.exists():
        cpu = time.process_time()
        texts = [document.text for document in documents_of(name, part)]
        vectors = SentenceFeatures(encoder).fit_transform(texts)
        print(f"{name}, {part}: {len(texts):,} texts in {time.process_time() - cpu:.0f} CPU s", flush=True)
        kept.parent.mkdir(parents=True, exist_ok=True)
        np.save(kept, vectors)
    return np.load(kept)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name")
    parser.add_argument("encoder")
    parser.add_argument("folder")
    given = parser.parse_args()
    for part in ("test", "train"):
        vectors_of(given.name, part, given.encoder, given.folder)


if __name__ == "__main__":
    main()

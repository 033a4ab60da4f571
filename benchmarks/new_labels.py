"""Labels that come after training, with words alone and with vectors beside them.

    python benchmarks/new_labels.py ENCODER FOLDER [--seed 0] [--write]

20 tags of cooking with 20 to 100 documents each, as in texts.py: all documents that have one are withheld from
training, then 5 of each are added. How many of these tags are found among the best 5 for the other withheld documents.
ENCODER and FOLDER are as for hybrid.py.
"""

from __future__ import annotations

import argparse

import numpy as np
import pages
from run import machine
from sentence_vectors import documents_of, vectors_of
from texts import withhold_labels

from neartag import TextTagger, X1Classifier
from neartag.encoders.hybrid import HybridFeatures

DATA = "cooking"


class KeptVectors:
    """An encoder of texts whose vectors are known."""

    def __init__(self, texts: list[str], vectors: np.ndarray) -> None:
        self.by_text = dict(zip(texts, vectors, strict=True))
        self.unknown = np.zeros(vectors.shape[1], np.float32)
        self.unknown[0] = 1.0  # of the text that tells one encoder from another

    def encode(self, texts: list[str]) -> np.ndarray:
        return np.array([self.by_text.get(text, self.unknown) for text in texts])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("encoder")
    parser.add_argument("folder")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    documents = documents_of(DATA, "train")
    vectors = vectors_of(DATA, "train", given.encoder, given.folder)
    encoder = KeptVectors([document.text for document in documents], vectors)
    parts = withhold_labels(documents, given.seed)
    results = {"machine": machine(), "seed": given.seed, "recall": {}}
    for kind in ("words", "both"):
        for refine in (False, True):
            features = "words" if kind == "words" else HybridFeatures("words", encoder)
            tagger = TextTagger(features, X1Classifier(refine=refine, n_jobs=1)).fit_documents(parts.old)
            tagger.add_documents(parts.added)
            name = f"{kind}, {'refined' if refine else 'votes alone'}"
            results["recall"][name] = round(parts.recall(tagger), 1)
            print(name, results["recall"][name], flush=True)
    if given.write:
        pages.keep("new_labels", results)


if __name__ == "__main__":
    main()

"""Memory that vectors of 384 numbers take beside words, in training and in answering, for each document.

    python benchmarks/hybrid_memory.py [--points 60000 180000] [--float32]

Documents are made up: 10 of 20,000 words, 3 of 2,000 labels, a vector near those of its labels. Each size is trained
and loaded in processes of its own, words alone and both. What a document takes is the slope between the two sizes.
Vectors are given as `neartag train` has them, coded as they come from the encoder. With --float32 they are given as an
array, as a caller in Python may have it: its 1,536 bytes a document are part of what is measured.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix

from neartag.linalg.coded_rows import CodedRows
from neartag.linalg.hybrid_rows import HybridRows
from neartag.linalg.rows import normalise
from neartag.storage import store
from neartag.x1.classifier import X1Classifier

DIM, WORDS, LABELS = 384, 20_000, 2_000
WORDS_EACH, LABELS_EACH = 10, 3
VECTORS_AT_ONCE = 4096


def make_rows(points: int, both: bool, coded: bool = True) -> tuple:
    """Made-up documents and their labels."""
    chance = np.random.default_rng(0)
    labels = np.sort((LABELS * chance.random((points, LABELS_EACH)) ** 2).astype(np.int32), axis=1)
    own = (labels * 7)[:, :, None] + chance.integers(0, 7, (points, LABELS_EACH, 2))  # two words of each label
    more = (WORDS * chance.random((points, WORDS_EACH - 2 * LABELS_EACH)) ** 2).astype(np.int64)
    words = np.concatenate([own.reshape(points, -1), more], axis=1)
    ones = np.ones(words.size, np.float32)
    X = csr_matrix((ones, words.ravel(), np.arange(0, words.size + 1, WORDS_EACH)), shape=(points, WORDS))
    X.sum_duplicates()
    Y = csr_matrix(
        (np.ones(labels.size, np.float32), labels.ravel(), np.arange(0, labels.size + 1, LABELS_EACH)),
        shape=(points, LABELS),
    )
    Y.sum_duplicates()
    Y.data[:] = 1  # a label may have been drawn twice
    if not both:
        return X, Y
    centres = chance.standard_normal((LABELS, DIM)).astype(np.float32)
    array = np.empty((0, DIM) if coded else (points, DIM), np.float32)
    codes = CodedRows.empty(points if coded else 0, DIM)
    for first in range(0, points, VECTORS_AT_ONCE):
        block = slice(first, min(first + VECTORS_AT_ONCE, points))
        vectors = chance.standard_normal((block.stop - first, DIM), np.float32)
        vectors += centres[labels[block]].sum(axis=1)
        if coded:
            codes.write(block, normalise(vectors))
        else:
            array[block] = vectors
    return HybridRows(X, codes if coded else array), Y


def measure(step: str, points: int, both: bool, folder: str, coded: bool) -> dict:
    """In a process of its own: train and save, or load and answer; peak memory and CPU seconds."""
    from resource import RUSAGE_SELF, getrusage

    if step == "train":
        X, Y = make_rows(points, both, coded)
        store.save(X1Classifier(n_jobs=1).fit(X, Y).model_, folder)
    else:
        rows = make_rows(2000, both, coded=False)[0]
        model = store.load(folder).model
        model.predict_topk(rows, 5, n_jobs=1)
    used = getrusage(RUSAGE_SELF)
    return {"peak": used.ru_maxrss * 1024, "cpu": round(time.process_time(), 1)}


def ask(*given: object) -> dict:
    command = [sys.executable, __file__, "--child", json.dumps(given)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", nargs=2, type=int, default=[60_000, 180_000])
    parser.add_argument("--float32", action="store_true")
    parser.add_argument("--child")
    given = parser.parse_args()
    if given.child:
        print(json.dumps(measure(*json.loads(given.child))))
        return
    few, many = given.points
    taken: dict[tuple, dict] = {}
    with tempfile.TemporaryDirectory() as place:
        for points in (few, many):
            for both in (False, True):
                folder = f"{place}/{points}-{both}"
                for step in ("train", "answer"):
                    taken[step, points, both] = ask(step, points, both, folder, not given.float32)
                size = sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())
                taken["folder", points, both] = {"peak": size}
                print(points, "both" if both else "words", taken["train", points, both], f"{size:,}", flush=True)
    for step in ("train", "answer", "folder"):
        over = [taken[step, points, True]["peak"] - taken[step, points, False]["peak"] for points in (few, many)]
        each = (over[1] - over[0]) / (many - few)
        print(f"{step}: {each:,.0f} bytes a document over words alone, {each / 1e3:.2f} GB for a million")


if __name__ == "__main__":
    main()

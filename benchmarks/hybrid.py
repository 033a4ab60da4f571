"""Words, vectors, and both side by side: accuracy with intervals, and what training and prediction cost.

    python benchmarks/hybrid.py yso-finna-en-100k TRAIN.npy TEST.npy [--texts]

TRAIN.npy and TEST.npy have a vector for each document of the parts of the data set, in their order, from any sentence
encoder. Words are the own features of the data set; with --texts neartag makes them from texts. Nothing else is set.
The intervals, 95% by a paired bootstrap over test points, are those of both against each part alone. Seconds are of
CPU, on one thread, without encoding.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from texts import texts_of, truth_of

from neartag import data
from neartag.encoders.feature_kinds import AutoFeatures
from neartag.linalg.hybrid_rows import HybridRows
from neartag.metrics import evaluate, paired_bootstrap
from neartag.tagging.corpus import encode_corpus
from neartag.tagging.feature_choice import fit_corpus
from neartag.x1.classifier import X1Classifier

METRICS = ("P@1", "P@3", "P@5")


def rows_of(name: str, from_texts: bool) -> tuple:
    """Return words and labels of both parts."""
    if not from_texts:
        train, test = data.load(name), data.load(name, "test")
        return train.X, train.Y, test.X, test.Y
    learned, features = fit_corpus(texts_of(name, "train"), AutoFeatures(), keep_texts=False)
    other = encode_corpus(texts_of(name, "test"), features)
    return learned.X, learned.Y, other.X, truth_of(other, learned.label_names)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name")
    parser.add_argument("train")
    parser.add_argument("test")
    parser.add_argument("--texts", action="store_true")
    given = parser.parse_args()
    words, Y, words_test, Y_test = rows_of(given.name, given.texts)
    vectors, vectors_test = np.load(given.train), np.load(given.test)
    kinds = {
        "words": (words, words_test),
        "vectors": (vectors, vectors_test),
        "both": (HybridRows(words, vectors), HybridRows(words_test, vectors_test)),
    }
    answers = {}
    for kind, (rows, rows_test) in kinds.items():
        started = time.process_time()
        model = X1Classifier(n_jobs=1).fit(rows, Y)
        trained = time.process_time()
        answers[kind], _ = model.predict_topk(rows_test, 5)
        answered = time.process_time() - trained
        found = evaluate(answers[kind], Y_test)
        figures = " / ".join(f"{found[metric]:.2f}" for metric in METRICS)
        each = 1000 * answered / rows_test.shape[0]
        print(f"{kind:8} {figures}   training {trained - started:.1f} s, a point {each:.2f} ms", flush=True)
    for kind in ("words", "vectors"):
        for metric in METRICS:
            gain = paired_bootstrap(answers["both"], answers[kind], Y_test, metric=metric)
            print(f"both − {kind}, {metric}: {gain.difference:+.2f} ({gain.low:+.2f} to {gain.high:+.2f})")


if __name__ == "__main__":
    main()

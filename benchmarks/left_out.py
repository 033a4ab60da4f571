"""What it costs not to look all words of a document up in the labels' centroids, as is done from 100,000 labels on.

    python benchmarks/left_out.py [--write]

A fifth of the training points, 5,000 at most, are held out, and refined models trained on the others; the test part is
never looked at. --write puts the table into docs/method.md.
"""

from __future__ import annotations

import argparse
from unittest import mock

import numpy as np
import pages

from neartag.data import registry
from neartag.evaluation import metrics
from neartag.rerank import label_centroids
from neartag.x1.classifier import X1Classifier

DATA, SHARES, CUTS = ("eurlex4k-partial", "yso-finna-en-100k"), (0.0, 0.02, 0.1), ("P@1", "P@3", "P@5")


def measure(data: str, share: float) -> dict[str, float]:
    """Return the precision on points held out, where so much of a point's squared length may be left out."""
    train = registry.load(data, "train")
    held = np.zeros(train.n_points, bool)
    held[np.random.default_rng(5).choice(train.n_points, min(train.n_points // 5, 5000), replace=False)] = True
    changed = {"LABELS_LOOKED_UP_IN_FULL": 0, "LEFT_OUT_OF_A_POINT": share**0.5}
    with mock.patch.multiple(label_centroids, **changed):
        model = X1Classifier().fit(train.X[~held], train.Y[~held])
        labels, _ = model.predict_topk(train.X[held], 5)
    scores = metrics.evaluate(labels, train.Y[held])
    return {cut: float(scores[cut]) for cut in CUTS}


def make_table() -> str:
    """Measure all, and return the table."""
    lines = ["| data set | left out of a point's squared length, at most | P@1 | P@3 | P@5 |", "|---|---|---|---|---|"]
    for data in DATA:
        for share in SHARES:
            cells = " | ".join(f"{value:.2f}" for value in measure(data, share).values())
            lines.append(f"| {data} | {100 * share:.0f}% | {cells} |")
            print(lines[-1], flush=True)
    return "\n".join(lines)


def main() -> None:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    table = make_table()
    if given.write:
        pages.insert("left out", table, pages.DOCS / "method.md")


if __name__ == "__main__":
    main()

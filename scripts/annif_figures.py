"""Writes figures that Annif itself computes for random answers, which tests compare with neartag's.

`nox -s annif -- scripts/annif_figures.py tests/evaluation/annif.json`.
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from typing import Any

import numpy as np
from annif.eval import EvaluationBatch
from annif.suggestion import filter_suggestion
from scipy.sparse import csr_array

# Points, labels, answers for each point, Annif's limit and threshold.
CASES = ((7, 6, 5, 10, 0.0), (12, 9, 8, 10, 0.3), (25, 40, 14, 10, 0.0), (10, 5, 5, 3, 0.5))


def make_case(
    chance: np.random.Generator, points: int, width: int, depth: int, limit: int, threshold: float
) -> dict[str, Any]:
    """Return random answers and true labels, with Annif's figures; one point has no labels, one no answer."""
    labels, scores = np.full((points, depth), -1), np.zeros((points, depth))
    dense = np.zeros((points, width))
    true = chance.random((points, width)) < 0.2
    true[0] = False
    for row in range(points):
        count = 0 if row == 2 else int(chance.integers(1, min(depth, width) + 1))
        labels[row, :count] = chance.permutation(width)[:count]
        scores[row, :count] = -np.sort(-chance.random(count).round(6))
        dense[row, labels[row, :count]] = scores[row, :count]
    answered = filter_suggestion(csr_array(dense), limit, threshold)
    figures = EvaluationBatch(None)._evaluate_samples(csr_array(true), answered)
    return {
        "labels": labels.tolist(),
        "scores": scores.tolist(),
        "true": [np.flatnonzero(row).tolist() for row in true],
        "width": width,
        "limit": limit,
        "threshold": threshold,
        "annif": {
            **{name: value if isinstance(value, int) else float(value) for name, value in figures.items()},
            "Documents evaluated": points,
        },
    }


def main() -> None:
    """Write the cases to the file named on the command line."""
    chance = np.random.default_rng(20)
    source = f"annif {version('annif')}: EvaluationBatch after filter_suggestion; written by scripts/annif_figures.py"
    cases = [make_case(chance, *case) for case in CASES]
    with open(sys.argv[1], "w", encoding="utf-8") as stream:
        json.dump({"source": source, "cases": cases}, stream, separators=(",", ":"))
        stream.write("\n")


if __name__ == "__main__":
    main()

"""Predictions checked against the truth, and what each point reached and could have reached in a metric.

The table of the metrics stands in `neartag.evaluation.metrics`, the public face.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix, issparse

from neartag.core.errors import ParameterError
from neartag.linalg import csr


@dataclass(frozen=True)
class Matches:
    """Predictions checked against the truth."""

    labels: np.ndarray  # (n, columns) int64
    hits: np.ndarray  # (n, columns) bool
    truth: csr_matrix  # (n, L), indices sorted, no zeros stored
    counts: np.ndarray  # (n,) true labels a point


def match_labels(labels: np.ndarray, Y: csr_matrix) -> Matches:
    """Return predictions checked against the true labels; ParameterError where they do not fit together."""
    truth = canonical(Y, "Y")
    points, label_count = truth.shape
    given = np.asarray(labels)
    if given.ndim != 2 or given.shape[0] != points:
        raise ParameterError(f"labels must be (n, k) with the {points} rows of Y: its shape is {given.shape}")
    if points == 0:
        raise ParameterError("labels and Y have no points, so there is nothing to measure")
    if not np.issubdtype(given.dtype, np.integer):
        raise ParameterError(f"labels must be integer label ids: their type is {given.dtype}")
    given = given.astype(np.int64)
    if given.size and (given.max() >= label_count or given.min() < -1):
        wrong = given.max() if given.max() >= label_count else given.min()
        raise ParameterError(f"labels hold the id {wrong}; ids run from 0 to {label_count - 1}, -1 stands for none")
    ordered = np.sort(given, axis=1)
    twice = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)
    if twice.any():
        row = int(np.flatnonzero(twice.any(axis=1))[0])
        raise ParameterError(f"labels of point {row} name a label twice, which would count its hit twice")

    counts = np.diff(truth.indptr).astype(np.int64)
    rows = np.arange(points, dtype=np.int64)
    # A pair (row, label) as one number: the true ones are sorted, so each prediction is found by bisection.
    keys = np.repeat(rows, counts) * label_count + truth.indices
    wanted = rows[:, None] * label_count + given  # (n, columns)
    position = np.searchsorted(keys, wanted)
    hits = (given >= 0) & (position < keys.size)
    hits[hits] = keys[position[hits]] == wanted[hits]
    return Matches(given, hits, truth, counts)


def within(judged: Matches, chosen: np.ndarray) -> Matches:
    """Return the same predictions checked against only those true labels that are chosen: a bool for each label."""
    kept = chosen[judged.truth.indices]
    starts = csr.pointer(kept)[judged.truth.indptr]
    parts = judged.truth.data[kept], judged.truth.indices[kept], starts
    hits = judged.hits.copy()
    hits[hits] = chosen[judged.labels[hits]]
    return Matches(judged.labels, hits, csr_matrix(parts, shape=judged.truth.shape), np.diff(starts))


def score(family: str, k: int, judged: Matches, known: np.ndarray | None = None) -> float:
    """Return a metric over all points, in percent."""
    return percent(*terms(family, k, judged, known))


def terms(family: str, k: int, judged: Matches, known: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return for each point what was reached and what was attainable, as in the table of metrics.py: (n,) and (n,)."""
    check_k(k, judged)
    if family.endswith("nDCG"):
        discount = 1.0 / np.log2(np.arange(2, k + 2))  # (k,)
        ideal = np.concatenate([[0.0], np.cumsum(discount)])[np.minimum(judged.counts, k)]  # (n,)
    else:
        discount = np.ones(k)
        ideal = judged.counts if family == "R" else np.full(judged.counts.shape, k)

    hits = judged.hits[:, :k]
    gains = np.zeros(hits.shape)  # (n, k)
    if known is None:
        gains[hits] = 1.0
        return divide(gains @ discount, ideal), np.ones(ideal.shape)
    known = np.asarray(known, dtype=float)  # (L,)
    if known.shape != (judged.truth.shape[1],):
        raise ParameterError(f"propensities (or Y_train) are for {known.shape} labels: Y has {judged.truth.shape[1]}")
    if not np.all((known > 0.0) & (known <= 1.0)):
        raise ParameterError("propensities must lie above 0 and not above 1")
    weights = 1.0 / known
    gains[hits] = weights[judged.labels[:, :k][hits]]
    return divide(gains @ discount, ideal), divide(_best(judged, weights, discount), ideal)


def _best(judged: Matches, weights: np.ndarray, discount: np.ndarray) -> np.ndarray:
    """Return the largest discounted sum of weights that k labels can reach for each point: (n,)."""
    points = judged.counts.size
    rows = csr.row_numbers(judged.truth)
    gains = weights[judged.truth.indices]
    gains = gains[np.lexsort((-gains, rows))]  # within each row the heaviest first
    ranks = np.arange(gains.size) - np.repeat(judged.truth.indptr[:-1].astype(np.int64), judged.counts)
    first = ranks < discount.size
    return np.bincount(rows[first], weights=gains[first] * discount[ranks[first]], minlength=points)


def canonical(Y: csr_matrix, name: str) -> csr_matrix:
    """Return a label matrix with sorted indices and neither duplicates nor stored zeros; `name` is for errors."""
    if not issparse(Y):
        raise ParameterError(f"{name} must be a scipy sparse matrix: it is a {type(Y).__name__}")
    matrix = csr_matrix(Y)
    if matrix.has_canonical_format and np.all(matrix.data):
        return matrix
    matrix = matrix.copy()
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix


def frequencies(Y: csr_matrix) -> np.ndarray:
    """Return how many points have each label: (L,)."""
    return np.bincount(Y.indices, minlength=Y.shape[1])


def check_k(k: int, judged: Matches) -> None:
    """Refuse a k that the predictions have no columns for."""
    if k < 1:
        raise ParameterError(f"k must be at least 1: {k}")
    if k > judged.labels.shape[1]:
        raise ParameterError(f"k is {k}, but the labels given have only {judged.labels.shape[1]} columns")


def divide(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """Return the quotient, 0 where there was nothing to reach."""
    return np.divide(above, below, out=np.zeros(above.shape), where=below > 0)


def percent(reached: np.ndarray, attainable: np.ndarray) -> float:
    """Return the sum of what was reached in percent of what could be, 0 where that is nothing."""
    total = float(attainable.sum())
    return 100.0 * float(reached.sum()) / total if total > 0 else 0.0

"""Predictions matched with the true labels, and what each point reached and could have reached in a metric.

The table of the metrics stands in `neartag.evaluation.metrics`.
"""

from __future__ import annotations

import numbers
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix, issparse

from neartag.core.errors import ParameterError
from neartag.linalg import csr
from neartag.linalg.validation import as_dense_labels


@dataclass(frozen=True)
class Matches:
    """Predictions matched with the true labels."""

    labels: np.ndarray  # (n, columns) int64
    hits: np.ndarray  # (n, columns) bool
    truth: csr_matrix  # (n, L), indices sorted, no zeros stored
    counts: np.ndarray  # (n,) true labels of each point


def match_labels(labels: np.ndarray, Y: csr_matrix) -> Matches:
    """Return which predictions are true labels; ParameterError if both do not fit together."""
    truth = to_canonical(Y, "Y")
    points, label_count = truth.shape
    predicted = np.asarray(labels)
    if predicted.ndim != 2 or predicted.shape[0] != points:
        raise ParameterError(f"labels must be (n, k) with the {points} rows of Y: its shape is {predicted.shape}")
    if points == 0:
        raise ParameterError("labels and Y have no points, so there is nothing to measure")
    if not np.issubdtype(predicted.dtype, np.integer):
        raise ParameterError(f"labels must be integer label ids: their type is {predicted.dtype}")
    predicted = predicted.astype(np.int64)
    if predicted.size and (predicted.max() >= label_count or predicted.min() < -1):
        wrong = predicted.max() if predicted.max() >= label_count else predicted.min()
        raise ParameterError(f"labels hold the id {wrong}; ids run from 0 to {label_count - 1}, -1 stands for none")
    ordered = np.sort(predicted, axis=1)
    repeated = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)
    if repeated.any():
        row = int(np.flatnonzero(repeated.any(axis=1))[0])
        raise ParameterError(f"labels of point {row} name a label twice, which would count its hit twice")

    counts = np.diff(truth.indptr).astype(np.int64)
    rows = np.arange(points, dtype=np.int64)
    # A pair (row, label) as one number: the true ones are sorted, so each prediction is found by bisection.
    true_pairs = np.repeat(rows, counts) * label_count + truth.indices
    predicted_pairs = rows[:, None] * label_count + predicted  # (n, columns)
    position = np.searchsorted(true_pairs, predicted_pairs)
    hits = (predicted >= 0) & (position < true_pairs.size)
    hits[hits] = true_pairs[position[hits]] == predicted_pairs[hits]
    return Matches(predicted, hits, truth, counts)


def keep_labels(matches: Matches, kept: np.ndarray) -> Matches:
    """Return the same predictions matched with only those true labels that are kept: (L,) bool."""
    truth = csr.keep_entries(matches.truth, kept[matches.truth.indices])
    hits = matches.hits.copy()
    hits[hits] = kept[matches.labels[hits]]
    return Matches(matches.labels, hits, truth, np.diff(truth.indptr))


def score(family: str, k: int, matches: Matches, propensities: np.ndarray | None = None) -> float:
    """Return a metric over all points, in percent."""
    return percent(*point_terms(family, k, matches, propensities))


def point_terms(
    family: str, k: int, matches: Matches, propensities: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return what each point reached and what it could reach, as in the table of metrics.py: (n,) and (n,)."""
    check_k(k, matches)
    if family.endswith("nDCG"):
        discount = 1.0 / np.log2(np.arange(2, k + 2))  # (k,)
        ideal = np.concatenate([[0.0], np.cumsum(discount)])[np.minimum(matches.counts, k)]  # (n,)
    else:
        discount = np.ones(k)
        ideal = matches.counts if family == "R" else np.full(matches.counts.shape, k)

    hits = matches.hits[:, :k]
    gains = np.zeros(hits.shape)  # (n, k)
    if propensities is None:
        gains[hits] = 1.0
        return divide(gains @ discount, ideal), np.ones(ideal.shape)
    propensities = np.asarray(propensities, dtype=float)  # (L,)
    n_labels = matches.truth.shape[1]
    if propensities.shape != (n_labels,):
        raise ParameterError(f"propensities (or Y_train) are for {propensities.shape} labels: Y has {n_labels}")
    if not np.all((propensities > 0.0) & (propensities <= 1.0)):
        raise ParameterError("propensities must lie above 0 and not above 1")
    weights = 1.0 / propensities
    gains[hits] = weights[matches.labels[:, :k][hits]]
    return divide(gains @ discount, ideal), divide(_best_gains(matches, weights, discount), ideal)


def _best_gains(matches: Matches, weights: np.ndarray, discount: np.ndarray) -> np.ndarray:
    """Return the largest discounted sum of weights that k labels can reach for each point: (n,)."""
    points = matches.counts.size
    rows = csr.row_numbers(matches.truth)
    gains = weights[matches.truth.indices]
    gains = gains[np.lexsort((-gains, rows))]  # within each row the largest first
    ranks = np.arange(gains.size) - np.repeat(matches.truth.indptr[:-1].astype(np.int64), matches.counts)
    first = ranks < discount.size
    return np.bincount(rows[first], weights=gains[first] * discount[ranks[first]], minlength=points)


def to_canonical(Y: csr_matrix, name: str) -> csr_matrix:
    """Return a label matrix with sorted indices and neither duplicates nor stored zeros; `name` is for errors."""
    matrix = csr_matrix(Y if issparse(Y) else as_dense_labels(Y, name))
    if matrix.dtype.kind == "c":
        raise ParameterError(f"{name} must hold zeros and ones, not {matrix.dtype} numbers")
    if matrix.has_canonical_format and np.all(matrix.data):
        return matrix
    matrix = matrix.copy()
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix


def frequencies(Y: csr_matrix) -> np.ndarray:
    """Return how many points have each label: (L,)."""
    return np.bincount(Y.indices, minlength=Y.shape[1])


def check_k(k: int, matches: Matches) -> None:
    """Refuse a k that is no whole number, or for which the predictions have no columns."""
    if isinstance(k, bool) or not isinstance(k, numbers.Integral):
        raise ParameterError(f"k must be a whole number: {k!r}")
    if k < 1:
        raise ParameterError(f"k must be at least 1: {k}")
    if k > matches.labels.shape[1]:
        raise ParameterError(f"k is {k}, but the labels given have only {matches.labels.shape[1]} columns")


def divide(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """Return the quotient, 0 where there was nothing to reach."""
    return np.divide(above, below, out=np.zeros(above.shape), where=below > 0)


def percent(reached: np.ndarray, attainable: np.ndarray) -> float:
    """Return the sum of what was reached in percent of what could be reached, 0 if that is nothing."""
    total = float(attainable.sum())
    return 100.0 * float(reached.sum()) / total if total > 0 else 0.0

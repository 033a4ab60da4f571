"""Rankers: for each label a sparse linear machine that tells its points from those where it was a wrong candidate.

min ½‖w‖² + C · Σᵢ max(0, 1 − yᵢ·(w·xᵢ + b))² for each label by itself, over its points and its hard negatives, by dual
coordinate descent. Small weights are then dropped. Cost: a few passes over the rows of each label's points.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.sparse import csr_matrix

from neartag.core.threads import run_pieces, run_ranges
from neartag.linalg import csr
from neartag.linalg.rows import Rows, csr_arrays, dense_if_faster, row_lengths, transpose
from neartag.rerank import ranker_kernels
from neartag.rerank.ranker_kernels import SEARCH_START, SEARCH_STEP

# A label's machine has settled when the dual's projected gradients differ by no more; passes over its points at most.
TOLERANCE, ROUNDS = 0.3, 10
# A table scores all labels: that pays where they are no more than so many for each candidate.
FEW_OTHERS = 8


@dataclass
class Rankers:
    """Weights of every label's machine; labels that came later may have none."""

    weights: csr_matrix  # (L, d)
    bias: np.ndarray  # (L,) float32
    known: np.ndarray  # (L,) which labels have one
    by_feature: bool = False  # whether all labels are scored, feature by feature, rather than candidate by candidate

    def margins(self, X: Rows, labels: np.ndarray, threads: int) -> np.ndarray:
        """Return w·x + b of each row's candidates (m, room); 0 where there is none."""
        out = np.empty(labels.shape, np.float32)
        rows = csr_arrays(X if sparse.issparse(X) else csr_matrix(X))
        if len(self.bias) <= FEW_OTHERS * labels.shape[1] and len(self._table):
            run_ranges(
                ranker_kernels.margins_by_table, len(labels), threads, *rows, self._table, self.bias, labels, out
            )
        elif self.by_feature:
            arguments = (*rows, *self._turned, self.bias, labels, out)
            run_ranges(ranker_kernels.margins_by_feature, len(labels), threads, *arguments)
        else:
            arguments = (*rows, *self._straight, self.bias, self.weights.shape[1], labels, out)
            run_ranges(ranker_kernels.margins_by_label, len(labels), threads, *arguments)
        return out

    def arranged(self, X: Rows, labels: np.ndarray) -> Rankers:
        """Return the rankers, their weights read by feature or by label, whichever is less for points like these.

        Neither matters where they are so well filled, and labels so few, that they are read as a table.
        """
        rows = csr_matrix(X)
        of_feature = np.bincount(self.weights.indices, minlength=self.weights.shape[1])
        of_label = np.diff(self.weights.indptr)
        by_feature = 2 * int(of_feature[rows.indices].sum())  # once to add, once to clear
        there = labels >= 0
        own = of_label[labels[there]]
        search = SEARCH_STEP * np.log2(own + 1) + SEARCH_START  # of one feature among a label's weights
        by_label = 2 * rows.nnz + np.minimum(own, np.repeat(np.diff(rows.indptr), there.sum(axis=1)) * search).sum()
        return replace(self, by_feature=bool(by_feature < by_label))

    def has(self, labels: np.ndarray) -> np.ndarray:
        """Return which of these labels have a ranker."""
        inside = (labels >= 0) & (labels < len(self.known))
        return inside & self.known[np.where(inside, labels, 0)]

    def weighed(self, X: Rows, label: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the features of one row that a label's machine weighs, and what each adds to its sum: w·x."""
        row = csr_matrix(X)
        own = slice(self.weights.indptr[label], self.weights.indptr[label + 1])
        features, places, others = np.intersect1d(
            self.weights.indices[own], row.indices, assume_unique=True, return_indices=True
        )
        return features, self.weights.data[own][places] * row.data[others]

    @cached_property
    def _table(self) -> np.ndarray:
        return dense_if_faster(self.weights, turned=True)

    @cached_property
    def _straight(self) -> tuple[np.ndarray, ...]:
        return csr_arrays(self.weights)

    @cached_property
    def _turned(self) -> tuple[np.ndarray, ...]:
        return csr_arrays(transpose(self.weights))


def train(X: Rows, Y: csr_matrix, wrong: csr_matrix, cost: float, least: float, threads: int) -> Rankers:
    """Return the rankers of unit rows X (n, d) with labels Y (n, L), against where each is a wrong candidate (n, L)."""
    X = X if sparse.issparse(X) else csr_matrix(X)
    labels, d = Y.shape[1], X.shape[1]
    right, against = csr_matrix(Y.T.tocsr()), csr_matrix(wrong.T.tocsr())  # (L, n) each
    positives = np.diff(right.indptr).astype(np.int64)
    counts = np.where(positives > 0, positives + np.diff(against.indptr), 0)
    pointer = csr.pointer(counts).astype(np.int64)
    rows = np.empty(pointer[-1], np.int32)
    _fill(rows, pointer[:-1], right)
    kept = np.flatnonzero(positives > 0)
    if len(kept) < labels:
        keep = np.repeat(positives > 0, np.diff(against.indptr))
        against = csr_matrix(
            (against.data[keep], against.indices[keep], csr.pointer(counts - positives)),
            shape=against.shape,
        )
    _fill(rows, pointer[:-1] + positives, against)
    indptr, indices, data = csr_arrays(X)
    squares = row_lengths(X) ** 2
    # Running number of entries at each label.
    entries = csr.pointer(np.diff(indptr)[rows])[pointer]
    bias = np.zeros(labels, np.float32)
    written = np.zeros(labels, np.int64)
    found: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def part(start: int, stop: int) -> None:
        room = int(np.minimum(np.diff(entries[start : stop + 1]), d).sum())
        places, values = np.empty(room, np.int32), np.empty(room, np.float32)
        many = ranker_kernels.dual_descent(
            indptr, indices, data, squares, pointer, rows, positives, cost, TOLERANCE, ROUNDS, least, d,
            bias, written, places, values, start, stop,
        )  # fmt: skip
        found[start] = places[:many].copy(), values[:many].copy()

    run_pieces(part, labels, threads, work=entries, min_size=1)
    order = sorted(found)
    pieces = (
        np.concatenate([found[start][1] for start in order]),
        np.concatenate([found[start][0] for start in order]),
        csr.pointer(written),
    )
    weights = csr_matrix(pieces, shape=(labels, d))
    weights.sort_indices()
    return Rankers(weights, bias, positives > 0)


def _fill(rows: np.ndarray, starts: np.ndarray, lists: csr_matrix) -> None:
    """Write each list's row numbers into `rows` from its start on."""
    lengths = np.diff(lists.indptr)
    rows[np.arange(lists.indptr[-1]) + np.repeat(starts - lists.indptr[:-1], lengths)] = lists.indices

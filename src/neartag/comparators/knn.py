"""k nearest neighbours on the features themselves: the floor that anything learned must beat.

Cover and Hart, "Nearest neighbor pattern classification", 1967; with many labels, each neighbour votes for all of its.

Objective: none, nothing is learned. A label's score is the share of the k nearest training points' votes that it has;
a vote is 1, or the neighbour's nearness: its cosine, or 1 / (1 + distance).

Cost: training keeps the rows. Predicting a point looks at the lists of its features, n · d̄² / d steps for d̄ of d
features a row, or at all n rows, n · d, where rows are dense; then k · L̄ for the vote. Memory: the rows.

By cosine, and where that saves most of the work, rows that only share frequent features of little weight with a point
may be missed: the search of `neartag.search.inverted_index`, which found 99.9% of the neighbours on EUR-Lex.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import csr_matrix

from neartag.comparators.base import Comparator, Shape, from_table
from neartag.comparators.model import Facts, ScoringModel, State, check_array
from neartag.core.progress import Progress
from neartag.linalg import csr
from neartag.linalg.products import matmul
from neartag.linalg.rows import Rows, normalise, transpose
from neartag.search import topk_kernels
from neartag.search.exact import nearest
from neartag.search.inverted_index import FeatureIndex

QUERIES, POINTS = 256, 4096  # distances held at once where rows are sparse


@dataclass(repr=False)
class KNNModel(ScoringModel):
    """The training rows and their labels."""

    kind = "knn"

    rows: Rows  # (n, d)
    Y: csr_matrix  # (n, seen)

    @cached_property
    def index(self) -> FeatureIndex:
        """The rows at unit length, ready to be searched by cosine."""
        return FeatureIndex.from_rows(normalise(self.rows))

    @cached_property
    def half_squares(self) -> np.ndarray:
        """Half the squared length of each row, (n,)."""
        rows = self.rows
        squares = rows.multiply(rows).sum(axis=1) if sparse.issparse(rows) else np.einsum("ij,ij->i", rows, rows)
        return np.asarray(squares, np.float32).ravel() / 2

    def scores(self, rows: Rows, threads: int) -> csr_matrix:
        """Return each label's share of the votes."""
        k = min(self.settings["neighbours"], self.n_points)
        if self.settings["metric"] == "cosine":
            ids, near = self.index.find(normalise(rows), k, threads)
        else:
            ids, near = self._nearest_by_distance(rows, k, threads)
        near = np.where(ids >= 0, near, 0) if self.settings["vote_weight"] == "similarity" else ids >= 0
        return voted(self.Y, ids, near)

    def _nearest_by_distance(self, rows: Rows, k: int, threads: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the nearest training rows and 1 / (1 + distance) (m, k): the largest ⟨x, xᵢ⟩ − ‖xᵢ‖²/2 first."""
        if sparse.issparse(self.rows) or sparse.issparse(rows):
            ids, found = self._nearest_sparse(csr_matrix(rows), k, threads)
        else:
            ids, found = nearest(rows, self.rows, k, threads, offset=self.half_squares)
        squares = rows.multiply(rows).sum(axis=1) if sparse.issparse(rows) else (rows * rows).sum(axis=1)
        squares = np.asarray(squares, np.float64).reshape(-1, 1)
        distance = np.sqrt(np.maximum(squares - 2 * np.where(ids >= 0, found, 0), 0))
        return ids, 1 / (1 + distance)

    def _nearest_sparse(self, rows: csr_matrix, k: int, threads: int) -> tuple[np.ndarray, np.ndarray]:
        m, n = rows.shape[0], self.n_points
        ids, found = np.empty((m, k), np.int32), np.empty((m, k), np.float32)
        for begin in range(0, n, POINTS):
            columns = transpose(csr_matrix(self.rows[begin : begin + POINTS]))  # (d, ≤ POINTS)
            for first in range(0, m, QUERIES):
                part = slice(first, first + QUERIES)
                reach = matmul(rows[part], columns, threads) - self.half_squares[begin : begin + POINTS]
                topk_kernels.row_top(reach, begin, ids[part], found[part], 0, len(reach))
        return ids, found

    def state(self) -> State:
        """Return the rows and their labels."""
        return {"points": {"rows": self.rows, "Y": self.Y}}

    @classmethod
    def rebuilt(cls, facts: Facts, state: State) -> KNNModel:
        """Return the model of a state."""
        rows = check_array(state, "points", "rows", (facts.n_points, facts.n_features))
        return cls(facts, rows, check_array(state, "points", "Y", (facts.n_points, facts.width)))


def voted(Y: csr_matrix, ids: np.ndarray, weights: np.ndarray) -> csr_matrix:
    """Return each label's share of the voters' weights (m, k): CSR (m, labels); ids below 0 have no vote."""
    weights = np.where((ids >= 0) & (weights > 0), weights, 0).astype(np.float32)
    cast = weights > 0
    total = weights.sum(axis=1, keepdims=True)
    shares = np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)
    pointer = csr.pointer(cast.sum(axis=1))
    shares_sparse = csr_matrix((shares[cast], ids[cast], pointer), shape=(len(ids), Y.shape[0]))
    found = csr_matrix(shares_sparse @ Y)  # (m, labels)
    found.data = np.minimum(found.data, 1)  # sums of rounded shares
    return found


@from_table
class KNNClassifier(Comparator):
    """Vote of the k nearest training points by cosine or Euclidean distance of their features."""

    method = "knn"
    prediction = ("neighbours", "metric", "vote_weight", "threshold")

    def _train(self, rows: Rows, Y: csr_matrix, facts: Facts, threads: int, progress: Progress) -> KNNModel:
        return KNNModel(facts, rows, Y)

    def _memory(self, shape: Shape, settings: dict[str, Any], threads: int) -> int:
        return 24 * shape.entries + 12 * shape.ones

"""The estimator of kNN and its model: the training rows, searched and voted by."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import csr_matrix

from neartag.comparators.knn import METHOD
from neartag.comparators.shared.arrays import Arrays, check_array
from neartag.comparators.shared.base import Comparator, Shape
from neartag.comparators.shared.model import FitInfo, ScoringModel
from neartag.comparators.shared.votes import vote_shares
from neartag.core.progress import Progress
from neartag.linalg.products import matmul
from neartag.linalg.rows import Rows, normalise, transpose
from neartag.search import topk_kernels
from neartag.search.exact import nearest
from neartag.search.inverted_index import PRUNE, FeatureIndex

# Distances held at once where rows are sparse, by queries and by points.
BLOCK_QUERIES, BLOCK_POINTS = 256, 4096


@dataclass(repr=False)
class KNNModel(ScoringModel):
    """The training rows and their labels."""

    method = METHOD

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
        ids, nearness = self.nearest(rows, self.settings["neighbours"], threads)
        return self.vote(ids, nearness, self.settings["vote_weight"])

    def nearest(self, rows: Rows, k: int, threads: int, prune: float = PRUNE) -> tuple[np.ndarray, np.ndarray]:
        """Return the nearest training rows and how near they are, by cosine or 1 / (1 + distance); both (m, k).

        By cosine, `prune` is the share of a row's length that the search may leave out at first; 0 misses nobody.
        """
        k = min(k, self.n_points)
        if self.settings["metric"] == "cosine":
            return self.index.find(normalise(rows), k, threads, prune)
        return self._nearest_by_distance(rows, k, threads)

    def vote(self, ids: np.ndarray, nearness: np.ndarray, weight: str) -> csr_matrix:
        """Return each label's share of the votes of these training rows (m, k): CSR (m, seen)."""
        return vote_shares(self.Y, ids, np.where(ids >= 0, nearness, 0) if weight == "similarity" else ids >= 0)

    def _nearest_by_distance(self, rows: Rows, k: int, threads: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the nearest training rows and 1 / (1 + distance) (m, k): the largest ⟨x, xᵢ⟩ − ‖xᵢ‖²/2 first."""
        if sparse.issparse(self.rows) or sparse.issparse(rows):
            ids, products = self._nearest_sparse(csr_matrix(rows), k, threads)
        else:
            ids, products = nearest(rows, self.rows, k, threads, offset=self.half_squares)
        squares = rows.multiply(rows).sum(axis=1) if sparse.issparse(rows) else (rows * rows).sum(axis=1)
        squares = np.asarray(squares, np.float64).reshape(-1, 1)
        distance = np.sqrt(np.maximum(squares - 2 * np.where(ids >= 0, products, 0), 0))
        return ids, 1 / (1 + distance)

    def _nearest_sparse(self, rows: csr_matrix, k: int, threads: int) -> tuple[np.ndarray, np.ndarray]:
        m, n = rows.shape[0], self.n_points
        ids, products = np.empty((m, k), np.int32), np.empty((m, k), np.float32)
        for begin in range(0, n, BLOCK_POINTS):
            columns = transpose(csr_matrix(self.rows[begin : begin + BLOCK_POINTS]))  # (d, ≤ BLOCK_POINTS)
            for first in range(0, m, BLOCK_QUERIES):
                part = slice(first, first + BLOCK_QUERIES)
                reach = matmul(rows[part], columns, threads) - self.half_squares[begin : begin + BLOCK_POINTS]
                topk_kernels.row_top(reach, begin, ids[part], products[part], 0, len(reach))
        return ids, products

    def arrays(self) -> Arrays:
        """Return the rows and their labels."""
        return {"points": {"rows": self.rows, "Y": self.Y}}

    @classmethod
    def from_arrays(cls, info: FitInfo, arrays: Arrays) -> KNNModel:
        """Return the model of such arrays."""
        rows = check_array(arrays, "points", "rows", (info.n_points, info.n_features))
        return cls(info, rows, check_array(arrays, "points", "Y", (info.n_points, info.width)))


class KNNClassifier(Comparator):
    """Vote of the k nearest training points by cosine or Euclidean distance of their features."""

    method = METHOD

    def _train(self, rows: Rows, Y: csr_matrix, info: FitInfo, threads: int, progress: Progress) -> KNNModel:
        return KNNModel(info, rows, Y)

    def _memory(self, shape: Shape, settings: dict[str, Any], threads: int) -> int:
        return 24 * shape.entries + 12 * shape.ones

"""The estimator of WSABIE and its model: an embedding, and a vote of the points in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from neartag.comparators.shared.arrays import Arrays, check_array, check_dense
from neartag.comparators.shared.base import Comparator, Shape
from neartag.comparators.shared.model import BATCH_ROWS, FitInfo, ScoringModel
from neartag.comparators.shared.scores import to_unit_interval
from neartag.comparators.shared.votes import vote_shares
from neartag.comparators.wsabie import METHOD
from neartag.comparators.wsabie.training import SAMPLE_SCORES, choose_middle, fit_embedding
from neartag.core.progress import Progress
from neartag.linalg.products import matmul, matmul_rows
from neartag.linalg.rows import Rows, normalise
from neartag.search.exact import nearest
from neartag.search.weights import voter_weights


@dataclass(repr=False)
class WSABIEModel(ScoringModel):
    """The embedding of features and labels, and the training points in it."""

    method = METHOD

    V: np.ndarray  # (d, D)
    W: np.ndarray  # (seen, D)
    middle: np.ndarray  # (1,) the dot product that scores 0.5
    Z: np.ndarray  # (n, D) the training points at unit length
    Y: csr_matrix  # (n, seen)

    def scores(self, rows: Rows, threads: int) -> Rows:
        """Return each label's share of the votes, or its dot product brought between 0 and 1."""
        embedded = matmul(rows, self.V, threads)  # (m, D)
        if self.settings["ranking"] == "dot":
            return to_unit_interval(matmul_rows(embedded, self.W.T, threads), float(self.middle[0]))  # (m, seen)
        near = min(self.settings["neighbours"], self.n_points)
        ids, cosines = nearest(normalise(embedded), self.Z, near, threads)  # (m, k)
        cosines[~embedded.any(axis=1)] = -np.inf  # who has no direction is near nobody
        weights = voter_weights(cosines, self.settings["vote_weight"], self.settings["vote_sharpness"])
        return vote_shares(self.Y, ids, weights)

    def arrays(self) -> Arrays:
        """Return the embedding, and the points with their labels."""
        weights = {"V": self.V, "W": self.W, "middle": self.middle}
        return {"weights": weights, "points": {"Z": self.Z, "Y": self.Y}}

    @classmethod
    def from_arrays(cls, info: FitInfo, arrays: Arrays) -> WSABIEModel:
        """Return the model of such arrays."""
        dim = info.settings["dim"]
        return cls(
            info,
            check_dense(arrays, "weights", "V", (info.columns, dim)),
            check_dense(arrays, "weights", "W", (info.width, dim)),
            check_array(arrays, "weights", "middle", (1,)),
            check_dense(arrays, "points", "Z", (info.n_points, dim)),
            check_array(arrays, "points", "Y", (info.n_points, info.width)),
        )


class WSABIEClassifier(Comparator):
    """A joint linear embedding of points and labels by the WARP loss, and a vote of the nearest points in it."""

    method = METHOD

    def _train(self, rows: Rows, Y: csr_matrix, info: FitInfo, threads: int, progress: Progress) -> WSABIEModel:
        V, W, _ = fit_embedding(rows, Y, info.settings, progress)
        middle = np.array([choose_middle(rows, Y, V, W, threads)], np.float32)
        return WSABIEModel(info, V, W, middle, normalise(matmul(rows, V, threads), in_place=True), Y)

    def _memory(self, shape: Shape, settings: dict[str, Any], threads: int) -> int:
        embedded = 4 * settings["dim"] * (shape.features + shape.labels + shape.points)
        pairs = 4 * shape.ones + 2 * 8 * shape.ones  # the pairs' points, and their order while it is drawn
        sample = 2 * 4 * min(max(SAMPLE_SCORES, shape.labels), shape.points * shape.labels)
        sample += 12 * shape.entries * min(shape.points, BATCH_ROWS) // shape.points
        return embedded + pairs + sample + 16 * (shape.features + shape.labels)

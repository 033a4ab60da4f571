"""The estimator of CS, its model, and the projections."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from neartag.comparators.cs import METHOD
from neartag.comparators.cs.decoding import Decoder
from neartag.comparators.shared.arrays import Arrays, check_dense
from neartag.comparators.shared.base import Comparator, Shape
from neartag.comparators.shared.model import FitInfo, ScoringModel, dimension
from neartag.comparators.shared.ridge import ridge, ridge_memory
from neartag.comparators.shared.scores import to_unit_interval
from neartag.core.progress import Progress
from neartag.linalg import csr
from neartag.linalg.packing import require
from neartag.linalg.products import matmul
from neartag.linalg.rows import Rows


@dataclass(repr=False)
class CompressedSensingModel(ScoringModel):
    """Regressors of the projections, and the projections."""

    method = METHOD

    weights: np.ndarray  # W (d, m)
    projections: np.ndarray  # A (m, seen)

    decoder: Decoder = field(init=False)

    def __post_init__(self) -> None:
        self.decoder = Decoder(self.projections)

    def scores(self, rows: Rows, threads: int) -> csr_matrix:
        """Return the chosen labels' coefficients, brought between 0 and 1; ½ stays ½."""
        predicted = matmul(rows, self.weights, threads)  # ẑ (rows, m)
        k = min(self.settings["sparsity"], *self.projections.shape)  # more columns than m always depend on each other
        ids, coefficients = self.decoder.decode(predicted, k, self.settings["decoder"], threads)
        scores = csr.from_lists(ids, coefficients, self.info.width)
        scores.data = to_unit_interval(scores.data, 0.5)
        scores.sort_indices()
        return scores

    def arrays(self) -> Arrays:
        """Return both matrices."""
        return {"factors": {"weights": self.weights, "projections": self.projections}}

    @classmethod
    def from_arrays(cls, info: FitInfo, arrays: Arrays) -> CompressedSensingModel:
        """Return the model of such arrays."""
        shape = arrays["factors"]["projections"].shape
        require(len(shape) == 2, "projections are not a matrix")
        weights = check_dense(arrays, "factors", "weights", (info.columns, shape[0]))
        return cls(info, weights, check_dense(arrays, "factors", "projections", (shape[0], info.width)))


def random_projections(count: int, labels: int, seed: int | None) -> np.ndarray:
    """Return A (count, labels): Gaussian columns of unit length."""
    columns = np.random.default_rng(seed).standard_normal((labels, count), dtype=np.float32)
    columns /= np.linalg.norm(columns.astype(np.float64), axis=1)[:, None]
    return np.ascontiguousarray(columns.T)


def projection_count(settings: dict[str, Any], labels: int) -> int:
    """Return m; unless it is told it is at least 2k, without which two k-sparse vectors may look alike."""
    count = dimension(settings["dim"], labels)
    if isinstance(settings["dim"], str):
        count = max(count, min(labels, 2 * settings["sparsity"]))
    return count


class CompressedSensingClassifier(Comparator):
    """Ridge regression of random projections of the labels, from which each point's few labels are decoded."""

    method = METHOD

    def _train(
        self, rows: Rows, Y: csr_matrix, info: FitInfo, threads: int, progress: Progress
    ) -> CompressedSensingModel:
        settings = info.settings
        A = random_projections(projection_count(settings, info.width), info.width, settings["random_state"])
        with progress.start(1, "regression of the projections"):
            targets = matmul(Y, np.ascontiguousarray(A.T), threads)  # Y Aᵀ (n, m)
            weights = ridge(rows, targets, settings["l2"], threads)
            progress.advance()
        return CompressedSensingModel(info, weights, A)

    def _memory(self, shape: Shape, settings: dict[str, Any], threads: int) -> int:
        count = projection_count(settings, shape.labels)
        projections = 16 * count * shape.labels  # made in float32, and for a moment in float64
        # What prediction would then need counts too: a model that cannot be used is not worth its training.
        return projections + max(ridge_memory(shape, count), 4 * shape.labels**2)

"""The estimator of CPLST, its model, and the eigenvectors that give the label directions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import eigh, solve_triangular
from scipy.sparse import csr_matrix

from neartag.comparators.cplst import METHOD
from neartag.comparators.shared.arrays import Arrays, check_dense
from neartag.comparators.shared.base import Comparator, Shape
from neartag.comparators.shared.model import FitInfo, ScoringModel, dimension
from neartag.comparators.shared.scores import to_unit_interval
from neartag.core.progress import Progress
from neartag.core.threads import run_pieces
from neartag.linalg.cholesky import cholesky
from neartag.linalg.conjugate_gradients import MIN_L2
from neartag.linalg.packing import require
from neartag.linalg.products import gram, matmul, matmul_rows
from neartag.linalg.rows import Rows, transpose

# Labels that a thread works on at once, at least.
MIN_LABELS_AT_ONCE = 64
# Directions with less than this share of the first one's eigenvalue are rounding errors.
ZERO_EIGENVALUE = 1e-12


@dataclass(repr=False)
class CPLSTModel(ScoringModel):
    """Regressors of the label directions, and the directions."""

    method = METHOD

    weights: np.ndarray  # W (d, M)
    directions: np.ndarray  # Vᵀ (M, seen)

    def scores(self, rows: Rows, threads: int) -> np.ndarray:
        """Return ȳ + x W Vᵀ, brought between 0 and 1; ½ stays ½."""
        raw = matmul_rows(matmul(rows, self.weights, threads), self.directions, threads)  # (m, seen)
        raw += means(self.info).astype(np.float32)
        return to_unit_interval(raw, 0.5)

    def arrays(self) -> Arrays:
        """Return both factors."""
        return {"factors": {"weights": self.weights, "directions": self.directions}}

    @classmethod
    def from_arrays(cls, info: FitInfo, arrays: Arrays) -> CPLSTModel:
        """Return the model of such arrays."""
        shape = arrays["factors"]["directions"].shape
        require(len(shape) == 2, "directions are not a matrix")
        weights = check_dense(arrays, "factors", "weights", (info.columns, shape[0]))
        return cls(info, weights, check_dense(arrays, "factors", "directions", (shape[0], info.width)))


def means(info: FitInfo) -> np.ndarray:
    """Return each label's share of the training points, (info.width,)."""
    shares = info.frequency[info.seen] / info.n_points
    return shares if len(shares) else np.zeros(1)


def centred_products(X: Rows, Y: csr_matrix, threads: int = 1) -> np.ndarray:
    """Return Xᵀ (Y − 1ȳᵀ) (d, L) in float64, in Fortran order, without ever making Y dense."""
    points = X.astype(np.float64)
    per_label = transpose(Y).astype(np.float64)  # (L, n)
    mean = np.asarray(per_label.sum(axis=1)).ravel() / X.shape[0]  # ȳ (L,)
    sums = np.asarray(points.sum(axis=0)).ravel()  # Xᵀ1 (d,)
    out = np.empty((X.shape[1], Y.shape[1]), order="F")

    def part(start: int, stop: int) -> None:
        block = per_label[start:stop] @ points  # (labels, d)
        block = block.toarray() if sparse.issparse(block) else block
        out[:, start:stop] = block.T - np.outer(sums, mean[start:stop])

    run_pieces(part, Y.shape[1], threads, min_size=MIN_LABELS_AT_ONCE)
    return out


def ridge_factor(X: Rows, l2: float, threads: int = 1) -> np.ndarray:
    """Return R (d, d) with R Rᵀ = XᵀX + λI in its lower triangle; what is above is to be ignored."""
    square = gram(X, transpose(X), np.float64, threads)
    diagonal = np.einsum("ii->i", square)
    diagonal += max(l2, MIN_L2 * max(1.0, float(diagonal.max())))
    cholesky(square, threads)
    return square


def conditional_directions(
    factor: np.ndarray, products: np.ndarray, count: int, threads: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """Return W (d, M) and V (L, M), M ≤ count, from R (d, d) and XᵀZ (d, L), which is written over."""
    T = products
    T[:] = solve_triangular(factor, T, lower=True, overwrite_b=True, check_finite=False)
    d, labels = T.shape
    if labels <= d:
        values, V = leading_eigenvectors(matmul_rows(T.T, T, threads), count)
        images = matmul_rows(T, V, threads)  # T V (d, M)
    else:
        values, U = leading_eigenvectors(matmul_rows(T, T.T, threads), count)
        roots = np.sqrt(np.maximum(values, np.finfo(float).tiny))
        V = matmul_rows(T.T, U, threads) / roots  # (L, M)
        images = U * roots  # T V again
    return solve_triangular(factor, images, lower=True, trans="T", check_finite=False), V


def leading_eigenvectors(square: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest eigenvalues (M,) of a positive semi-definite matrix and their vectors (side, M).

    M is `count` at most and 1 at least: those that are zero are left out. The matrix is written over.
    """
    side = len(square)
    first = max(0, side - count)
    values, vectors = eigh(square, subset_by_index=(first, side - 1), overwrite_a=True, check_finite=False)
    values, vectors = values[::-1], vectors[:, ::-1]
    kept = max(1, int((values > ZERO_EIGENVALUE * values[0]).sum()))
    return values[:kept], vectors[:, :kept]


class CPLSTClassifier(Comparator):
    """Ridge regression of the conditional principal label directions, M of them."""

    method = METHOD

    def _train(self, rows: Rows, Y: csr_matrix, info: FitInfo, threads: int, progress: Progress) -> CPLSTModel:
        count = min(dimension(info.settings["dim"], info.width), info.width)
        with progress.start(3, "label directions"):
            products = centred_products(rows, Y, threads)
            progress.advance()
            factor = ridge_factor(rows, info.settings["l2"], threads)
            progress.advance()
            W, V = conditional_directions(factor, products, count, threads)
            progress.advance()
        return CPLSTModel(info, np.ascontiguousarray(W, np.float32), np.ascontiguousarray(V.T, np.float32))

    def _memory(self, shape: Shape, settings: dict[str, Any], threads: int) -> int:
        d, labels = shape.features, shape.labels
        count = min(dimension(settings["dim"], labels), labels, d)
        side = min(d, labels)
        # The rows in float64 and transposed, the labels twice; the factor; T and, while it is solved for, its copy;
        # T Tᵀ or TᵀT with what LAPACK needs beside it; the directions and their regressors, some of them twice.
        small = 28 * shape.entries + 36 * shape.ones
        return small + 8 * (d * d + 2 * d * labels + 3 * side * side + 3 * count * (d + labels))

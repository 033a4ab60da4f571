"""Ridge regression by conjugate gradients, on many columns at once and without any square array.

    (s·XᵀX + λI) w = Xᵀ t    for each column t of T (n, r); the columns w make W (d, r)

X1 regresses its embeddings so where a cluster is large (eq. 5 of the paper: one s for all columns), and LEML its W
(each column has an s of its own).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from neartag.core.threads import run_pieces
from neartag.linalg.coded_rows import CodedRows, float_blocks
from neartag.linalg.hybrid_rows import HybridRows
from neartag.linalg.products import matmul
from neartag.linalg.rows import Rows, transpose

# With λ = 0 and points alike the system is singular; this much changes no answer that it has.
MIN_L2 = 1e-10
# Columns solved together at least: few enough for several threads, enough for the products to be worth it.
MIN_COLUMNS = 25


class GramMatrix(NamedTuple):
    """XᵀX (d, d), which is never formed: X, Xᵀ and the diagonal."""

    rows: Rows  # X (n, d)
    transposed: Rows  # Xᵀ (d, n)
    diagonal: np.ndarray  # (d,) squared length of each column of X

    @classmethod
    def of(cls, X: Rows) -> GramMatrix:
        """Transpose X, once for all products."""
        return cls(X, transpose(X), column_squares(X))

    def regularized_times(self, W: np.ndarray, scale: np.ndarray, l2: float) -> np.ndarray:
        """Return XᵀX W diag(scale) + λW (d, r), of one scale or one a column; on this thread."""
        image = matmul(self.transposed, matmul(self.rows, W))
        image *= scale.astype(np.float32)
        image += np.float32(l2) * W
        return image


def solve_ridge(
    gram: GramMatrix,
    targets: np.ndarray,
    start: np.ndarray | None = None,
    *,
    scale: np.ndarray,
    l2: float,
    max_iter: int,
    tolerance: float,
    precondition: bool = True,
    threads: int = 1,
) -> np.ndarray:
    """Return W (d, r) for targets T (n, r), after at most `max_iter` steps from `start`, or from zero.

    `scale` is s, one for all columns (1,) or one a column (r,). A column is done when its residual, measured by the
    preconditioner, is `tolerance` times the right side. The preconditioner is the diagonal: frequent features and rare
    ones differ by orders of magnitude. Columns are independent of each other, so each thread solves its own, and how
    they are cut does not depend on the number of threads.
    """
    out = np.empty((gram.rows.shape[1], targets.shape[1]), np.float32)

    def solve_piece(first: int, last: int) -> None:
        columns = slice(first, last)
        own = scale[columns] if len(scale) > 1 else scale
        right = matmul(gram.transposed, np.ascontiguousarray(targets[:, columns], np.float32))  # Xᵀ T (d, columns)
        weights = np.zeros_like(right) if start is None else np.array(start[:, columns], np.float32)
        error = right.copy() if start is None else right - gram.regularized_times(weights, own, l2)
        diagonal = np.ones((1, 1), np.float32)
        if precondition:
            diagonal = (np.outer(gram.diagonal, own) + max(l2, MIN_L2)).astype(np.float32)  # (d, 1 or columns)
        goal = tolerance**2 * _column_products(right, right / diagonal)  # (columns,)
        steady = error / diagonal
        direction = steady.copy()
        length = _column_products(error, steady)  # (columns,)
        for _ in range(max_iter):
            if (length <= goal).all():
                break
            image = gram.regularized_times(direction, own, l2)
            step = _ratio(length, _column_products(direction, image))
            weights += step * direction
            error -= step * image
            np.divide(error, diagonal, out=steady)
            fresh = _column_products(error, steady)
            direction *= _ratio(fresh, length)
            direction += steady
            length = fresh
        out[:, columns] = weights

    run_pieces(solve_piece, targets.shape[1], threads, min_size=MIN_COLUMNS)
    return out


def column_squares(X: Rows) -> np.ndarray:
    """Return the squared length of each column (d,)."""
    if isinstance(X, HybridRows):
        of_vectors = X.vector_weight**2 * column_squares(X.vectors)
        return np.concatenate([column_squares(X.words), of_vectors])
    if isinstance(X, CodedRows):
        return sum((column_squares(own) for _, own in float_blocks(X)), np.zeros(X.dim))
    if hasattr(X, "nnz"):
        return np.bincount(X.indices, weights=X.data.astype(np.float64) ** 2, minlength=X.shape[1])
    return np.einsum("ij,ij->j", X, X, dtype=np.float64)


def _column_products(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the inner products of the columns of two blocks (columns,)."""
    return np.einsum("ij,ij->j", left, right, dtype=np.float64)


def _ratio(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """Return above / below, 0 where there is nothing below: float32."""
    return np.where(below > 0, above / np.maximum(below, 1e-300), 0).astype(np.float32)

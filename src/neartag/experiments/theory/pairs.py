"""The loss over pairs of points in the paper's section 2, and the minimiser of eq. 3 as Theorem 1 means it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_matrix

from neartag.core.threads import single_threaded_blas, sum_blocks
from neartag.linalg import csr
from neartag.linalg.products import matmul, transpose_matmul
from neartag.linalg.rows import Rows, as_rows, csr_arrays, transpose
from neartag.x1.svp_kernels import residual_times

BLOCK_PAIRS = 2**16  # whose inner products are computed at once
BLOCK_ROWS = 256  # of labels, multiplied with all others at once
LBFGS_MEMORY = 5  # earlier gradients kept: each takes two arrays of V's size


@dataclass(frozen=True)
class Pairs:
    """The pairs that count, ⟨y, y'⟩ ≥ τ, with ⟨y, y'⟩ as entries, and the number of all pairs."""

    products: csr_matrix  # (rows, columns)
    count: int

    def loss(self, left: np.ndarray, right: np.ndarray, block: int = BLOCK_PAIRS) -> float:
        """Return the mean over all pairs of [⟨y, y'⟩ ≥ τ] (⟨y, y'⟩ − xᵀA x')², given V·x (·, dim) of either side."""
        rows = csr.row_numbers(self.products)
        total = 0.0
        for first in range(0, self.products.nnz, block):
            some = slice(first, first + block)
            embedded = np.einsum("ij,ij->i", left[rows[some]], right[self.products.indices[some]])
            total += float(np.square(self.products.data[some] - embedded, dtype=np.float64).sum())
        return total / self.count

    @property
    def empty_loss(self) -> float:
        """The loss of A = 0."""
        return float(np.square(self.products.data, dtype=np.float64).sum()) / self.count


def pairs_within(Y: csr_matrix, threshold: float) -> Pairs:
    """Return the ordered pairs of different points."""
    n = Y.shape[0]
    return Pairs(_keep_large(_clear_own(csr_matrix(Y @ Y.T), np.arange(n)), threshold), n * (n - 1))


def pairs_between(Y: csr_matrix, Y_other: csr_matrix, threshold: float) -> Pairs:
    """Return the pairs of a point of one set and a point of the other."""
    return Pairs(_keep_large(csr_matrix(Y @ Y_other.T), threshold), Y.shape[0] * Y_other.shape[0])


def _clear_own(products: csr_matrix, own: np.ndarray) -> csr_matrix:
    """Set the product of each row with its own column to 0, in place."""
    products.data[products.indices == own[csr.row_numbers(products)]] = 0
    return products


def _keep_large(products: csr_matrix, threshold: float) -> csr_matrix:
    """Remove the products below the threshold, in place."""
    products.data[products.data < threshold] = 0
    products.eliminate_zeros()
    products.sort_indices()
    return products


def largest_inner(Y: csr_matrix, block_rows: int = BLOCK_ROWS) -> float:
    """Return the largest ⟨yᵢ, yⱼ⟩ of two different points; rows are 0 and 1."""
    sizes = np.diff(Y.indptr)
    order = np.argsort(-sizes, kind="stable")
    best = 0.0
    for first in range(0, len(order), block_rows):
        rows = order[first : first + block_rows]
        if sizes[rows[0]] <= best:  # no row from here on has more labels
            break
        best = max(best, float(_clear_own(csr_matrix(Y[rows] @ Y.T), rows).max()))
    return best


def threshold_for(Y: csr_matrix, share: float) -> int:
    """Return the smallest whole τ ≥ 1 for which at most this share of the pairs of different points has ⟨y, y'⟩ ≥ τ."""
    pairs = pairs_within(Y, 1)
    counts = np.bincount(np.rint(pairs.products.data).astype(np.int64), minlength=2)
    at_least = counts[::-1].cumsum()[::-1]  # pairs whose inner product is that or more
    rare_enough = np.flatnonzero(at_least[1:] <= share * pairs.count)
    return int(rare_enough[0]) + 1 if len(rare_enough) else len(counts)


def norms(weights: np.ndarray) -> tuple[float, float]:
    """Return ‖A‖ (Frobenius) and Tr(A) of A = VᵀV, given the weights Vᵀ (d, dim)."""
    wide = weights.astype(np.float64)
    with single_threaded_blas():
        gram = transpose_matmul(wide, wide, 1)  # (dim, dim)
    return float(np.linalg.norm(gram)), float(np.trace(gram))


def joint_minimiser(
    X: Rows, pairs: Pairs, l2: float, start: np.ndarray, *, max_iter: int = 100, threads: int = 1
) -> np.ndarray:
    """Return the Vᵀ (d, dim) that minimises the mean loss of the pairs within X plus λ‖V‖², by descent from `start`.

    This is eq. 3 divided by n(n − 1), without L1, where Ω are the pairs that count. It is not convex in V; L-BFGS ends
    where no small step helps.
    """
    X = as_rows(X)
    transposed = transpose(X)
    shape, n = start.shape, X.shape[0]
    ones, none = np.ones(shape[1], np.float32), np.empty(0, np.float32)
    pattern = csr_arrays(pairs.products)
    image = np.empty((n, shape[1]), np.float32)

    def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
        weights = flat.reshape(shape)
        embedded = matmul(X, weights.astype(np.float32), threads)  # (n, dim)
        factors = embedded, ones
        squares = sum_blocks(  # ‖R‖², and `image` is R·(X Vᵀ), for R = P_Ω(Y Yᵀ − X A Xᵀ)
            lambda first, last: np.array(residual_times(pattern, factors, none, image, first, last)),
            n,
            threads,
            work=pattern[0],
        )
        slope = matmul(transposed, image, threads) * (-4 / pairs.count) + 2 * l2 * weights
        return float(squares) / pairs.count + l2 * float(np.vdot(flat, flat)), slope.ravel()

    with single_threaded_blas():
        solution = minimize(
            objective,
            start.astype(np.float64).ravel(),
            jac=True,
            method="L-BFGS-B",
            # Gradients are float32: smaller steps would be rounding.
            options={"maxiter": max_iter, "maxcor": LBFGS_MEMORY, "ftol": 1e-7, "gtol": 0},
        )
    return solution.x.reshape(shape).astype(np.float32)

"""Regressors V from features to embeddings, with sparse V·X (eq. 5 and sub-routine ADMM of the paper).

    min over V of ‖Z − V X‖² + λ ‖V‖² + μ ‖V X‖₁

Here points are rows: X (n, d), Z (n, dim), and the weights W = Vᵀ (d, dim). The squares have no ½, as printed in eq. 5;
with the penalty ρ ‖XW − α + β‖² the paper's V-update is then exact and the soft threshold is μ/(2ρ).
The pseudo-code's μ/ρ belongs to the form with ½.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from neartag.core.errors import ParameterError
from neartag.linalg.cholesky import cholesky, cholesky_solve
from neartag.linalg.conjugate_gradients import MIN_L2, GramMatrix, solve_ridge
from neartag.linalg.products import gram, matmul
from neartag.linalg.rows import Rows, transpose

SOLVERS = ("auto", "primal", "dual", "cg")

# Arithmetic a second of dense factorisation against that of a sparse product, measured: what "auto" weighs with.
DENSE_ADVANTAGE = 8.0
# A factor of more bytes than this is not tried: conjugate gradients need no square array.
MAX_FACTOR_BYTES = 4 << 30
CG_MAX_ITER, CG_TOLERANCE = 60, 1e-4
# Where rankers decide, and votes only propose. On held-out fifths of cooking, debian and yso no figure is lost, and a
# tenth of the training is saved.
CG_TOLERANCE_RERANKED = 1e-2
MIN_PENALTY_TO_PRECONDITION = 1e-2
# Below this ratio of λ to the largest possible eigenvalue, float32 loses the small ones; MediaMill needs float64.
SINGLE_PRECISION_RATIO = 1e-5


@dataclass
class Regression:
    """Weights W = Vᵀ, and how ADMM ended."""

    weights: Rows  # (d, dim), CSR where truncated
    zero_below: float = 0.0  # entries of X W below this are stored as zeros, so that added points are treated alike
    primal: list[float] = field(default_factory=list)  # ‖XW − α‖ / ‖Z‖, a round
    dual: list[float] = field(default_factory=list)  # ρ‖Xᵀ(α − α_before)‖ / ‖XᵀZ‖, a round


def admm(
    X: Rows,
    Z: np.ndarray,
    *,
    l2: float = 1.0,
    l1: float = 0.0,
    rho: float = 1.0,
    max_iter: int = 200,
    tol: float = 1e-3,
    keep: float = 1.0,
    solver: str = "auto",
    tolerance: float = CG_TOLERANCE,
    threads: int = 1,
) -> Regression:
    """Return the regressors of eq. 5 for one cluster; without L1 its minimum is ridge regression, solved at once.

    Of the weights only the share `keep` of largest size is kept. Ridge regression by conjugate gradients ends at a
    residual of `tolerance`.
    """
    if l1 == 0:
        solve = _solver(X, 1.0, l2, Z.shape[1], solver, threads, tolerance)
        return Regression(weights=truncate(solve(Z, None).astype(np.float32), keep))
    solve = _solver(X, 1.0 + rho, l2, Z.shape[1], solver, threads)
    transposed = transpose(X)
    alpha = np.zeros_like(Z)  # (n, dim), the sparse copy of X W
    beta = np.zeros_like(Z)  # (n, dim), the scaled dual variable
    weights: Any = None
    result = Regression(weights=np.zeros((X.shape[1], Z.shape[1]), np.float32))
    # Residuals are measured by the size of what is to be met: X W itself may shrink to nothing as μ grows.
    size = max(float(np.linalg.norm(Z)), np.finfo(np.float32).tiny)
    scale = max(float(np.linalg.norm(matmul(transposed, Z, threads))), np.finfo(np.float32).tiny)
    for _ in range(max_iter):
        weights = solve(Z + rho * (alpha - beta), weights)  # (d, dim)
        embedded = matmul(X, weights.astype(np.float32), threads)  # (n, dim)
        before = alpha
        alpha = soft_threshold(embedded + beta, l1 / (2 * rho))
        beta = beta + embedded - alpha
        result.primal.append(float(np.linalg.norm(embedded - alpha)) / size)
        result.dual.append(rho * float(np.linalg.norm(matmul(transposed, alpha - before, threads))) / scale)
        if result.primal[-1] <= tol and result.dual[-1] <= tol:
            break
    else:
        warnings.warn(
            f"ADMM's residuals are {result.primal[-1]:.1e} and {result.dual[-1]:.1e} after {max_iter} rounds, above "
            f"{tol:g}: raise admm_max_iter, or change rho",
            UserWarning,
            stacklevel=2,
        )
    result.weights = truncate(weights.astype(np.float32), keep)
    # After truncation, which moves entries of X W away from zero: as many are to be zeros as α has.
    result.zero_below = _zero_level(matmul(X, result.weights, threads), int((alpha == 0).sum()))
    return result


def soft_threshold(values: np.ndarray, level: float) -> np.ndarray:
    """Return sign(v) · max(0, |v| − level), entry by entry."""
    return np.sign(values) * np.maximum(np.abs(values) - np.float32(level), 0)


def truncate(weights: np.ndarray, keep: float) -> Rows:
    """Return the weights with only the share `keep` of largest size in them, as CSR where that is not all of them."""
    if keep >= 1:
        return weights
    count = max(1, round(keep * weights.size))
    flat = np.ascontiguousarray(weights).ravel()
    kept = np.argpartition(np.abs(flat), flat.size - count)[flat.size - count :]
    small = np.zeros_like(flat)
    small[kept] = flat[kept]
    return csr_matrix(small.reshape(weights.shape))


def _zero_level(embedded: np.ndarray, count: int) -> float:
    """Return the level below which `count` entries of X W lie.

    α is exactly sparse and X W only nearly so; a level is a function of V and x alone, so points added later are
    treated like those trained on.
    """
    if count == 0:
        return 0.0
    sizes = np.sort(np.abs(embedded), axis=None)
    return float(sizes[count]) if count < sizes.size else float(np.nextafter(sizes[-1], np.float32(np.inf)))


Solve = Callable[[np.ndarray, "np.ndarray | None"], np.ndarray]


def _solver(
    X: Rows, scale: float, l2: float, dim: int, kind: str, threads: int, tolerance: float = CG_TOLERANCE
) -> Solve:
    """Return T, start ↦ (scale·XᵀX + λI)⁻¹ Xᵀ T (d, dim); whatever is factored is factored once, here."""
    if kind not in SOLVERS:
        raise ParameterError(f"solver must be one of {SOLVERS}, not {kind!r}")
    n = X.shape[0]
    if kind == "auto":
        kind = cheapest_solver(X, dim)
    if kind == "cg":
        return _gradient_solver(X, scale, l2, threads, tolerance)
    transposed = transpose(X)
    single = l2 >= SINGLE_PRECISION_RATIO * scale * n
    dtype = np.float32 if single else np.float64
    wide, tall = (X, transposed) if kind == "primal" else (transposed, X)
    square = gram(wide, tall, dtype, threads)  # (d, d) or (n, n)
    if scale != 1.0:
        square *= dtype(scale)
    square[np.diag_indices_from(square)] += max(l2, MIN_L2)
    cholesky(square, threads)

    def solve(target: np.ndarray, start: np.ndarray | None) -> np.ndarray:
        if kind == "primal":
            right = _matmul_as(transposed, target, dtype, threads)  # Xᵀ T (d, dim)
            return cholesky_solve(square, right, threads)
        inner = cholesky_solve(square, target.astype(dtype), threads)  # (n, dim)
        return _matmul_as(transposed, inner, dtype, threads)  # push-through: Xᵀ (XXᵀ + λ)⁻¹ T

    return solve


def cheapest_solver(X: Rows, dim: int, *, max_factor_bytes: int = MAX_FACTOR_BYTES) -> str:
    """Return which solver costs least for the shape and sparsity of X."""
    n, d = X.shape
    sparse = hasattr(X, "nnz")
    return cheapest_solver_for(n, d, X.nnz if sparse else n * d, sparse, dim, max_factor_bytes=max_factor_bytes)


def cheapest_solver_for(
    n: int, d: int, stored: int, sparse: bool, dim: int, *, max_factor_bytes: int = MAX_FACTOR_BYTES
) -> str:
    """Return the same for n points and d features with so many entries stored, in a sparse matrix or a dense one."""
    # Dense products of a dense X run at BLAS's pace, sparse ones at that of memory.
    pace = DENSE_ADVANTAGE if sparse else 1.0
    cost = {
        "primal": d**3 / 3 + 2 * d * d * dim + pace * stored * (stored / max(n, 1)),
        "dual": n**3 / 3 + 2 * n * n * dim + pace * stored * (stored / max(d, 1)),
        "cg": pace * CG_MAX_ITER / 2 * 4 * stored * dim,
    }
    if 8 * d * d > max_factor_bytes:
        del cost["primal"]
    if 8 * n * n > max_factor_bytes:
        del cost["dual"]
    return min(cost, key=lambda name: cost[name])


def _matmul_as(rows: Rows, block: np.ndarray, dtype: type, threads: int) -> np.ndarray:
    if dtype == np.float32:
        return matmul(rows, block.astype(np.float32, copy=False), threads)
    return rows.astype(np.float64) @ block


def _gradient_solver(X: Rows, scale: float, l2: float, threads: int, tolerance: float) -> Solve:
    """Return the same by conjugate gradients, each round's begun where the last ended."""
    gram_matrix = GramMatrix.of(X)
    # With nearly no penalty the smallest of all solutions is wanted, to which only plain gradients lead.
    precondition = l2 >= MIN_PENALTY_TO_PRECONDITION * (scale * gram_matrix.diagonal + max(l2, MIN_L2)).mean()

    def solve(target: np.ndarray, start: np.ndarray | None) -> np.ndarray:
        return solve_ridge(
            gram_matrix,
            target,
            start,
            scale=np.array([scale]),
            l2=l2,
            max_iter=CG_MAX_ITER,
            tolerance=tolerance,
            precondition=bool(precondition),
            threads=threads,
        )

    return solve

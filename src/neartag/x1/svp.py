"""SVP: the low-rank matrix M ⪰ 0 that agrees with the label graph on Ω (eq. 4 and sub-routine SVP of the paper).

One step is M ← P(M + η·P_Ω(G − M)), P the projection on rank ≤ dim, positive semi-definite. M = U Σ Uᵀ is kept as its
factors and the residual only on Ω, so a product with M + η·R costs O(n·dim + |Ω|) a column and a step
O(n·dim² + |Ω|·dim). The eigenvectors of one step start the search of the next: one block product is then enough,
where a cold start needs many.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import csr_matrix

from neartag import kernels
from neartag.errors import ParameterError
from neartag.rows import parts
from neartag.threads import inner, run_ranges, tall_times

# Block products for the very first eigenvectors, which start from random ones.
FIRST_SWEEPS = 6
# Up to so many times dim points a dense eigen-decomposition is both cheaper and exact.
SMALL = 3
# A direction whose squared length is below this share of the longest is rounding noise in float32.
DEPENDENT = 1e-9


@dataclass
class Embedding:
    """What SVP found: M = U · diag(values) · Uᵀ, and how ‖P_Ω(G − M)‖² fell, one entry a step."""

    vectors: np.ndarray  # U (n, dim)
    values: np.ndarray  # (dim,), none negative
    objective: list[float] = field(default_factory=list)

    @property
    def points(self) -> np.ndarray:
        """Z (n, dim): the embedded label vectors, Z Zᵀ = M."""
        return self.vectors * np.sqrt(self.values)


def svp(
    graph: csr_matrix,
    dim: int,
    *,
    step: float = 1.0,
    max_iter: int = 15,
    tol: float = 1e-3,
    inner_sweeps: int = 1,
    inner_tol: float = 0.0,
    seed: int = 0,
    threads: int = 1,
) -> Embedding:
    """Return the embedding of a symmetric graph; stops when the objective changes by less than `tol`, relatively.

    `inner_sweeps` block products refine the eigenvectors in each step, fewer once their residual is under `inner_tol`.
    """
    n = graph.shape[0]
    dim = min(dim, n)
    pattern = _Pattern(graph, threads)
    project = _project_dense if n <= SMALL * dim else _project_block
    start = np.random.default_rng(seed).standard_normal((n, dim)).astype(np.float32)
    found = Embedding(vectors=np.linalg.qr(start)[0], values=np.zeros(dim, np.float32))
    residual = pattern.target  # P_Ω(G − M) with M = 0
    previous = pattern.norm(residual)
    for iteration in range(max_iter):
        if previous == 0.0:  # the graph is empty, or met exactly
            break
        sweeps = max(inner_sweeps, FIRST_SWEEPS) if iteration == 0 else inner_sweeps
        found.vectors, found.values = project(pattern, residual * np.float32(step), found, sweeps, inner_tol)
        residual = pattern.residual(found.points)
        objective = pattern.norm(residual)
        found.objective.append(objective)
        if abs(previous - objective) <= tol * previous:
            break
        previous = objective
    return found


class _Pattern:
    """Ω, with the graph's values on it and the products that SVP needs."""

    def __init__(self, graph: csr_matrix, threads: int) -> None:
        self.n = graph.shape[0]
        self.threads = threads
        self.indptr, self.indices, self.target = parts(graph)
        # The pattern is symmetric: entry (i, j) is computed once and written to (j, i) as well.
        order = csr_matrix((np.arange(graph.nnz, dtype=np.int64), graph.indices, graph.indptr), shape=graph.shape)
        self.mirror = order.T.tocsr().data.astype(np.int64, copy=False)

    def residual(self, points: np.ndarray) -> np.ndarray:
        """P_Ω(G − Z Zᵀ), its values on the pattern (|Ω|,)."""
        out = np.empty_like(self.target)
        arguments = (self.indptr, self.indices, self.mirror, self.target, np.ascontiguousarray(points), out)
        run_ranges(kernels.pattern_residual, self.n, self.threads, *arguments, work=self.indptr)
        return out

    def times(self, values: np.ndarray, block: np.ndarray) -> np.ndarray:
        """R @ block (n, width) for the matrix of these values on Ω."""
        out = np.empty(block.shape, np.float32)
        arguments = (self.indptr, self.indices, values, np.ascontiguousarray(block), out)
        run_ranges(kernels.sparse_times_dense, self.n, self.threads, *arguments, work=self.indptr)
        return out

    @staticmethod
    def norm(values: np.ndarray) -> float:
        """Squared Frobenius norm."""
        return float(np.dot(values, values.astype(np.float64)))


def _project_dense(
    pattern: _Pattern, change: np.ndarray, found: Embedding, sweeps: int, inner_tol: float
) -> tuple[np.ndarray, np.ndarray]:
    """P(M + change) through a full eigen-decomposition, for clusters hardly larger than dim."""
    n, dim = found.vectors.shape
    full = csr_matrix((change, pattern.indices, pattern.indptr), shape=(n, n)).toarray().astype(np.float64)
    full += found.points.astype(np.float64) @ found.points.T  # (n, n)
    values, vectors = eigh(full, subset_by_index=(n - dim, n - 1))
    return np.ascontiguousarray(vectors[:, ::-1], np.float32), np.maximum(values[::-1], 0).astype(np.float32)


def _project_block(
    pattern: _Pattern, change: np.ndarray, found: Embedding, sweeps: int, inner_tol: float
) -> tuple[np.ndarray, np.ndarray]:
    """P(M + change) by Rayleigh–Ritz in the span of the last vectors and what a block product adds to it.

    Each sweep widens the basis by the current residual, and from the second on by the last direction too (as LOBPCG
    does): unlike power steps, large negative eigenvalues of the change do no harm.
    """
    old, old_values, threads = found.vectors, found.values, pattern.threads

    def apply(block: np.ndarray) -> np.ndarray:  # (M + change) @ block
        known = tall_times(old, old_values[:, None] * inner(old, block, threads), threads)
        return known + pattern.times(change, block)

    vectors = old  # (n, dim), orthonormal
    image = apply(vectors)
    values, dim = np.zeros(vectors.shape[1], np.float32), vectors.shape[1]
    direction: np.ndarray | None = None
    for _ in range(sweeps):
        small = inner(vectors, image, threads)  # (dim, dim)
        error = image - tall_times(vectors, small, threads)
        if np.linalg.norm(error) <= inner_tol * np.linalg.norm(small):
            break
        extra = error if direction is None else np.hstack([error, direction])
        fresh = _orthonormal_beyond(vectors, extra, threads)  # (n, ≤ 2·dim)
        basis = np.hstack([vectors, fresh])
        basis_image = np.hstack([image, apply(fresh)])
        values, ritz = _ritz(inner(basis, basis_image, threads), dim)
        new = tall_times(basis, ritz, threads)
        direction = tall_times(fresh, ritz[dim:], threads)
        vectors, image = new, tall_times(basis_image, ritz, threads)
    values, ritz = _ritz(inner(vectors, image, threads), dim)
    return _tidy(tall_times(vectors, ritz, threads), threads), np.maximum(values, 0)


def _ritz(small: np.ndarray, wanted: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the `wanted` largest eigenvalues of basisᵀ·image, in falling order, and their coefficients."""
    small = small.astype(np.float64)
    size = small.shape[0]
    if not np.isfinite(small).all():
        raise ParameterError("SVP diverged: choose a smaller svp_step")
    values, vectors = eigh((small + small.T) / 2, subset_by_index=(size - wanted, size - 1))
    return values[::-1].astype(np.float32), np.ascontiguousarray(vectors[:, ::-1], np.float32)


def _orthonormal_beyond(vectors: np.ndarray, extra: np.ndarray, threads: int) -> np.ndarray:
    """Orthonormal columns that span what `extra` adds to the span of `vectors`.

    Through the small Gram matrix, all in matrix products; directions that rounding could not tell from zero are left
    out. Two passes, because one is not enough in float32.
    """
    for _ in range(2):
        extra = extra - tall_times(vectors, inner(vectors, extra, threads), threads)
        squares, turn = eigh(inner(extra, extra, threads).astype(np.float64))
        real = squares > DEPENDENT * max(squares.max(initial=0.0), np.finfo(np.float32).tiny)
        extra = tall_times(extra, (turn[:, real] / np.sqrt(squares[real])).astype(np.float32), threads)
    return extra


def _tidy(vectors: np.ndarray, threads: int) -> np.ndarray:
    """Return the vectors with rounding's drift from orthonormality taken out by one Newton step."""
    drift = inner(vectors, vectors, threads)
    return tall_times(vectors, 1.5 * np.eye(len(drift), dtype=np.float32) - 0.5 * drift, threads)

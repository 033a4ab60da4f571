"""SVP: the low-rank matrix M ⪰ 0 that agrees with the label graph on Ω (eq. 4 and sub-routine SVP of the paper).

One step is M ← P(M + η·P_Ω(G − M)), P the projection on rank ≤ dim, positive semi-definite. M = U Σ Uᵀ is kept as its
factors and the residual only on Ω, so a product with M + η·R costs O(n·dim + |Ω|) a column and a step
O(n·dim² + |Ω|·dim). The eigenvectors of one step start the search of the next: one block product is then enough,
where a cold start needs many.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import csr_matrix

from neartag import kernels
from neartag.errors import ParameterError
from neartag.rows import parts
from neartag.threads import inner, run_ranges, tall_times

# Sweeps for the very first eigenvectors, which start from random ones. The next few steps move far and get one more
# than the rest; with that, the objective ends within 1% of exact projections', which one sweep alone does not reach.
FIRST_SWEEPS = 4
EARLY_STEPS = 8
# Up to so many times dim points a dense eigen-decomposition is both cheaper and exact.
SMALL = 3
# A direction whose squared length is below this share of the longest is rounding noise in float32.
DEPENDENT = 1e-9
# So is a residual whose square is below this share of the matrix's own: where the graph has a lower rank than dim,
# nothing else is left, and noise made orthonormal would be taken for directions of the matrix.
NOISE = 1e-12
NORM_BLOCK = 1024
# Rounding drifts the vectors from orthonormality by some 1e-6 a step: in long runs it is taken out now and then.
TIDY_EVERY = 25
# An objective so many times that of M = 0 is on its way to infinity.
DIVERGED = 1e4


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
    report: Callable[[int], None] | None = None,
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
    previous = whole = pattern.norm(residual)
    for iteration in range(max_iter):
        if previous == 0.0:  # the graph is empty, or met exactly
            break
        sweeps = max(inner_sweeps, FIRST_SWEEPS) if iteration == 0 else inner_sweeps + (iteration < EARLY_STEPS)
        found.vectors, found.values = project(pattern, residual * np.float32(step), found, sweeps, inner_tol)
        if iteration % TIDY_EVERY == TIDY_EVERY - 1:
            found.vectors = _tidy(found.vectors, threads)
        residual = pattern.residual(found.points)
        objective = pattern.norm(residual)
        found.objective.append(objective)
        if report is not None:
            report(1)
        if not objective <= DIVERGED * whole:
            raise ParameterError(f"SVP diverges with svp_step = {step:g}: choose a smaller one, such as 1")
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
        # Blocks in float32, their sums in float64: as precise as it need be, without a copy in float64.
        whole = len(values) - len(values) % NORM_BLOCK
        blocks = values[:whole].reshape(-1, NORM_BLOCK)
        rest = values[whole:].astype(np.float64)
        return float(np.einsum("ij,ij->i", blocks, blocks).sum(dtype=np.float64) + rest @ rest)


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
    dim = old.shape[1]

    def apply(block: np.ndarray) -> np.ndarray:  # (M + change) @ block
        known = tall_times(old, old_values[:, None] * inner(old, block, threads), threads)
        return known + pattern.times(change, block)

    vectors = old  # (n, dim), orthonormal
    image = old * old_values + pattern.times(change, old)  # M old = old Σ
    small = inner(vectors, image, threads)  # (dim, dim)
    direction: np.ndarray | None = None
    for sweep in range(1, sweeps + 1):
        error = image - tall_times(vectors, small, threads)
        if np.linalg.norm(error) <= inner_tol * np.linalg.norm(small):
            break
        error = error / np.float32(max(np.linalg.norm(small), np.finfo(np.float32).tiny))
        extra = error if direction is None else np.hstack([error, direction])
        fresh = _orthonormal_beyond(vectors, extra, threads)  # (n, ≤ 2·dim)
        if not fresh.shape[1]:
            break
        fresh_image = apply(fresh)
        corner = inner(vectors, fresh_image, threads)
        whole = np.block([[small, corner], [corner.T, inner(fresh, fresh_image, threads)]])
        values, ritz = _ritz(whole, dim)  # (dim,), (dim + fresh, dim)
        ahead = tall_times(fresh, ritz[dim:], threads)
        vectors = tall_times(vectors, ritz[:dim], threads) + ahead
        if sweep == sweeps:
            return vectors, np.maximum(values, 0)
        image = tall_times(image, ritz[:dim], threads) + tall_times(fresh_image, ritz[dim:], threads)
        small, direction = np.diag(values), ahead
    values, ritz = _ritz(small, dim)
    return tall_times(vectors, ritz, threads), np.maximum(values, 0)


def _ritz(small: np.ndarray, wanted: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the `wanted` largest eigenvalues of basisᵀ·image, in falling order, and their coefficients."""
    small = small.astype(np.float64)
    size = small.shape[0]
    values, vectors = eigh((small + small.T) / 2, subset_by_index=(size - wanted, size - 1))
    return values[::-1].astype(np.float32), np.ascontiguousarray(vectors[:, ::-1], np.float32)


def _orthonormal_beyond(vectors: np.ndarray, extra: np.ndarray, threads: int) -> np.ndarray:
    """Orthonormal columns that span what `extra` adds to the span of `vectors`.

    Through the small Gram matrix, all in matrix products; directions that rounding could not tell from zero are left
    out. Three passes: in float32 the first leaves small directions neither orthogonal nor of unit length, and what
    loses most of its length to the vectors a second time was noise.
    """
    least = NOISE
    for _ in range(3):
        extra = extra - tall_times(vectors, inner(vectors, extra, threads), threads)
        squares, turn = eigh(inner(extra, extra, threads).astype(np.float64))
        real = squares > max(least, DEPENDENT * squares.max(initial=0.0))
        extra = tall_times(extra, (turn[:, real] / np.sqrt(squares[real])).astype(np.float32), threads)
        least = 0.25  # by now a real direction is of unit length
    return extra


def _tidy(vectors: np.ndarray, threads: int) -> np.ndarray:
    """Return the vectors made orthonormal again by one Newton step, exact to the square of a small drift."""
    drift = inner(vectors, vectors, threads)
    return tall_times(vectors, 1.5 * np.eye(len(drift), dtype=np.float32) - 0.5 * drift, threads)

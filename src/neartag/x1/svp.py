"""SVP: the low-rank matrix M ⪰ 0 that agrees with the label graph on Ω (eq. 4 and sub-routine SVP of the paper).

One step is M ← P(M + η·P_Ω(G − M)), P the projection on rank ≤ dim, positive semi-definite. M = U Σ Uᵀ is kept as its
factors and the residual only on Ω, so a product with M + η·R costs O(n·dim + |Ω|) a column and a step
O(n·dim² + |Ω|·dim). The eigenvectors of one step start the search of the next: one sweep is then enough, where a cold
start needs several.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import reverse_cuthill_mckee

from neartag import kernels
from neartag.errors import ParameterError
from neartag.rows import parts
from neartag.threads import inner, run_blocks, run_ranges, sum_blocks, tall_times

# Sweeps for the very first eigenvectors, which start from random ones. Exact ones are a worse start: measured, the
# objective then ends 10% higher on average, because the truncation has already decided what can be embedded.
FIRST_SWEEPS = 2
# Up to so many times dim points a dense eigen-decomposition is both cheaper and exact.
SMALL = 3
# A new direction whose squared length is below this share of the longest is left out: it is converged, and rounding
# in float32 leaves it at no right angle to the others.
DEPENDENT = 1e-6
# So is one below this share of what was projected out of it: where the graph has a lower rank than dim nothing else is
# left, and noise made orthonormal would be taken for directions of the matrix.
NOISE = 1e-10
NORM_BLOCK = 1024
# Rounding drifts the vectors from orthonormality by some 1e-5 a step: every few steps it is taken out.
TIDY_EVERY = 5
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
    # Neighbours of neighbours side by side: rows fetched for one point are then still in cache for the next.
    order = reverse_cuthill_mckee(graph, symmetric_mode=True)
    graph = graph[order][:, order]
    graph.sort_indices()
    pattern = _Pattern(graph, threads)
    project = _project_dense if n <= SMALL * dim else _project_block
    found = Embedding(vectors=_random_vectors(n, dim, seed, threads), values=np.zeros(dim, np.float32))
    residual = pattern.target  # P_Ω(G − M) with M = 0
    previous = whole = pattern.norm(residual)
    for iteration in range(max_iter):
        if previous == 0.0:  # the graph is empty, or met exactly
            break
        sweeps = max(inner_sweeps, FIRST_SWEEPS) if iteration == 0 else inner_sweeps
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
    found.vectors = found.vectors[np.argsort(order)]
    return found


def _random_vectors(n: int, dim: int, seed: int, threads: int) -> np.ndarray:
    """Return random orthonormal vectors (n, dim)."""
    start = np.random.default_rng(seed).standard_normal((n, dim), dtype=np.float32)
    if n <= SMALL * dim:
        return np.linalg.qr(start)[0]
    # Many more rows than columns are nearly orthogonal already: two products where QR would be the slowest step.
    return tall_times(start, _whitening(inner(start, start, threads), 0.0, 0.0).astype(np.float32), threads)


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

    def times(self, values: np.ndarray, block: np.ndarray, start: int, stop: int) -> np.ndarray:
        """(R @ block)[start:stop] for the matrix R of these values on Ω."""
        out = np.empty((stop - start, block.shape[1]), np.float32)
        kernels.sparse_times_dense(self.indptr[start : stop + 1], self.indices, values, block, out, 0, stop - start)
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
    """P(M + change) by sweeps from the eigenvectors of M, fewer once their residual is below `inner_tol`."""
    vectors, values, ahead = found.vectors, found.values, None
    for _ in range(sweeps):
        vectors, values, ahead, error = _sweep(pattern, change, found, vectors, ahead)
        if error <= inner_tol:
            break
    return vectors, np.maximum(values, 0)


def _sweep(
    pattern: _Pattern, change: np.ndarray, found: Embedding, vectors: np.ndarray, ahead: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Rayleigh–Ritz for A = M + change in the span of the vectors, of what a product with A adds to it, and of the
    direction in which the last sweep moved them (as LOBPCG does).

    Unlike power steps, large negative eigenvalues of the change do no harm. Returns the new vectors, their values, how
    they moved, and how far the given ones were from being eigenvectors, ‖A·vectors − vectors·small‖ / ‖small‖.

    What is new, W = [E, ahead], is never made orthonormal, only its small Gram matrix is whitened; with vectorsᵀW = 0
    the corner vectorsᵀ A W is EᵀW. From M's own eigenvectors M·vectors = vectors·Σ and M E = 0, so most sweeps need no
    product with M at all.
    """
    n, dim = vectors.shape
    threads, rows = pattern.threads, pattern.indptr
    own = ahead is None
    new = np.empty((n, dim if own else 2 * dim), np.float32)  # W (n, dim or 2·dim)
    error = new[:, :dim]  # E
    if not own:
        onto = found.values[:, None] * inner(found.vectors, vectors, threads)  # Σ Uᵀ vectors (dim, dim)
        new[:, dim:] = ahead

    def multiply(start: int, stop: int) -> np.ndarray:
        block = pattern.times(change, vectors, start, stop)
        if not own:
            block += found.vectors[start:stop] @ onto
        error[start:stop] = block
        return vectors[start:stop].T @ block

    small = sum_blocks(multiply, n, threads, work=rows)  # vectorsᵀ A vectors (dim, dim); Σ is added below

    def project_out(start: int, stop: int) -> np.ndarray:
        error[start:stop] -= vectors[start:stop] @ small
        return error[start:stop].T @ error[start:stop]

    gram = sum_blocks(project_out, n, threads)  # EᵀE (dim, dim)
    far = float(np.sqrt(np.trace(gram)))
    precise = 1.0
    if own:
        small = small + np.diag(found.values)
    else:  # sweeps that go on to a tight tolerance: a short error is mostly rounding, so project once more
        precise = 1e-3
        overlap = inner(vectors, new, threads)
        run_blocks(
            lambda start, stop: np.subtract(new[start:stop], vectors[start:stop] @ overlap, out=new[start:stop]),
            n,
            threads,
        )
        gram = inner(new, new, threads)  # WᵀW
    corner = sum_blocks(
        lambda start, stop: new[start:stop].T @ pattern.times(change, new, start, stop), n, threads, work=rows
    )  # Wᵀ A W, here without M
    if not own:
        known = inner(found.vectors, new, threads)  # Uᵀ W
        corner = corner + known.T @ (found.values[:, None] * known)
    length = max(float(np.linalg.norm(small)), np.finfo(np.float32).tiny)
    turn = _whitening(gram, precise * NOISE * length**2, precise * DEPENDENT)
    across = gram[:dim] @ turn
    values, ritz = _ritz(np.block([[small, across], [across.T, turn.T @ corner @ turn]]), dim)
    keep = ritz[:dim].astype(np.float32)
    add = (turn @ ritz[dim:]).astype(np.float32)
    moved, out = np.empty_like(vectors), np.empty_like(vectors)

    def combine(start: int, stop: int) -> None:
        np.matmul(new[start:stop], add, out=moved[start:stop])
        np.matmul(vectors[start:stop], keep, out=out[start:stop])
        out[start:stop] += moved[start:stop]

    run_blocks(combine, n, threads)
    return out if own else _tidy(out, threads), values, moved, far / length


def _ritz(small: np.ndarray, wanted: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the `wanted` largest eigenvalues of a small matrix, in falling order, and their vectors."""
    small = small.astype(np.float64)
    # All of them by divide and conquer take half the time of the wanted half by any other way.
    values, vectors = eigh((small + small.T) / 2, driver="evd")
    return values[: -wanted - 1 : -1].astype(np.float32), vectors[:, : -wanted - 1 : -1]


def _whitening(gram: np.ndarray, least: float, dependent: float) -> np.ndarray:
    """Return T (dim, ≤ dim), float64, with Tᵀ·gram·T = I; directions too short to tell from rounding are left out."""
    squares, turn = eigh(gram.astype(np.float64), driver="evd")
    real = squares > max(least, dependent * squares.max(initial=0.0))
    return turn[:, real] / np.sqrt(squares[real])


def _tidy(vectors: np.ndarray, threads: int) -> np.ndarray:
    """Return the vectors made orthonormal again by one Newton step, exact to the square of a small drift."""
    drift = inner(vectors, vectors, threads)
    return tall_times(vectors, 1.5 * np.eye(len(drift), dtype=np.float32) - 0.5 * drift, threads)

"""SVP: the low-rank matrix M ⪰ 0 that agrees with the label graph on Ω (eq. 4 and sub-routine SVP of the paper).

One step is M ← P(M + η·R), R = P_Ω(G − M), P the projection on rank ≤ dim, positive semi-definite. M = U Σ Uᵀ is kept
as its factors. R is taken along the tangent of the matrices of that rank: the part of R that neither rows nor columns
of M reach is left out, which changes a step by little and its cost by half (a test holds the result against the
textbook's iteration). P is then exact, an eigen-decomposition of 2·dim × 2·dim, and one product R·U is all that a step
needs: O(n·dim² + |Ω|·dim). R is never stored: its entries are made as they are used.

`sweeps` asks for the whole of R instead, and for so many rounds of Rayleigh–Ritz until P is exact again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import reverse_cuthill_mckee

from neartag.core.errors import ParameterError
from neartag.core.threads import run_blocks, sum_blocks
from neartag.linalg import product_kernels
from neartag.linalg.products import matmul_rows, transpose_matmul
from neartag.linalg.rows import csr_arrays
from neartag.x1 import svp_kernels

# Up to so many times dim points a dense eigen-decomposition is both cheaper and exact.
DENSE_POINTS_PER_DIM = 3
# A new direction whose squared length is below this share of the longest is left out: it is converged, and rounding
# in float32 leaves it at no right angle to the others.
MIN_LENGTH_SHARE = 1e-6
# So is one below this share of what was projected out of it: where the graph has a lower rank than dim nothing else is
# left, and noise made orthonormal would be taken for directions of the matrix.
MIN_REST_SHARE = 1e-10
# Rounding drifts the vectors from orthonormality by some 1e-5 a step: every few steps it is taken out.
ORTHONORMALISE_EVERY = 5
# An objective so many times that of M = 0 is on its way to infinity.
DIVERGENCE_RATIO = 1e4


@dataclass
class Embedding:
    """The result of SVP: M = U · diag(values) · Uᵀ, and how ‖P_Ω(G − M)‖² fell, one entry a step."""

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
    sweeps: int = 0,
    sweep_tol: float = 0.0,
    seed: int = 0,
    threads: int = 1,
    report: Callable[[int], None] | None = None,
) -> Embedding:
    """Return the embedding of a symmetric graph; stops when the objective changes by less than `tol`, relatively.

    With `sweeps`, each step projects M + η·R itself, by so many rounds, fewer once their residual is under `sweep_tol`.
    """
    n = graph.shape[0]
    dim = min(dim, n)
    # Neighbours of neighbours side by side: rows fetched for one point are then still in cache for the next.
    order = reverse_cuthill_mckee(graph, symmetric_mode=True)
    place = np.empty(n, np.int32)
    place[order] = np.arange(n, dtype=np.int32)
    pattern = _Pattern(graph[order], place, threads)
    embedding = _initial_embedding(pattern, dim, seed)
    project = _tangent_step
    if sweeps or n <= DENSE_POINTS_PER_DIM * dim:
        project = _dense_step if n <= DENSE_POINTS_PER_DIM * dim else partial(_block_step, sweeps=sweeps, tol=sweep_tol)
        pattern.keep_residual()
    image = np.empty((n, dim), np.float32)  # R U
    whole = previous = pattern.residual_times(embedding, image)  # R = P_Ω(G − M), here with M = 0
    for iteration in range(max_iter):
        if previous == 0.0:  # the graph is empty, or met exactly
            break
        embedding.vectors, embedding.values = project(pattern, step, embedding, image)
        if iteration % ORTHONORMALISE_EVERY == ORTHONORMALISE_EVERY - 1:
            embedding.vectors = _orthonormalise(embedding.vectors, threads)
        objective = pattern.residual_times(embedding, image)
        embedding.objective.append(objective)
        if report is not None:
            report(1)
        if not objective <= DIVERGENCE_RATIO * whole:
            remedy = "choose a smaller one, such as 1"
            if step <= 1:
                remedy = 'choose whole steps (svp_projection = "exact")' if not sweeps else "choose a smaller one"
            raise ParameterError(f"SVP diverges with svp_step = {step:g}: {remedy}")
        if abs(previous - objective) <= tol * previous:
            break
        previous = objective
    embedding.vectors = embedding.vectors[place]
    return embedding


class _Pattern:
    """Ω, with the graph's values on it and the products that SVP needs."""

    def __init__(self, graph: csr_matrix, place: np.ndarray, threads: int) -> None:
        self.n = graph.shape[0]
        self.threads = threads
        self.indptr, indices, self.target = csr_arrays(graph)  # rows stand in their new order already
        self.indices = place[indices]
        self.spare = np.empty((0, 0), np.float32)  # room for the next vectors: fresh memory is slow to come by
        self.residual = np.empty(0, np.float32)  # R's values, where they are asked for

    def keep_residual(self) -> None:
        """Store the residual's values from now on, for products with other blocks than U."""
        self.residual = np.empty_like(self.target)

    def residual_times(self, current: Embedding, image: np.ndarray) -> float:
        """Put R @ U into `image`, for R = P_Ω(G − U Σ Uᵀ); returns ‖R‖²."""
        graph, factors = (self.indptr, self.indices, self.target), (current.vectors, current.values)
        squares = sum_blocks(
            lambda start, stop: np.array(svp_kernels.residual_times(graph, factors, self.residual, image, start, stop)),
            self.n,
            self.threads,
            work=self.indptr,
        )
        return float(squares)

    def times(self, values: np.ndarray, block: np.ndarray, start: int, stop: int) -> np.ndarray:
        """(S @ block)[start:stop] for the matrix S of these values on Ω."""
        out = np.empty((stop - start, block.shape[1]), np.float32)
        rows = self.indptr[start : stop + 1], self.indices, values
        product_kernels.sparse_times_dense(rows, block, out, 0, stop - start)
        return out


def _initial_embedding(pattern: _Pattern, dim: int, seed: int) -> Embedding:
    """Return M = 0 with vectors to begin from: an orthonormal basis of G·(random directions).

    No more than that: from exact eigenvectors of G the objective ends 10% higher on average, because the truncation has
    then already decided what can be embedded. Columns that the graph's rank does not fill are zero.
    """
    n, threads = pattern.n, pattern.threads
    random = np.random.default_rng(seed).standard_normal((n, dim), dtype=np.float32)
    block = np.empty((n, dim), np.float32)

    def multiply(start: int, stop: int) -> None:
        block[start:stop] = pattern.times(pattern.target, random, start, stop)

    run_blocks(multiply, n, threads, work=pattern.indptr)
    vectors = np.zeros((n, dim), np.float32)
    for _ in range(2):  # twice, for in float32 once is not quite orthonormal
        turn = _whitening(transpose_matmul(block, block, threads), 0.0, MIN_LENGTH_SHARE).astype(np.float32)
        block = matmul_rows(block, turn, threads)
    vectors[:, : block.shape[1]] = block
    return Embedding(vectors=vectors, values=np.zeros(dim, np.float32))


def _tangent_step(
    pattern: _Pattern, step: float, current: Embedding, image: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """P(M + η·(the part of R along the tangent at M)), given R U, which is overwritten.

    With E = R U − U UᵀRU that part is U UᵀRU Uᵀ + E Uᵀ + U Eᵀ: a matrix in the span of U and E, so that its
    eigenvectors are current there. E is never made orthonormal, only its small Gram matrix is whitened.
    """
    vectors, threads = current.vectors, pattern.threads
    n, dim = vectors.shape
    small = transpose_matmul(vectors, image, threads)  # UᵀRU (dim, dim)

    def project_out(start: int, stop: int) -> np.ndarray:
        image[start:stop] -= vectors[start:stop] @ small
        return image[start:stop].T @ image[start:stop]

    gram = sum_blocks(project_out, n, threads)  # EᵀE; `image` is E from here on
    turn = _whitening(gram, MIN_REST_SHARE * float(np.square(small).sum()), MIN_LENGTH_SHARE)
    across = np.float32(step) * (gram @ turn)  # η·Uᵀ R (E turn)
    corner = np.zeros((turn.shape[1], turn.shape[1]))
    core = np.block([[np.diag(current.values) + np.float32(step) * small, across], [across.T, corner]])
    values, ritz = _ritz(core, dim)
    keep, add = ritz[:dim].astype(np.float32), (turn @ ritz[dim:]).astype(np.float32)
    out = pattern.spare if pattern.spare.shape == vectors.shape else np.empty_like(vectors)

    def combine(start: int, stop: int) -> None:
        np.matmul(vectors[start:stop], keep, out=out[start:stop])
        out[start:stop] += image[start:stop] @ add

    run_blocks(combine, n, threads)
    pattern.spare = vectors
    return out, np.maximum(values, 0)


def _dense_step(pattern: _Pattern, step: float, current: Embedding, image: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """P(M + η·R) through a full eigen-decomposition, for clusters hardly larger than dim."""
    n, dim = current.vectors.shape
    full = csr_matrix((pattern.residual, pattern.indices, pattern.indptr), shape=(n, n)).toarray().astype(np.float64)
    full *= step
    full += current.points.astype(np.float64) @ current.points.T  # (n, n)
    values, vectors = eigh(full, subset_by_index=(n - dim, n - 1))
    return np.ascontiguousarray(vectors[:, ::-1], np.float32), np.maximum(values[::-1], 0).astype(np.float32)


def _block_step(
    pattern: _Pattern, step: float, current: Embedding, image: np.ndarray, *, sweeps: int, tol: float
) -> tuple[np.ndarray, np.ndarray]:
    """P(M + η·R) by sweeps from the eigenvectors of M, fewer once their residual is below `tol`."""
    change = pattern.residual * np.float32(step)
    vectors, values = current.vectors, current.values
    ahead: np.ndarray | None = None
    for _ in range(sweeps):
        vectors, values, ahead, error = _sweep(pattern, change, current, vectors, ahead)
        if error <= tol:
            break
    return vectors, np.maximum(values, 0)


def _sweep(
    pattern: _Pattern, change: np.ndarray, current: Embedding, vectors: np.ndarray, ahead: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Rayleigh–Ritz for A = M + change in the span of the vectors, of what a product with A adds, and of the last move.

    As LOBPCG: unlike power steps, large negative eigenvalues of the change do no harm. Returns the new vectors, their
    values, how they moved, and how far the given ones were from being eigenvectors, ‖A·vectors − vectors·small‖ /
    ‖small‖. With W = [error, ahead] made orthogonal to the vectors, vectorsᵀ A W is errorᵀ W.
    """
    n, dim = vectors.shape
    threads = pattern.threads

    def apply(block: np.ndarray) -> np.ndarray:  # A @ block
        out = matmul_rows(
            current.vectors, current.values[:, None] * transpose_matmul(current.vectors, block, threads), threads
        )

        def add(start: int, stop: int) -> None:
            out[start:stop] += pattern.times(change, block, start, stop)

        run_blocks(add, n, threads, work=pattern.indptr)
        return out

    image = apply(vectors)
    small = transpose_matmul(vectors, image, threads)
    error = image - matmul_rows(vectors, small, threads)
    length = max(float(np.linalg.norm(small)), np.finfo(np.float32).tiny)
    far = float(np.linalg.norm(error)) / length
    new = error if ahead is None else np.hstack([error, ahead])
    for _ in range(2):  # twice: a short error is mostly rounding
        new = new - matmul_rows(vectors, transpose_matmul(vectors, new, threads), threads)
    gram = transpose_matmul(new, new, threads)
    turn = _whitening(gram, 1e-3 * MIN_REST_SHARE * length**2, 1e-3 * MIN_LENGTH_SHARE)
    across = gram[:dim] @ turn
    corner = turn.T @ transpose_matmul(new, apply(new), threads) @ turn
    values, ritz = _ritz(np.block([[small, across], [across.T, corner]]), dim)
    moved = matmul_rows(new, (turn @ ritz[dim:]).astype(np.float32), threads)
    out = matmul_rows(vectors, ritz[:dim].astype(np.float32), threads) + moved
    return _orthonormalise(out, threads), values, moved, far


def _ritz(small: np.ndarray, wanted: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the `wanted` largest eigenvalues of a small matrix, in falling order, and their vectors."""
    small = small.astype(np.float64)
    # All of them by divide and conquer take half the time of the wanted half by any other way.
    values, vectors = _eigh((small + small.T) / 2)
    return values[: -wanted - 1 : -1].astype(np.float32), vectors[:, : -wanted - 1 : -1]


def _whitening(gram: np.ndarray, least: float, dependent: float) -> np.ndarray:
    """Return T (dim, ≤ dim), float64, with Tᵀ·gram·T = I; directions too short to tell from rounding are left out."""
    squares, turn = _eigh(gram.astype(np.float64))
    real = squares > max(least, dependent * squares.max(initial=0.0))
    return turn[:, real] / np.sqrt(squares[real])


def _orthonormalise(vectors: np.ndarray, threads: int) -> np.ndarray:
    """Return the vectors made orthonormal again by one Newton step, exact to the square of a small drift."""
    drift = transpose_matmul(vectors, vectors, threads)
    return matmul_rows(vectors, 1.5 * np.eye(len(drift), dtype=np.float32) - 0.5 * drift, threads)


def _eigh(square: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return eigenvalues, rising, and eigenvectors of a symmetric matrix, by the quickest of LAPACK's ways."""
    # scipy before 1.12 asks for too little working space for that one where there is a single row.
    return eigh(square, driver=None if len(square) == 1 else "evd")

"""The steps of LEML: its start, both halves of an alternation, and how the factors are kept in balance."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from scipy import sparse
from scipy.sparse import csr_matrix

from neartag.comparators.shared.base import Shape
from neartag.core.threads import sum_blocks
from neartag.linalg.cholesky import cholesky, cholesky_solve
from neartag.linalg.conjugate_gradients import MIN_COLUMNS, MIN_L2, GramMatrix, solve_ridge
from neartag.linalg.products import gram, matmul, matmul_rows
from neartag.linalg.rows import Rows, transpose

# X is decomposed where the smaller of its sides is no larger: the decomposition then costs less than the steps of
# conjugate gradients that it spares. The products with labels, side · L, must not be large either.
MAX_SPECTRAL_SIDE, MAX_CROSS_ENTRIES = 2048, 1 << 24
# Directions below this part of the largest are noise of the arithmetic.
MIN_SQUARE_SHARE, MIN_SIZE_SHARE = 1e-13, 1e-7
# Conjugate gradients end at this length of the residual, relative to the right side's.
CG_TOLERANCE = 1e-3
# Products of labels with labels by which the start is turned towards the frequent directions.
START_ROUNDS = 2


@dataclass
class Factors:
    """W and H such that X W Hᵀ stands for Y, in balance: WᵀW = HᵀH, diagonal."""

    W: np.ndarray  # (d, r)
    H: np.ndarray  # (L, r)
    sizes: np.ndarray  # (r,) that diagonal, the singular values of W Hᵀ, largest first
    history: list[float] = field(default_factory=list)  # the objective after each alternation


class Problem(Protocol):
    """What the steps need of X and Y."""

    labels_norm: float  # ‖Y‖²

    def zeros(self, rank: int) -> np.ndarray:
        """Return a W of zeros."""

    def normal_equations(self, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return AᵀA (r, r) and YᵀA (L, r) for A = X W."""

    def solve(self, H: np.ndarray, sizes: np.ndarray, l2: float, W: np.ndarray, steps: int) -> np.ndarray:
        """Return the W that is best for H, where HᵀH is the diagonal `sizes`; W is where to begin."""

    def weights(self, W: np.ndarray) -> np.ndarray:
        """Return W over the features (d, r)."""


@dataclass
class Spectral:
    """X by its singular vectors, X = P S Uᵀ: with W = U W̃ the W-step is a division. All in float64.

    MediaMill's 120 features need that: its Gram matrix is nearly singular in float32, and with a small λ what makes the
    difference lies in the directions that are lost there.
    """

    basis: np.ndarray  # U (d, m)
    squares: np.ndarray  # S² (m,)
    cross: np.ndarray  # UᵀXᵀY (m, L)
    labels_norm: float
    threads: int

    @classmethod
    def of(cls, rows: Rows, Y: csr_matrix, threads: int) -> Spectral:
        """Decompose the smaller of XᵀX and XXᵀ."""
        transposed, precise = transpose(rows), rows.astype(np.float64)
        if rows.shape[1] <= rows.shape[0]:
            squares, basis = np.linalg.eigh(gram(rows, transposed, np.float64, threads))
            cross = np.asarray(_dense(Y.T.astype(np.float64) @ precise)).T  # XᵀY (d, L)
            cross = matmul_rows(np.ascontiguousarray(basis.T), cross, threads)
        else:
            squares, points = np.linalg.eigh(gram(transposed, rows, np.float64, threads))  # P (n, n)
            kept = squares > MIN_SQUARE_SHARE * max(squares[-1], np.finfo(np.float64).tiny)
            squares, points = squares[kept], np.ascontiguousarray(points[:, kept])
            lengths = np.sqrt(squares)
            basis = np.asarray(precise.T @ points) / lengths  # XᵀP S⁻¹
            cross = np.asarray(Y.T.astype(np.float64) @ points).T * lengths[:, None]  # S PᵀY
        return cls(basis, np.maximum(squares, 0), cross, float(Y.nnz), threads)

    def zeros(self, rank: int) -> np.ndarray:
        """Return a W of zeros."""
        return np.zeros((len(self.squares), rank))

    def normal_equations(self, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return AᵀA and YᵀA."""
        return W.T @ (self.squares[:, None] * W), matmul_rows(self.cross.T, W, self.threads)

    def solve(self, H: np.ndarray, sizes: np.ndarray, l2: float, W: np.ndarray, steps: int) -> np.ndarray:
        """Return the best W, exactly."""
        right = matmul_rows(self.cross, H.astype(np.float64, copy=False), self.threads)  # (m, r)
        return right / (np.outer(self.squares, sizes) + max(l2, MIN_L2))

    def weights(self, W: np.ndarray) -> np.ndarray:
        """Return W over the features."""
        return matmul_rows(self.basis, W, self.threads)


@dataclass
class Gradients:
    """X as it is: the W-step by conjugate gradients, in float32, on all columns at once."""

    gram: GramMatrix  # XᵀX
    Y: csr_matrix  # (n, L)
    Y_transposed: csr_matrix
    labels_norm: float
    threads: int

    @classmethod
    def of(cls, rows: Rows, Y: csr_matrix, threads: int) -> Gradients:
        """Turn both matrices, once."""
        return cls(GramMatrix.of(rows), Y, transpose(Y), float(Y.nnz), threads)

    def zeros(self, rank: int) -> np.ndarray:
        """Return a W of zeros."""
        return np.zeros((self.gram.rows.shape[1], rank), np.float32)

    def normal_equations(self, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return AᵀA and YᵀA."""
        A = matmul(self.gram.rows, W, self.threads)  # (n, r)
        return _gram(A, self.threads), matmul(self.Y_transposed, A, self.threads)

    def solve(self, H: np.ndarray, sizes: np.ndarray, l2: float, W: np.ndarray, steps: int) -> np.ndarray:
        """Return W after at most so many steps, which make the objective fall each."""
        targets = matmul(self.Y, H, self.threads)  # Y H (n, r)
        return solve_ridge(
            self.gram,
            targets,
            W,
            scale=sizes,
            l2=max(l2, MIN_L2),
            max_iter=steps,
            tolerance=CG_TOLERANCE,
            threads=self.threads,
        )

    def weights(self, W: np.ndarray) -> np.ndarray:
        """Return W itself."""
        return W


def make_problem(rows: Rows, Y: csr_matrix, threads: int, max_spectral_side: int = MAX_SPECTRAL_SIDE) -> Problem:
    """Return X and Y in the form in which the steps cost least."""
    kind: Any = Spectral if _is_small(rows.shape[0], rows.shape[1], Y.shape[1], max_spectral_side) else Gradients
    return kind.of(rows, Y, threads)


def problem_bytes(shape: Shape, rank: int, threads: int, max_spectral_side: int = MAX_SPECTRAL_SIDE) -> int:
    """Return about how many bytes the steps take beyond the rows and labels."""
    points, features, labels, entries, ones = shape
    side = min(points, features)
    rank = min(rank, side, labels)
    turned = 12 * (entries + ones)
    if _is_small(points, features, labels, max_spectral_side):
        # The Gram matrix, its eigenvectors, and what LAPACK works in; then XᵀY, turned. After that both factors.
        decomposed = 8 * entries + 12 * ones + 8 * (5 * side * side + features * side + 2 * side * labels)
        return turned + max(decomposed, 8 * side * (features + labels) + 4 * rank * (points + 8 * side + 8 * labels))
    in_use = 4 * rank * (points + 5 * features + 7 * labels) + 8 * 6 * rank * rank
    columns = min(rank, max(MIN_COLUMNS, rank // 32 + 1))
    return turned + in_use + 4 * threads * columns * (2 * points + 8 * features)


def start_labels(
    Y: csr_matrix, transposed: csr_matrix, rank: int, rng: np.random.Generator, threads: int
) -> np.ndarray:
    """Return directions of labels that frequently occur together (L, ≤ rank), orthonormal, float32.

    The range of YᵀY on random vectors: as good as some alternations, and much cheaper.
    """
    H = rng.standard_normal((Y.shape[1], rank), np.float32)
    for _ in range(START_ROUNDS):
        H = matmul(transposed, matmul(Y, H, threads), threads)
        squares, vectors = np.linalg.eigh(_gram(H, threads))
        kept = squares > MIN_SQUARE_SHARE * squares[-1]
        if not kept.any():  # nobody has a label
            return np.zeros((Y.shape[1], 1), np.float32)
        turn = vectors[:, kept] / np.sqrt(squares[kept])
        H = matmul_rows(H, turn.astype(np.float32), threads)
    return H


def label_step(problem: Problem, W: np.ndarray, l2: float, threads: int) -> tuple[np.ndarray, float]:
    """Return the H that is best for W (L, r), and the objective of both."""
    system, cross = problem.normal_equations(W)  # AᵀA (r, r), YᵀA (L, r)
    # Without a penalty the system may be singular; what rounding leaves of its trace changes no answer that it has.
    rounding = 64 * float(np.finfo(np.float64).eps * np.trace(system))
    system[np.diag_indices_from(system)] += max(l2, MIN_L2, rounding)
    cholesky(system, threads)
    H = cholesky_solve(system, np.ascontiguousarray(cross.T, np.float64), threads).T  # (L, r)
    # At this H the objective is ½ (‖Y‖² − ⟨YᵀA, H⟩ + λ ‖W‖²).
    gain = float(np.einsum("ij,ij->", cross, H, dtype=np.float64))
    penalty = l2 * float(np.einsum("ij,ij->", W, W, dtype=np.float64))
    return np.ascontiguousarray(H, W.dtype), (problem.labels_norm - gain + penalty) / 2


def balance(W: np.ndarray, H: np.ndarray, threads: int) -> Factors:
    """Return factors of the same product W Hᵀ with the smallest penalty: equal and diagonal Gram matrices.

    With W Hᵀ = Q Σ Rᵀ these are Q Σ^½ and R Σ^½, found from the Gram matrices alone. Directions without size are left
    out, but for one, so that there is something to store.
    """
    squares, vectors = np.linalg.eigh(_gram(H, threads))  # HᵀH = V Λ Vᵀ
    kept = squares > MIN_SQUARE_SHARE * squares[-1]
    lengths = np.sqrt(squares[kept])
    root = vectors[:, kept] * lengths  # V Λ^½, (r, kept)
    sizes, turn = np.linalg.eigh(root.T @ _gram(W, threads) @ root)  # Σ²
    sizes = np.sqrt(np.maximum(sizes, 0))
    order = np.arange(len(sizes))[::-1]
    order = order[sizes[order] > MIN_SIZE_SHARE * sizes.max(initial=0)]
    if not len(order):
        return Factors(np.zeros_like(W[:, :1]), np.zeros_like(H[:, :1]), np.zeros(1))
    sizes, turn = sizes[order], turn[:, order]
    for_W = root @ turn / np.sqrt(sizes)
    for_H = (vectors[:, kept] / lengths) @ turn * np.sqrt(sizes)
    return Factors(
        matmul_rows(W, for_W.astype(W.dtype), threads), matmul_rows(H, for_H.astype(H.dtype), threads), sizes
    )


def _is_small(points: int, features: int, labels: int, max_spectral_side: int) -> bool:
    side = min(points, features)
    return side <= max_spectral_side and side * labels <= MAX_CROSS_ENTRIES


def _gram(tall: np.ndarray, threads: int) -> np.ndarray:
    """Return tallᵀ tall, summed over blocks in float64."""

    def block(first: int, last: int) -> np.ndarray:
        return (tall[first:last].T @ tall[first:last]).astype(np.float64)

    return sum_blocks(block, tall.shape[0], threads)


def _dense(matrix: Rows) -> np.ndarray:
    return matrix.toarray() if sparse.issparse(matrix) else matrix

"""Cholesky factors, and systems solved with them, on our own threads: BLAS is kept to one thread everywhere."""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, solve_triangular

from neartag.core.errors import ParameterError
from neartag.core.threads import run_pieces

# Columns factored at once: wide enough for BLAS at full speed, narrow enough that little work is left to one thread.
BLOCK_COLUMNS = 256
# Columns of a right-hand side that a thread solves at once, at least.
MIN_SOLVED_COLUMNS = 64


def cholesky(square: np.ndarray, threads: int = 1) -> None:
    """Overwrite the lower triangle of a positive definite matrix (C order) with its factor L; never read the upper one.

    Blocked and right-looking: factor a diagonal block, solve the panel below it, subtract the panel's square from what
    is left. The last two steps divide the rows among the threads. ParameterError where the matrix is singular.
    """
    size = square.shape[0]
    for first in range(0, size, BLOCK_COLUMNS):
        last = min(first + BLOCK_COLUMNS, size)
        diagonal = square[first:last, first:last]
        try:
            factor = np.linalg.cholesky(diagonal)
        except (LinAlgError, np.linalg.LinAlgError):
            raise ParameterError("the regression is singular to working precision: choose a larger l2") from None
        diagonal[:] = factor

        def panel(start: int, stop: int, first: int = first, last: int = last, factor: np.ndarray = factor) -> None:
            rows = square[last + start : last + stop, first:last]  # (rows, block)
            rows[:] = solve_triangular(factor, rows.T, lower=True, check_finite=False).T

        def update(start: int, stop: int, first: int = first, last: int = last) -> None:
            # A slab of rows at a time, so that little above the diagonal is computed in vain.
            for top in range(last + start, last + stop, BLOCK_COLUMNS):
                low = min(top + BLOCK_COLUMNS, last + stop)
                square[top:low, last:low] -= square[top:low, first:last] @ square[last:low, first:last].T

        left = size - last
        run_pieces(panel, left, threads, min_size=BLOCK_COLUMNS)
        run_pieces(update, left, threads, work=np.arange(left + 1, dtype=np.float64) ** 2, min_size=BLOCK_COLUMNS)


def cholesky_solve(factor: np.ndarray, right: np.ndarray, threads: int = 1) -> np.ndarray:
    """Return A⁻¹ @ right for the factor L that `cholesky` left in A; the threads take columns of `right` each.

    Solved by products with the inverses of small diagonal blocks: LAPACK's own solve keeps Python's lock, so that two
    threads could not run it at once. In float32 the inverses would make the solution less precise than LAPACK's.
    """
    size = factor.shape[0]
    blocks = [(first, min(first + BLOCK_COLUMNS, size)) for first in range(0, size, BLOCK_COLUMNS)]
    inverses = [_inverse(factor[first:last, first:last]) for first, last in blocks]
    out = np.empty_like(right)

    def solve(start: int, stop: int) -> None:
        columns = np.array(right[:, start:stop], order="C")  # (size, columns), a copy: L, then Lᵀ is solved in it
        for (first, last), inverse in zip(blocks, inverses, strict=True):
            columns[first:last] -= factor[first:last, :first] @ columns[:first]
            columns[first:last] = inverse @ columns[first:last]
        for (first, last), inverse in zip(reversed(blocks), reversed(inverses), strict=True):
            columns[first:last] -= factor[last:, first:last].T @ columns[last:]
            columns[first:last] = inverse.T @ columns[first:last]
        out[:, start:stop] = columns

    run_pieces(solve, right.shape[1], threads, min_size=MIN_SOLVED_COLUMNS)
    return out


def _inverse(factor: np.ndarray) -> np.ndarray:
    """Return the inverse of a small lower triangle in float64."""
    return solve_triangular(factor.astype(np.float64), np.eye(len(factor)), lower=True, check_finite=False)

"""Cholesky factors and their solves on our own threads, so that BLAS may be held to one everywhere."""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, lapack, solve_triangular

from neartag.errors import ParameterError
from neartag.threads import run_ranges

# Columns factored at once: wide enough for BLAS at full pace, narrow enough that little is done on one thread.
BLOCK = 256


def cholesky(square: np.ndarray, threads: int = 1) -> None:
    """Replace the lower triangle of a positive definite matrix, C order, by its factor; the upper one is never read.

    Blocked and right-looking: factor a diagonal block, solve the panel below it, subtract its square from what is left;
    the last two are cut by rows over the threads.
    """
    size = square.shape[0]
    for first in range(0, size, BLOCK):
        last = min(first + BLOCK, size)
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
            # Ranges are cut into slabs, so that little above the diagonal is computed for nothing.
            for top in range(last + start, last + stop, BLOCK):
                low = min(top + BLOCK, last + stop)
                square[top:low, last:low] -= square[top:low, first:last] @ square[last:low, first:last].T

        left = size - last
        run_ranges(panel, left, threads)
        run_ranges(update, left, threads, work=np.arange(left + 1, dtype=np.float64) ** 2)


def cholesky_solve(factor: np.ndarray, right: np.ndarray, threads: int = 1) -> np.ndarray:
    """Return A⁻¹ · right for the factor that `cholesky` left in A, columns cut over the threads."""
    out = np.empty_like(right)
    solve = lapack.dpotrs if factor.dtype == np.float64 else lapack.spotrs

    def part(start: int, stop: int) -> None:
        # Seen from Fortran the row-major lower triangle is an upper one.
        columns = np.array(right[:, start:stop], order="F")  # a copy: the solve works in place
        out[:, start:stop] = solve(factor.T, columns, lower=0, overwrite_b=1)[0]

    run_ranges(part, right.shape[1], threads)
    return out

"""Cholesky factors and their solves on our own threads, so that BLAS may be held to one everywhere."""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, solve_triangular

from neartag.core.errors import ParameterError
from neartag.core.threads import run_pieces

# Columns factored at once: wide enough for BLAS at full pace, narrow enough that little is done on one thread.
BLOCK = 256
# Columns solved at once, at least.
COLUMNS = 64


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
        run_pieces(panel, left, threads, least=BLOCK)
        run_pieces(update, left, threads, work=np.arange(left + 1, dtype=np.float64) ** 2, least=BLOCK)


def cholesky_solve(factor: np.ndarray, right: np.ndarray, threads: int = 1) -> np.ndarray:
    """Return A⁻¹ · right for the factor L that `cholesky` left in A, columns cut over the threads.

    In matrix products with the inverses of small diagonal blocks: LAPACK's own solve holds Python's lock, so that no
    two threads would run it. The inverses are in float64, or the solution would be less precise than LAPACK's.
    """
    size = factor.shape[0]
    blocks = [(first, min(first + BLOCK, size)) for first in range(0, size, BLOCK)]
    inverses = [_inverse(factor[first:last, first:last]) for first, last in blocks]
    out = np.empty_like(right)

    def part(start: int, stop: int) -> None:
        columns = np.array(right[:, start:stop], order="C")  # a copy: solved in place, L first, then its transpose
        for (first, last), inverse in zip(blocks, inverses, strict=True):
            columns[first:last] -= factor[first:last, :first] @ columns[:first]
            columns[first:last] = inverse @ columns[first:last]
        for (first, last), inverse in zip(reversed(blocks), reversed(inverses), strict=True):
            columns[first:last] -= factor[last:, first:last].T @ columns[last:]
            columns[first:last] = inverse.T @ columns[first:last]
        out[:, start:stop] = columns

    run_pieces(part, right.shape[1], threads, least=COLUMNS)
    return out


def _inverse(factor: np.ndarray) -> np.ndarray:
    """Return the inverse of a small lower triangle in float64."""
    return solve_triangular(factor.astype(np.float64), np.eye(len(factor)), lower=True, check_finite=False)

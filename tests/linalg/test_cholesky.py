"""Cholesky factors on our threads against numpy's."""

from __future__ import annotations

import numpy as np
import pytest

from neartag.core.errors import ParameterError
from neartag.core.threads import single_threaded_blas
from neartag.linalg.cholesky import BLOCK_COLUMNS, cholesky, cholesky_solve

SIZES = [
    1,
    5,
    BLOCK_COLUMNS - 1,
    BLOCK_COLUMNS,
    BLOCK_COLUMNS + 1,
    2 * BLOCK_COLUMNS + 90,
]  # around one block, and several
TOLERANCE = {np.float64: 1e-10, np.float32: 1e-4}


@pytest.fixture(autouse=True)
def held():
    """Hold BLAS to one thread, as all callers do."""
    with single_threaded_blas():
        yield


def positive(size, dtype=np.float64, seed=0):
    """Return a well-conditioned positive definite matrix."""
    block = np.random.default_rng(seed).standard_normal((size, size + 10))
    return (block @ block.T / size + np.eye(size)).astype(dtype)


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", TOLERANCE)
def test_the_factor_is_numpys(size, threads, dtype):
    square = positive(size, dtype)
    wanted = np.linalg.cholesky(square.astype(np.float64))
    cholesky(square, threads)
    np.testing.assert_allclose(np.tril(square), wanted, rtol=0, atol=TOLERANCE[dtype])


@pytest.mark.parametrize("size", [5, BLOCK_COLUMNS + 40])
def test_only_the_lower_triangle_is_read(size):
    # Of sparse rows only that half of the Gram matrix is computed.
    square = positive(size)
    wanted = np.linalg.solve(square, np.ones((size, 3)))
    square[np.triu_indices(size, 1)] = np.nan
    cholesky(square, 2)
    assert np.isfinite(np.tril(square)).all()
    np.testing.assert_allclose(cholesky_solve(square, np.ones((size, 3)), 2), wanted, rtol=1e-9)


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("columns", [1, 2, 17])
@pytest.mark.parametrize("dtype", TOLERANCE)
def test_solve(threads, columns, dtype):
    square = positive(300, dtype)
    right = np.random.default_rng(1).standard_normal((300, columns)).astype(dtype)
    before = right.copy()
    wanted = np.linalg.solve(square.astype(np.float64), right)
    cholesky(square, threads)
    found = cholesky_solve(square, right, threads)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, wanted, rtol=0, atol=TOLERANCE[dtype])
    assert np.array_equal(right, before), "the right side is the caller's"


def test_solve_takes_columns_in_either_order():
    square = positive(50)
    right = np.random.default_rng(1).standard_normal((50, 8))
    cholesky(square)
    assert np.array_equal(cholesky_solve(square, np.asfortranarray(right)), cholesky_solve(square, right))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("where", [3, BLOCK_COLUMNS + 20])
def test_a_matrix_that_is_not_positive_definite_is_named_by_what_to_do(threads, where):
    square = positive(BLOCK_COLUMNS + 40)
    square[where, where] = -1
    with pytest.raises(ParameterError, match="l2"):
        cholesky(square, threads)


def test_the_factor_does_not_depend_on_the_run():
    factors = set()
    for _ in range(3):
        square = positive(2 * BLOCK_COLUMNS + 30, np.float32)
        cholesky(square, 2)
        factors.add(np.tril(square).tobytes())
    assert len(factors) == 1

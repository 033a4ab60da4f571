"""Exact nearest neighbours against a sorted table of cosines."""

from __future__ import annotations

import numpy as np
import pytest

from neartag.core.threads import single_threaded_blas
from neartag.search.exact import nearest, nearest_to_one


@pytest.fixture(autouse=True, scope="module")
def held():
    """Hold BLAS to one thread, as all callers do."""
    with single_threaded_blas():
        yield


def unit(n, dim=5, seed=0):
    rows = np.random.default_rng(seed).standard_normal((n, dim)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.mark.parametrize("count", [1, 4, 60, 75])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("m", [1, 33])
def test_nearest_is_a_sorted_table_of_cosines(count, threads, m):
    points, queries = unit(60, seed=1), unit(m, seed=2)
    ids, cosines = nearest(queries, points, count, threads, tile=(10, 17))
    assert ids.shape == cosines.shape == (m, count)
    table = queries.astype(np.float64) @ points.T
    for row in range(m):
        order = np.argsort(-table[row], kind="stable")[:count]
        assert ids[row].tolist() == [*order, *[-1] * (count - len(order))]
        np.testing.assert_allclose(cosines[row, : len(order)], table[row, order], atol=1e-6)
        assert (cosines[row, len(order) :] == -np.inf).all()


def test_of_equal_points_the_first_is_nearest():
    points = np.repeat(np.eye(3, dtype=np.float32), 4, axis=0)
    ids, cosines = nearest(np.eye(3, dtype=np.float32)[[1]], points, 5)
    assert ids.tolist() == [[4, 5, 6, 7, 0]]
    assert cosines.tolist() == [[1, 1, 1, 1, 0]]


def test_no_queries():
    ids, cosines = nearest(unit(0), unit(9), 3)
    assert ids.shape == cosines.shape == (0, 3)


@pytest.mark.parametrize("count", [1, 4, 75])
@pytest.mark.parametrize("offsets", [False, True])
def test_one_query_finds_what_a_batch_finds(count, offsets):
    points, queries = unit(60, seed=1), unit(9, seed=2)
    offset = np.linspace(0, 1, 60, dtype=np.float32) if offsets else None
    ids, products = nearest(queries, points, count, offset=offset)
    for row in range(9):
        one, near = nearest_to_one(queries[row], points, count, offset=offset)
        assert one.tolist() == ids[row : row + 1].tolist()
        np.testing.assert_allclose(near, products[row : row + 1], atol=1e-6)

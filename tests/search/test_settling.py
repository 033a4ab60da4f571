"""Who is nearest does not depend on how the search was made, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest

from neartag.search import exact, settling_kernels
from neartag.search.cells import build_cells
from neartag.search.exact import nearest_settled, settle


def make_points(n: int, dim: int, copies: int = 1) -> np.ndarray:
    points = np.random.default_rng(0).standard_normal((n // copies, dim)).astype(np.float32)
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    return np.ascontiguousarray(np.tile(points, (copies, 1)))


def expected(queries, points, count, offset=None):
    """Return the obvious: all products in float64, sorted, ties to the lower point."""
    products = np.array([[settling_kernels.product(query, point) for point in points] for query in queries])
    values = (products - (0 if offset is None else offset)).astype(np.float32)
    order = np.argsort(-values, axis=1, kind="stable")[:, :count]
    return order, np.take_along_axis(values, order, axis=1)


def test_a_product_is_that_of_float64():
    left, right = make_points(2, 37)
    assert settling_kernels.product(left, right) == pytest.approx(left.astype(float) @ right.astype(float), abs=1e-15)


@pytest.mark.parametrize("copies", [1, 20])  # more copies than the slack: rounding alone would choose among them
@pytest.mark.parametrize("euclidean", [False, True])
def test_one_some_and_many_get_what_all_products_say(copies, euclidean):
    points = make_points(200, 12, copies)
    if euclidean:
        points *= np.linspace(0.1, 9, len(points), dtype=np.float32)[:, None]
    offset = np.einsum("ij,ij->i", points, points) / np.float32(2) if euclidean else None
    queries = make_points(40, 12)[::-1].copy()
    ids, near = expected(queries, points, 5, offset)
    for size in (1, 3, 40):
        for first in range(0, 40, size):
            found = nearest_settled(queries[first : first + size], points, 5, offset=offset)
            np.testing.assert_array_equal(found[0], ids[first : first + size])
            np.testing.assert_array_equal(found[1], near[first : first + size])


def test_what_rounding_left_out_is_found(monkeypatch):
    points, queries = make_points(60, 8), make_points(3, 8)
    ids, near = expected(queries, points, 4)
    # A search that found others: their products come near to those wanted, so that all are looked at.
    wrong = np.argsort(-(queries @ points.T), axis=1)[:, 2:14].astype(np.int32)
    values = np.full(wrong.shape, near[:, -1:], np.float32)
    found = settle(queries, points, (wrong, values), 4)
    np.testing.assert_array_equal(found[0], ids)
    monkeypatch.setattr(exact, "ROUNDING", 0.0)
    values = np.full(wrong.shape, -1.0, np.float32)
    assert (settle(queries, points, (wrong, values), 4)[0] != ids).any(), "otherwise it relies on what was found"


def test_fewer_points_than_wanted():
    points, queries = make_points(3, 8), make_points(2, 8)
    ids, near = nearest_settled(queries, points, 6)
    assert (ids[:, 3:] == -1).all()
    assert np.isneginf(near[:, 3:]).all()
    np.testing.assert_array_equal(ids[:, :3], expected(queries, points, 3)[0])


def test_cells_give_one_what_they_give_many():
    points = make_points(2400, 8, copies=12)
    cells, order = build_cells(points, 1)
    queries = make_points(50, 8)
    ids, near = cells.nearest(queries, points[order], 10, 1)
    for row in range(50):
        one = cells.nearest(queries[row : row + 1], points[order], 10, 1)
        np.testing.assert_array_equal(one[0][0], ids[row])
        np.testing.assert_array_equal(one[1][0], near[row])

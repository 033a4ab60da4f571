"""The index of vectors: exact where there are few, in cells where there are many, kept right as points come and go."""

from __future__ import annotations

import numpy as np
import pytest

from neartag.linalg.rows import normalise
from neartag.search.exact import nearest
from neartag.search.vector_index import MAX_QUERIES_ALONE, VectorIndex


def made(n, e=8, seed=0) -> np.ndarray:
    random = np.random.default_rng(seed)
    return normalise((random.standard_normal((n, e)) + 3 * np.eye(e)[random.integers(e, size=n)]).astype(np.float32))


def with_cells(vectors, nprobe=4) -> VectorIndex:
    return VectorIndex.from_vectors(vectors, 1, nprobe=nprobe, min_points=100)


@pytest.mark.parametrize("threads", [1, 3])
def test_few_points_are_searched_exactly(threads):
    points, queries = made(150), made(20, seed=1)
    index = VectorIndex.from_vectors(points, 1)
    assert index.cells is None
    ids, cosines = index.find(queries, 5, threads)
    exact = nearest(queries, index.rows.decode(), 5)
    assert np.array_equal(ids, exact[0])
    np.testing.assert_allclose(cosines, exact[1], atol=1e-6)


def test_cells_find_nearly_all_and_all_when_all_are_looked_into():
    points, queries = made(600), made(80, seed=1)
    exact = VectorIndex.from_vectors(points, 1).find(queries, 10)[0]
    found = with_cells(points).find(queries, 10)[0]
    assert np.mean([len(set(a) & set(b)) for a, b in zip(found, exact, strict=True)]) > 8
    whole = with_cells(points, nprobe=600).find(queries, 10)[0]
    assert np.array_equal(np.sort(whole), np.sort(exact))


@pytest.mark.parametrize("min_points", [100, 1000])
def test_one_query_is_answered_as_among_others(min_points):
    index, queries = VectorIndex.from_vectors(made(600), 1, min_points=min_points), made(10, seed=1)
    among = index.find(queries, 7)
    for i in range(10):
        ids, cosines = index.find(queries[i : i + 1], 7)
        assert np.array_equal(ids[0], among[0][i])
        np.testing.assert_allclose(cosines[0], among[1][i], atol=1e-6)


def test_few_queries_are_answered_as_many_are():
    vectors = made(600)
    vectors[::7] = 0
    index, queries = with_cells(vectors), made(MAX_QUERIES_ALONE + 8, seed=1)
    ids, cosines = index.find(queries, 60)  # some have fewer in their cells, and look everywhere
    for first in range(0, len(queries), 10):
        few = index.find(queries[first : first + 10], 60)
        assert np.array_equal(few[0], ids[first : first + 10])
        np.testing.assert_allclose(few[1], cosines[first : first + 10], atol=1e-6)


def test_the_number_of_threads_changes_nothing():
    index, queries = with_cells(made(600)), made(3000, seed=1)
    one, three = (index.find(queries, 10, threads) for threads in (1, 3))
    assert np.array_equal(one[0], three[0])
    assert np.array_equal(one[1], three[1])


@pytest.mark.parametrize("min_points", [100, 1000])
def test_points_come_and_go(min_points):
    points, queries = made(300), made(20, seed=1)
    index = VectorIndex.from_vectors(points[:200], 1, nprobe=200, min_points=min_points).append(points[200:])
    kept = np.arange(300) % 3 != 0
    fewer = index.keep(kept).find(queries, 5)[0]
    numbers = np.flatnonzero(kept)
    everybody = index.find(queries, 100)[0]
    for i in range(20):
        assert numbers[fewer[i]].tolist() == [point for point in everybody[i] if kept[point]][:5]
    moved = index.put_row(7, -points[7])
    assert moved.find(-points[7:8], 1)[0][0, 0] == 7
    assert len(moved.rows) == 300


def test_missing_vectors_are_near_nobody():
    points = made(120)
    points[5] = 0
    ids, cosines = with_cells(points).find(np.vstack([np.zeros((1, 8)), points[:1]]), 120)
    assert (ids[0] == -1).all()
    assert np.isneginf(cosines[0]).all()
    assert 5 not in ids[1]
    assert ids[1, 0] == 0


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("v.order", lambda order: order + 1000, "one number a row"),
        ("v.codes", lambda codes: codes[:, 1:], "not int8"),
        ("v.pointer", lambda pointer: pointer + 1, "do not part"),
        ("v.nprobe", lambda nprobe: nprobe * 0, "how many cells"),
        ("v.scales", lambda scales: scales * np.nan, "one scale a row"),
    ],
)
def test_damage_is_refused(name, change, message):
    arrays: dict[str, np.ndarray] = {}
    index, queries = with_cells(made(300)), made(5, seed=1)
    index.put(arrays, "v")
    read = VectorIndex.get(arrays, "v", 300, 8)
    assert np.array_equal(read.find(queries, 5)[0], index.find(queries, 5)[0])
    arrays[name] = change(arrays[name])
    with pytest.raises(ValueError, match=message):
        VectorIndex.get(arrays, "v", 300, 8)


def test_queries_whose_nearest_cells_are_empty_are_answered_by_the_rows_that_are_left():
    vectors = made(3000)
    kept = np.zeros(3000, bool)
    kept[:2] = True
    index = with_cells(vectors, nprobe=1).keep(kept)
    for count in (1, 2, MAX_QUERIES_ALONE + 1):
        found = index.find(-vectors[:count], 5)[0]
        assert np.isin(found, [-1, 0, 1]).all()

"""Cells of embedded points: where all are looked at the search is exact, and nothing is ever lost between them."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contract import problem
from kernel_helpers import UNTOUCHED, frozen, seeds
from neartag import store
from neartag.core.threads import single_threaded_blas
from neartag.data import synthetic
from neartag.linalg.rows import as_rows, normalise
from neartag.search import cell_kernels
from neartag.search import cells as module
from neartag.search.cells import build_cells
from neartag.search.exact import nearest
from neartag.x1.classifier import X1Classifier
from neartag.x1.model import X1Model
from neartag.x1.update import add, forget

SMALL = {
    "n_learners": 1,
    "n_clusters": 1,
    "embedding_dim": 16,
    "svp_neighbours": 20,
    "vote_neighbours": 10,
    "n_jobs": 1,
}


@pytest.fixture(autouse=True, scope="module")
def held():
    """Hold BLAS to one thread, as all callers do."""
    with single_threaded_blas():
        yield


def scattered(n: int, dim: int = 8, groups: int = 30, seed: int = 0) -> np.ndarray:
    """Return unit points in groups, as embeddings are."""
    random = np.random.default_rng(seed)
    middle = random.standard_normal((groups, dim))
    points = middle[random.integers(groups, size=n)] + 0.3 * random.standard_normal((n, dim))
    return (points / np.linalg.norm(points, axis=1, keepdims=True)).astype(np.float32)


@given(st.integers(1, 40), st.lists(st.integers(0, 60), max_size=8), st.booleans(), seeds)
@settings(max_examples=200)
def test_best_of(wanted, sizes, ties, seed):
    random = np.random.default_rng(seed)
    places, count = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), int(sum(sizes))
    gaps = random.integers(0, 5, len(sizes))
    names = random.permutation(np.concatenate([[0], np.cumsum(np.array(sizes, int) + gaps)])[:-1])
    # Starts in any order, so long as no two values have one name.
    order = np.argsort(names)
    names[order] = np.concatenate([[0], np.cumsum(np.array(sizes, int)[order])])[:-1]
    values = random.choice([-np.inf, -1, 0, 0.5, 1], count) if ties else random.standard_normal(count)
    values = values.astype(np.float32)
    ids, best = np.full(wanted, -7, np.int32), np.full(wanted, UNTOUCHED, np.float32)
    cell_kernels.best_of(*frozen(values, places, names.astype(np.int64)), ids, best)
    own = [names[p] + j for p in range(len(sizes)) for j in range(sizes[p])]
    expected = sorted(zip(-values, own, strict=True))[:wanted]
    assert ids.tolist() == [name for _, name in expected] + [-1] * (wanted - len(expected))
    assert best.tolist() == [-value for value, _ in expected] + [-np.inf] * (wanted - len(expected))


@pytest.mark.parametrize("offsets", [False, True])
def test_many_queries_at_once_are_as_each_alone(offsets):
    random = np.random.default_rng(4)
    points, queries = random.standard_normal((2000, 8)).astype(np.float32), scattered(50, seed=1)
    pointer = np.concatenate([[0], np.sort(random.integers(0, 2000, 30)), [2000, 2000]])  # the last cell is empty
    routes = np.array([random.permutation(32)[:5] for _ in range(50)], np.int32)
    offset = random.random(2000).astype(np.float32) if offsets else np.empty(0, np.float32)
    ids, values = np.full((50, 12), -7, np.int32), np.full((50, 12), UNTOUCHED, np.float32)
    cell_kernels.cells_top(*frozen(queries, points, offset, routes, pointer), ids, values)
    for row in range(50):
        one, near = np.empty(12, np.int32), np.empty(12, np.float32)
        cell_kernels.cell_top(*frozen(queries[row].copy(), points, offset, routes[row].copy(), pointer), one, near)
        np.testing.assert_allclose(values[row], near, atol=1e-5)
        assert ids[row].tolist() == one.tolist()


@given(st.integers(1, 9), st.integers(1, 5), st.booleans(), st.booleans(), seeds)
@settings(max_examples=150)
def test_kernel(wanted, probes, ties, offsets, seed):
    random = np.random.default_rng(seed)
    both = random.integers(-1, 2, (21, 3)) if ties else random.standard_normal((21, 3))
    query, points = both[0].astype(np.float32), both[1:].astype(np.float32)
    pointer = np.concatenate([[0], np.sort(random.integers(0, 21, 5)), [20]])  # cells may be empty
    offset = random.random(20).astype(np.float32) if offsets else np.empty(0, np.float32)
    chosen = random.permutation(6)[:probes].astype(np.int32)
    ids, values = np.full(wanted, -7, np.int32), np.full(wanted, UNTOUCHED, np.float32)
    cell_kernels.cell_top(*frozen(query, points, offset, chosen, pointer), ids, values)
    products = points @ query - (offset if offsets else 0)
    there = np.sort(np.concatenate([np.arange(pointer[cell], pointer[cell + 1]) for cell in chosen]))
    order = there[np.argsort(-products[there], kind="stable")][:wanted]
    missing = wanted - len(order)
    if ties and not offsets:
        assert ids.tolist() == [*order, *[-1] * missing]  # ties to the lower point
    found = ids[ids >= 0]
    assert len(set(found.tolist())) == len(found) == len(order)
    assert set(found.tolist()) <= set(there.tolist())
    np.testing.assert_allclose(values[: len(order)], products[order], atol=1e-5)
    assert (values[len(order) :] == -np.inf).all()


def test_one_query_finds_what_it_finds_among_others():
    points, queries = scattered(3000), scattered(30, seed=1)
    cells, order = build_cells(points, 1)
    ids, near = cells.nearest(queries, points[order], 10, 1)
    for row in range(30):
        one, how_near = cells.nearest(queries[row : row + 1], points[order], 10, 1)
        np.testing.assert_allclose(how_near[0], near[row], atol=1e-6)
        assert (one[0] == ids[row]).mean() > 0.8  # products are summed in another order: equals may change places


def test_each_point_is_in_one_cell_the_nearest():
    points = scattered(5000)
    cells, order = build_cells(points, 1)
    assert np.array_equal(np.sort(order), np.arange(5000))
    assert cells.pointer[0] == 0
    assert cells.pointer[-1] == 5000
    own = np.repeat(np.arange(len(cells.centroids)), np.diff(cells.pointer))
    distance = ((points[order][:, None, :] - cells.centroids[None]) ** 2).sum(axis=2)  # (n, cells)
    assert (distance[np.arange(5000), own] <= distance.min(axis=1) + 1e-5).all()


def test_few_points_are_not_parted():
    cells, order = build_cells(scattered(module.MIN_POINTS_FOR_CELLS - 1), 1)
    assert cells is None
    assert np.array_equal(order, np.arange(module.MIN_POINTS_FOR_CELLS - 1))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("euclidean", [False, True])
def test_looking_into_all_cells_is_exact(threads, euclidean):
    points, queries = scattered(3000), scattered(40, seed=1)
    points *= np.random.default_rng(2).uniform(0.5, 2, (3000, 1)).astype(np.float32) if euclidean else 1
    cells, order = build_cells(points, 1)
    offset = (points**2).sum(axis=1) / 2 if euclidean else None
    wanted, cosines = nearest(queries, points, 20, 1, offset=offset)
    moved = None if offset is None else offset[order]
    ids, found = replace(cells, nprobe=10**6).nearest(queries, points[order], 20, threads, offset=moved)
    np.testing.assert_allclose(found, cosines, atol=1e-5)
    assert (order[ids] == wanted).mean() > 0.99  # products are summed in another order: equals may change places


def test_large_cells_are_searched_for_fewer_queries_at_once(monkeypatch):
    points, queries = scattered(3000), scattered(200, seed=1)
    cells, order = build_cells(points, 1)
    wanted, how_near = cells.nearest(queries, points[order], 10, 1)
    at_once, search = [], cell_kernels.cells_top
    monkeypatch.setattr(cell_kernels, "cells_top", lambda rows, *rest: (at_once.append(len(rows)), search(rows, *rest)))
    ids, near = cells.nearest(queries, points[order], 10, 1, max_products=20_000)
    assert 1 <= max(at_once) <= 20_000 / (8 * np.diff(cells.pointer).mean())
    assert sum(at_once) == 200
    np.testing.assert_allclose(near, how_near, atol=1e-6)
    assert (ids == wanted).mean() > 0.99  # products are summed in another order: equals may change places


def test_a_few_cells_have_nearly_all_neighbours():
    points, queries = scattered(20_000), scattered(200, seed=1)
    cells, order = build_cells(points, 1)
    wanted, _ = nearest(queries, points, 40, 1)
    ids, _ = cells.nearest(queries, points[order], 40, 1)
    shared = [len(set(order[one]) & set(other)) / 40 for one, other in zip(ids, wanted, strict=True)]
    looked_at = module.NPROBE * np.diff(cells.pointer).mean() / 20_000
    assert looked_at < 0.1
    assert np.mean(shared) > 0.95


def test_new_points_go_to_the_end_of_their_cells():
    points, more = scattered(3000), scattered(50, seed=3)
    cells, order = build_cells(points, 1)
    places, grown = cells.insertion_points(more, 1)
    everything = np.insert(points[order], places, more, axis=0)
    assert np.array_equal(grown.centroids, cells.centroids)
    own = np.repeat(np.arange(len(cells.centroids)), np.diff(grown.pointer))
    distance = ((everything[:, None, :] - cells.centroids[None]) ** 2).sum(axis=2)
    assert (distance[np.arange(3050), own] <= distance.min(axis=1) + 1e-5).all()
    _, near = grown.nearest(more, everything, 1, 1)
    np.testing.assert_allclose(near[:, 0], 1, atol=1e-5)


def test_where_few_are_found_all_are_looked_at():
    points, queries = scattered(3000), scattered(40, seed=1)
    cells, order = build_cells(points, 1)
    wanted, _ = nearest(queries, points, 1500, 1)
    ids, _ = cells.nearest(queries, points[order], 1500, 1)
    assert (ids >= 0).all()
    assert (order[ids] == wanted).mean() > 0.99
    stays = np.zeros(3000, bool)
    stays[::50] = True
    left, fewer = points[order][stays], cells.keep(stays)
    ids, _ = fewer.nearest(queries, left, 60, 1)
    assert (np.sort(ids, axis=1) == np.arange(60)).all()


@pytest.mark.parametrize("share", [0.3, 0.5, 0.7])
def test_points_that_are_all_alike_take_no_cells_from_the_others(share):
    points, queries = scattered(4000), scattered(100, seed=1)
    alike = np.random.default_rng(0).random(4000) < share
    points[alike] = 0
    cells, order = build_cells(points, 1)
    assert (np.diff(cells.pointer) > 0).all()
    wanted, _ = nearest(queries, points, 20, 1)
    ids, _ = cells.nearest(queries, points[order], 20, 1)
    assert np.mean([len(set(order[one]) & set(other)) / 20 for one, other in zip(ids, wanted, strict=True)]) > 0.9


def test_no_centre_is_the_place_of_a_single_point():
    points = np.concatenate([scattered(2500), 5 * np.eye(8, dtype=np.float32)])  # eight that are far from all
    cells, _ = build_cells(points, 1)
    distance = ((points[:, None, :] - cells.centroids[None]) ** 2).sum(axis=2)
    assert distance[-8:].min() > 1


def test_all_points_the_same():
    cells, order = build_cells(np.ones((2500, 4), np.float32), 1)
    assert len(cells.centroids) == 1
    ids, _ = cells.nearest(np.ones((3, 4), np.float32), np.ones((2500, 4), np.float32), 5, 1)
    assert order[ids].tolist() == [[0, 1, 2, 3, 4]] * 3


def test_fewer_points_keep_their_cells():
    points = scattered(3000)
    cells, _ = build_cells(points, 1)
    stays = np.random.default_rng(0).random(3000) < 0.7
    fewer = cells.keep(stays)
    before = np.repeat(np.arange(len(cells.centroids)), np.diff(cells.pointer))
    after = np.repeat(np.arange(len(cells.centroids)), np.diff(fewer.pointer))
    assert np.array_equal(before[stays], after)


# ---- in a model


def trained(**changes) -> X1Model:
    """Return a model of the problem whose few hundred points are parted too, where it searches in cells."""
    data = problem()
    settings_ = {**SMALL, "vote_search": "cells", "feature_share": 0.0, **changes}
    model = X1Classifier(**settings_).fit(data.X, data.Y).model_
    return model if settings_["vote_search"] == "exact" else in_cells(model)


def in_cells(model: X1Model, **changes: int) -> X1Model:
    """Return the model with the points of its clusters in cells, however few they are."""
    learners = [learner.with_cells(1, min_points=50) for learner in model.learners]
    for learner in learners:
        learner.clusters = [replace(cluster, cells=replace(cluster.cells, **changes)) for cluster in learner.clusters]
    return replace(model, learners=learners)


@pytest.mark.parametrize("distance", ["cosine", "euclidean"])
def test_a_model_that_looks_into_all_cells_answers_as_without(distance):
    data = problem()
    with_cells = in_cells(trained(vote_distance=distance), nprobe=10**6)
    without = trained(vote_distance=distance, vote_search="exact")
    assert with_cells.learners[0].clusters[0].cells is not None
    assert without.learners[0].clusters[0].cells is None
    labels, scores = with_cells.predict_topk(data.X_new, 5)
    expected, shares = without.predict_topk(data.X_new, 5)
    np.testing.assert_allclose(scores, shares, atol=1e-4)
    assert (labels == expected).mean() > 0.98


def test_one_point_is_answered_as_a_batch():
    model, data = trained(), problem()
    labels, scores = model.predict_topk(data.X_new[:20], 5)
    for row in range(20):
        one, share = model.predict_topk(data.X_new[row : row + 1], 5)
        np.testing.assert_allclose(share[0], scores[row], atol=1e-5)
        assert one[0].tolist() == labels[row].tolist()


def test_saved_and_loaded_it_answers_the_same(tmp_path):
    model, data = trained(), problem()
    store.save(model, tmp_path / "model")
    loaded = store.load(tmp_path / "model").model
    assert loaded.learners[0].clusters[0].cells is not None
    assert np.array_equal(model.predict_topk(data.X_new, 5)[0], loaded.predict_topk(data.X_new, 5)[0])


def test_added_points_vote_and_forgotten_ones_do_not():
    data = problem()
    model = trained(vote_neighbours=1)
    n = model.n_points
    rows = data.X_new[:8]
    more = add(model, normalise(as_rows(rows)), data.Y[:8])
    found, _ = more.neighbours(rows)
    assert np.array_equal(found[:, 0], np.arange(n, n + 8))
    gone = np.zeros(n + 8, bool)
    gone[n:] = True
    fewer = forget(more, gone)
    assert fewer.learners[0].clusters[0].cells is not None
    assert np.array_equal(fewer.neighbours(rows)[0], model.neighbours(rows)[0])


@pytest.mark.parametrize("changes", [{}, {"refine": True, "feature_share": 0.3}], ids=["votes", "refined"])
def test_when_points_came_does_not_matter(changes):
    data = problem()
    model = trained(**changes)
    rows, labels = normalise(as_rows(data.X_new[:60])), data.Y[:60]
    at_once, one_by_one = add(model, rows, labels), model
    for row in range(60):
        one_by_one = add(one_by_one, rows[row : row + 1], labels[row : row + 1])
    found, again = at_once.to_state()[1], one_by_one.to_state()[1]
    assert all(np.array_equal(found["learner-000"][name], again["learner-000"][name]) for name in found["learner-000"])
    assert np.array_equal(at_once.predict_topk(data.X_new, 5)[0], one_by_one.predict_topk(data.X_new, 5)[0])
    gone = np.zeros(at_once.n_points, bool)
    gone[model.n_points :] = True
    before, after = model.predict_topk(data.X_new, 5), forget(at_once, gone).predict_topk(data.X_new, 5)
    assert all(np.array_equal(one, other) for one, other in zip(before, after, strict=True))


def test_an_exact_search_may_be_asked_for_after_training():
    data = problem()
    classifier = X1Classifier(**{**SMALL, "vote_search": "cells", "feature_share": 0.0}).fit(data.X, data.Y)
    classifier.model_ = in_cells(classifier.model_)
    without = trained(vote_search="exact").predict_topk(data.X_new, 5)
    found = classifier.set_params(vote_search="exact").predict_topk(data.X_new, 5)
    np.testing.assert_allclose(found[1], without[1], atol=1e-6)
    one = classifier.predict_topk(data.X_new[:1], 5)
    np.testing.assert_allclose(one[1], without[1][:1], atol=1e-6)


DAMAGE = {
    "centres are not of the points' dimension": ("0.centres", lambda array: array[:, :-1].copy()),
    "centres are not float32": ("0.centres", lambda array: array.astype(np.float64)),
    "centres are not numbers": ("0.centres", lambda array: np.full_like(array, np.nan)),
    "no centre": ("0.centres", lambda array: array[:0]),
    "a cell too few": ("0.pointer", lambda array: array[:-1]),
    "cells that fall": ("0.pointer", lambda array: array[::-1].copy()),
    "cells beyond the points": ("0.pointer", lambda array: array + np.arange(len(array))),
    "points in no cell": ("0.pointer", lambda array: np.minimum(array, array[-1] - 1)),
    "cells that begin behind the first point": ("0.pointer", lambda array: np.maximum(array, 1)),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_cells_are_refused(damage):
    name, change = DAMAGE[damage]
    settings_, parts = copy.deepcopy(trained().to_state())
    parts["learner-000"][name] = change(parts["learner-000"][name])
    with pytest.raises(ValueError, match="cells of cluster 0"):
        X1Model.from_state(settings_, parts)


@pytest.mark.parametrize("changes", [{}, {"refine": True, "feature_share": 0.3, "feature_search": "near"}])
def test_the_same_whatever_the_number_of_jobs(changes):
    data = synthetic.make(4500, 150, 40, 12, 2)  # enough for cells
    options = {**SMALL, "vote_search": "cells", "feature_share": 0.0, "n_learners": 2, "n_clusters": 2, **changes}
    one, two = (X1Classifier(**{**options, "n_jobs": jobs}).fit(data.X, data.Y).model_ for jobs in (1, 2))
    assert any(cluster.cells is not None for learner in one.learners for cluster in learner.clusters)
    found, again = one.to_state()[1], two.to_state()[1]
    assert found.keys() == again.keys()
    assert all(np.array_equal(found[part][name], again[part][name]) for part in found for name in found[part])

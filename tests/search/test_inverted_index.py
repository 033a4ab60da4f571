"""Neighbours by features, looked for everywhere or among those by embedding, against plain tables of cosines."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from contract import problem
from neartag.linalg.rows import as_rows, normalise
from neartag.search import inverted_index
from neartag.search.inverted_index import FeatureIndex, merge_ids
from neartag.x1 import selection as held_out
from neartag.x1.classifier import X1Classifier
from neartag.x1.retrieval import POOL_PER_NEIGHBOUR, find_by_embedding
from neartag.x1.training_steps import MAX_ENTRIES_TO_ANSWER
from refine_helpers import small_model

SMALL = {"n_clusters": 1, "embedding_dim": 16, "svp_neighbours": 20, "vote_neighbours": 8, "n_jobs": 1}
SMALL["refine"] = False


def unit(n: int, seed: int, d: int = 30, share: float = 0.3) -> csr_matrix:
    random = np.random.default_rng(seed)
    return normalise(csr_matrix((random.random((n, d)) * (random.random((n, d)) < share)).astype(np.float32)))


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("threads", [1, 2])
def test_among_some_is_a_sorted_table_of_theirs(dense, threads):
    points, queries = unit(50, 0), unit(20, 1)
    listed = np.array([np.random.default_rng(row).permutation(50)[:12] for row in range(20)], np.int32)
    listed[:, 3] = -1
    index = FeatureIndex.from_rows(points.toarray() if dense else points)
    ids, cosines = index.find(queries.toarray() if dense else queries, 5, threads, restrict_to=listed)
    table = (queries @ points.T).toarray()
    for row in range(20):
        there = [point for point in listed[row] if point >= 0 and table[row, point] > 0]
        order = sorted(there, key=lambda point: -table[row, point])[:5]
        assert set(ids[row][ids[row] >= 0]) <= set(there)
        np.testing.assert_allclose(cosines[row, : len(order)], table[row, order], atol=1e-6)
        assert (ids[row, len(order) :] == -1).all()
        assert (cosines[row, len(order) :] == -np.inf).all()


def test_lists_that_name_everybody_are_a_search_everywhere():
    points, queries = unit(40, 2), unit(10, 3)
    index = FeatureIndex.from_rows(points)
    everybody = np.tile(np.arange(40, dtype=np.int32), (10, 1))
    ids, cosines = index.find(queries, 6, 1, prune=0.0)
    found, near = index.find(queries, 6, 1, restrict_to=everybody)
    np.testing.assert_allclose(near, cosines, atol=1e-6)
    assert np.array_equal(ids, found)


def test_several_lists_are_united_without_repeating_anybody():
    lists = [np.array([[3, 1, -1], [5, 4, 2]], np.int32), np.array([[1, 7, -1], [2, 5, 4]], np.int32)]
    for row, wanted in zip(merge_ids(lists), ({1, 3, 7}, {2, 4, 5}), strict=True):
        named = row[row >= 0].tolist()
        assert sorted(named) == sorted(wanted)
    assert merge_ids(lists[:1]) is lists[0]


@pytest.mark.parametrize("dense", [False, True])
def test_work_counts_the_entries_of_lists(dense):
    points, queries = unit(50, 4), unit(7, 5)
    lengths = np.diff(points.tocsc().indptr)
    index = FeatureIndex.from_rows(points.toarray() if dense else points)
    assert index.work(queries.toarray() if dense else queries, 5, prune=0.0) == lengths[queries.indices].sum() / 7


def test_work_leaves_out_what_the_first_look_does():
    common = np.full((1000, 1), 0.1, np.float32)  # a feature of all rows, that weighs little in any
    points = csr_matrix(np.hstack([common, np.eye(1000, dtype=np.float32)]))
    index, query = FeatureIndex.from_rows(points), points[:1]
    scored_in_full = inverted_index.RESCORED_PER_NEIGHBOUR * 3 * 2  # rows, with two entries each
    assert index.work(query, 3, prune=0.0) == 1001
    assert index.work(query, 3, prune=0.3) == 1 + scored_in_full


def voters(**changes) -> tuple[X1Classifier, np.ndarray]:
    data = problem()
    model = X1Classifier(**{**SMALL, "feature_share": 1.0, **changes}).fit(data.X, data.Y)
    if changes.get("vote_search") == "cells":  # though the points are few
        model.model_.learners = [learner.with_cells(1, min_points=50) for learner in model.model_.learners]
    ids, shares = model.model_.neighbours(data.X_new)
    return model, np.where(shares > 0, ids, -1)


@pytest.mark.parametrize("changes", [{}, {"n_learners": 2, "n_clusters": 2}, {"vote_search": "cells"}])
def test_who_votes_by_features_is_near_by_embedding_too(changes):
    model, ids = voters(feature_search="near", **changes)
    parted = model.model_.learners[0].clusters[0].cells is not None
    assert parted == ("vote_search" in changes)
    rows = normalise(as_rows(problem().X_new))
    lists = find_by_embedding(rows, model.model_.learners, model.model_.settings, POOL_PER_NEIGHBOUR * 8, 1)
    for row, named in enumerate(ids):
        assert set(named[named >= 0]) <= set(np.concatenate([each[row] for each, _ in lists]))
    everywhere, _ = voters(**changes)
    assert everywhere.model_.parameters["feature_search"] == "all"


def test_one_point_is_answered_as_a_batch():
    model, _ = voters(feature_search="near", feature_share=0.4)
    data = problem()
    labels, scores = model.predict_topk(data.X_new[:30], 5)
    for row in range(30):
        one, share = model.predict_topk(data.X_new[row : row + 1], 5)
        assert one[0].tolist() == labels[row].tolist()
        np.testing.assert_allclose(share[0], scores[row], atol=1e-6)


def test_the_share_is_chosen_with_the_neighbours_that_will_vote(monkeypatch):
    data, tried = problem(), {}
    score = held_out._score

    def spy(model, voters, *rest):
        tried.setdefault(voters[0].shape[1], voters[0])
        return score(model, voters, *rest)

    monkeypatch.setattr(held_out, "_score", spy)
    options = {**SMALL, "vote_neighbours": "auto", "feature_share": 0.5, "feature_search": "near"}
    seen = []
    monkeypatch.setattr(
        held_out, "find_by_embedding", lambda *asked: seen.append(find_by_embedding(*asked)) or seen[-1]
    )
    X1Classifier(**options).fit(data.X, data.Y)
    for width, voters_ in tried.items():
        count = width // 2
        for row, named in enumerate(voters_[:, count:]):
            assert set(named[named >= 0]) <= set(seen[0][0][0][row, : POOL_PER_NEIGHBOUR * count])


def test_held_out_points_never_vote_even_where_a_cluster_has_none_but_them():
    data = problem()
    options = {**SMALL, "n_clusters": 40, "feature_share": 0.5, "feature_search": "near", "vote_neighbours": "auto"}
    held = held_out.held_out_rows(data.X.shape[0], 0, to_rerank=True)
    with pytest.warns(UserWarning, match="fewer than"):
        model = X1Classifier(**options).fit(data.X, data.Y).model_
    rows = normalise(as_rows(data.X))
    found = held_out.retrieve_held_out(model, rows, held, 1)
    for ids, _ in (found.embedding_voters, found.feature_voters):
        assert not np.isin(ids, held).any()


# ---- left to us


@pytest.fixture
def restricted(monkeypatch):
    """Count the searches of a feature index that look at some points only."""
    counted, find = [], FeatureIndex.find

    def spy(index, X, count, threads=1, prune=inverted_index.PRUNE, restrict_to=None):
        counted.extend([] if restrict_to is None else [count])
        return find(index, X, count, threads, prune, restrict_to)

    monkeypatch.setattr(FeatureIndex, "find", spy)
    return counted


def long_lists() -> tuple[csr_matrix, csr_matrix]:
    """Return points whose features are in so many others that a search of all of them is long."""
    random = np.random.default_rng(0)
    Y = csr_matrix((random.random((1500, 12)) < 0.2).astype(np.float32))
    X = (random.random((1500, 80)) < 0.4) * (1 + Y @ random.random((12, 80)))
    return csr_matrix(X.astype(np.float32)), Y


def test_a_quick_search_goes_everywhere(restricted):
    assert small_model().fit(problem().X, problem().Y).model_.parameters["feature_search"] == "all"
    assert not restricted


def test_a_long_search_is_tried_among_those_near(restricted):
    X, Y = long_lists()
    model = small_model(feature_share=0.3).fit(X, Y)
    assert model.model_.index.work(X, 40, inverted_index.PRUNE_LOOSELY) > MAX_ENTRIES_TO_ANSWER
    assert restricted == [40]
    assert model.model_.parameters["feature_search"] in ("near", "all")
    assert model.predict_topk(X[:20], 5)[0].shape == (20, 5)


def test_what_was_asked_for_is_not_chosen(restricted):
    model = small_model(feature_share=0.3, feature_search="all").fit(*long_lists())
    assert model.model_.parameters["feature_search"] == "all"
    assert not restricted


def test_votes_alone_always_look_everywhere(restricted):
    model = X1Classifier(**SMALL, feature_share=0.3).fit(*long_lists())
    assert model.model_.parameters["feature_search"] == "all"
    assert not restricted


def test_neighbours_may_be_looked_for_elsewhere_after_training():
    model, _ = voters(feature_share=0.5)
    data = problem()
    near, _ = voters(feature_share=0.5, feature_search="near")
    found = model.set_params(feature_search="near").predict_topk(data.X_new, 5)
    np.testing.assert_allclose(found[1], near.predict_topk(data.X_new, 5)[1], atol=1e-6)


def test_to_adjust_a_model_leaves_it_as_it_was():
    model = small_model().fit(problem().X, problem().Y).model_
    before = dict(vars(model))
    assert model.with_settings({"threshold": 0.9}).settings.threshold == 0.9
    assert vars(model).keys() == before.keys() >= {each.name for each in dataclasses.fields(model)}
    assert all(value is before[name] for name, value in vars(model).items())

"""Neighbours by features, looked for everywhere or among those by embedding, against plain tables of cosines."""

from __future__ import annotations

import copy
import dataclasses

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from contract import problem
from neartag.linalg.rows import as_rows, normalise
from neartag.search import cells
from neartag.search import inverted_index as feature_vote
from neartag.search.inverted_index import AMONG, FeatureIndex, merge_ids
from neartag.x1 import selection as held_out
from neartag.x1 import training
from neartag.x1.classifier import X1Classifier
from refine_helpers import small_model

SMALL = {"n_clusters": 1, "embedding_dim": 16, "svp_neighbours": 20, "vote_neighbours": 8, "n_jobs": 1}


def unit(n: int, seed: int, d: int = 30, share: float = 0.3) -> csr_matrix:
    random = np.random.default_rng(seed)
    return normalise(csr_matrix((random.random((n, d)) * (random.random((n, d)) < share)).astype(np.float32)))


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("threads", [1, 2])
def test_among_some_is_a_sorted_table_of_theirs(dense, threads):
    points, queries = unit(50, 0), unit(20, 1)
    listed = np.array([np.random.default_rng(row).permutation(50)[:12] for row in range(20)], np.int32)
    listed[:, 3] = -1
    index = FeatureIndex.of(points.toarray() if dense else points)
    ids, cosines = index.find(queries.toarray() if dense else queries, 5, threads, listed=listed)
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
    index = FeatureIndex.of(points)
    everybody = np.tile(np.arange(40, dtype=np.int32), (10, 1))
    ids, cosines = index.find(queries, 6, 1, skip=0.0)
    found, near = index.find(queries, 6, 1, listed=everybody)
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
    index = FeatureIndex.of(points.toarray() if dense else points)
    assert index.work(queries.toarray() if dense else queries, 5, skip=0.0) == lengths[queries.indices].sum() / 7


def test_work_leaves_out_what_the_first_look_does():
    common = np.full((1000, 1), 0.1, np.float32)  # a feature of all rows, that weighs little in any
    points = csr_matrix(np.hstack([common, np.eye(1000, dtype=np.float32)]))
    index, query = FeatureIndex.of(points), points[:1]
    scored_in_full = feature_vote.CANDIDATES * 3 * 2  # rows, with two entries each
    assert index.work(query, 3, skip=0.0) == 1001
    assert index.work(query, 3, skip=0.3) == 1 + scored_in_full


def voters(**changes) -> tuple[X1Classifier, np.ndarray]:
    data = problem()
    model = X1Classifier(**{**SMALL, "feature_share": 1.0, **changes}).fit(data.X, data.Y)
    ids, shares = model.model_.neighbours(data.X_new)
    return model, np.where(shares > 0, ids, -1)


@pytest.mark.parametrize("changes", [{}, {"n_learners": 2, "n_clusters": 2}, {"vote_search": "cells"}])
def test_who_votes_by_features_is_near_by_embedding_too(changes, monkeypatch):
    monkeypatch.setattr(cells, "FEWEST", 50)
    model, ids = voters(feature_search="near", **changes)
    parted = model.model_.learners[0].clusters[0].cells is not None
    assert parted == ("vote_search" in changes)
    rows = normalise(as_rows(problem().X_new))
    lists = model.model_.learner_neighbours(rows, AMONG * 8, 1)
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

    def spy(model, voters, weights, *rest):
        tried.setdefault(voters.shape[1], voters)
        return score(model, voters, weights, *rest)

    monkeypatch.setattr(held_out, "_score", spy)
    options = {**SMALL, "vote_neighbours": "auto", "feature_share": 0.5, "feature_search": "near"}
    train = held_out.X1Model.learner_neighbours
    seen = []
    monkeypatch.setattr(
        held_out.X1Model,
        "learner_neighbours",
        lambda model, rows, count, threads: seen.append(train(model, rows, count, threads)) or seen[-1],
    )
    X1Classifier(**options).fit(data.X, data.Y)
    for width, voters_ in tried.items():
        count = width // 2
        for row, named in enumerate(voters_[:, count:]):
            assert set(named[named >= 0]) <= set(seen[0][0][0][row, : AMONG * count])


def test_held_out_points_never_vote_even_where_a_cluster_has_none_but_them():
    data = problem()
    options = {**SMALL, "n_clusters": 40, "feature_share": 0.5, "feature_search": "near", "vote_neighbours": "auto"}
    held = held_out.held_out_rows(data.X.shape[0], 0, to_rerank=True)
    with pytest.warns(UserWarning, match="fewer than"):
        model = X1Classifier(**options).fit(data.X, data.Y).model_
    rows = normalise(as_rows(data.X))
    for ids, _ in held_out.voters(model, rows, held, 1):
        assert not np.isin(ids, held).any()


# ---- left to us


def test_a_quick_search_goes_everywhere():
    assert small_model().fit(problem().X, problem().Y).model_.parameters["feature_search"] == "all"


def test_a_long_search_goes_to_those_near_where_little_is_lost(monkeypatch):
    monkeypatch.setattr(training, "MOST_WORK", 0)
    monkeypatch.setattr(training.reranker, "NEARLY", 0.5)
    data = problem()
    model = small_model().fit(data.X, data.Y)
    assert model.model_.parameters["feature_search"] == "near"
    assert model.predict_topk(data.X_new, 5)[0].shape == (data.X_new.shape[0], 5)


def test_a_long_search_goes_everywhere_where_much_would_be_lost(monkeypatch):
    monkeypatch.setattr(training, "MOST_WORK", 0)
    monkeypatch.setattr(training.reranker, "NEARLY", 1.5)
    assert small_model().fit(problem().X, problem().Y).model_.parameters["feature_search"] == "all"


def test_what_was_asked_for_is_not_chosen(monkeypatch):
    monkeypatch.setattr(training, "MOST_WORK", 0)
    monkeypatch.setattr(training.reranker, "NEARLY", 0.0)
    assert small_model(feature_search="all").fit(problem().X, problem().Y).model_.parameters["feature_search"] == "all"


def test_votes_alone_always_look_everywhere(monkeypatch):
    monkeypatch.setattr(training, "MOST_WORK", 0)
    model, _ = voters()
    assert model.model_.parameters["feature_search"] == "all"


def test_neighbours_may_be_looked_for_elsewhere_after_training():
    model, _ = voters(feature_share=0.5)
    data = problem()
    near, _ = voters(feature_share=0.5, feature_search="near")
    found = model.set_params(feature_search="near").predict_topk(data.X_new, 5)
    np.testing.assert_allclose(found[1], near.predict_topk(data.X_new, 5)[1], atol=1e-6)


def test_nothing_that_was_tried_stays_in_the_model(monkeypatch):
    monkeypatch.setattr(training, "MOST_WORK", 0)
    model = small_model().fit(problem().X, problem().Y).model_
    names = set(vars(copy.deepcopy(model)))
    model.adjusted({"threshold": 0.9})
    assert set(vars(copy.deepcopy(model))) == names == {each.name for each in dataclasses.fields(model) if each.init}

"""How a reranker is decided on: which voters by features it takes, which cost, and rankers by blocks of labels."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from contract import problem
from neartag.linalg.rows import as_rows, column_counts, csr_arrays, normalise
from neartag.rerank import preparation
from neartag.rerank.label_centroids import LabelCentroids
from neartag.rerank.plan import RerankPlan
from neartag.rerank.preparation import (
    MAX_LABELS_PER_TRIED,
    MIN_LABELS_TRIED,
    PAIRS_TRIED,
    RerankOptions,
    choose_tried,
    count_labels_per_tried,
)
from neartag.rerank.rankers import Problems, Rankers, fit_problems, fit_rankers, join_rankers
from neartag.rerank.training import Decision, HeldOutVotes, choose_cost, make_trial
from neartag.x1 import training
from neartag.x1.selection import held_out_rows, retrieve_held_out
from refine_helpers import fitted, small_model


@pytest.fixture(scope="module")
def held():
    """Rows, labels, and the votes on some that are held out, also with voters that are near by embedding."""
    data, model = problem(), fitted().model_
    rows, points = normalise(as_rows(data.X)), held_out_rows(240, 0, to_rerank=True)
    found = retrieve_held_out(model, rows, points, 1)
    nearby = retrieve_held_out(model.with_settings({"feature_search": "near"}), rows, points, 1)
    votes = HeldOutVotes(points, found.embedding_voters, found.feature_voters, nearby.feature_voters)
    return rows, data.Y, votes


def make(rows, Y, votes, options, size=20, threads=1):
    """Return the trial, and whether its voters were nearby, with centroids of the points not held out."""
    kept = np.ones(rows.shape[0], bool)
    kept[votes.points] = False
    centroids = LabelCentroids.from_rows(rows[kept], Y[kept], threads)
    return make_trial(rows, Y, votes, centroids, size, options, threads)


@pytest.mark.parametrize(("min_recall", "wanted"), [(0.5, True), (1.5, False)])
def test_voters_near_by_embedding_are_taken_where_little_is_lost(held, min_recall, wanted):
    options = RerankOptions(cost=1.0, min_weight=0.05, min_recall=min_recall)
    assert make(*held, options)[1] == wanted


def test_without_voters_near_by_embedding_the_others_are_taken(held):
    rows, Y, votes = held
    without = HeldOutVotes(votes.points, votes.embedding_voters, votes.feature_voters)
    assert not make(rows, Y, without, RerankOptions(min_recall=0.0))[1]


def test_labels_that_were_not_held_out_are_counted(held):
    rows, Y, votes = held
    trial, _ = make(*held, RerankOptions())
    kept = np.setdiff1d(np.arange(rows.shape[0]), votes.points)
    assert np.array_equal(trial.frequency, np.asarray(Y[kept].sum(axis=0)).ravel())


@pytest.mark.parametrize("size", [7, 20])
def test_probabilities_are_told_of_every_candidate(held, size):
    rows, Y, votes = held
    trial, _ = make(*held, RerankOptions(), size)
    wrong = csr_matrix(1 - Y.toarray())
    decision = Decision.fit(trial, fit_rankers(rows, Y, wrong, 1.0, 0.05, 1), 1)
    labels, probabilities = decision.held_out.answers(decision.fusion, 1)
    assert labels.shape == probabilities.shape == (len(votes.points), min(3 * size, 30))
    assert ((probabilities >= 0) == (labels >= 0)).all()


def test_the_cost_whose_rankers_fit_better_is_chosen(held):
    rows, Y, _ = held
    trial, _ = make(*held, RerankOptions())
    wrong, tried = csr_matrix(1 - Y.toarray()), np.ones(Y.shape[1], bool)
    good = fit_rankers(rows, Y, wrong, 1.0, 0.05, 1)
    turned = np.roll(np.arange(Y.shape[1]), 1)
    bad = Rankers(csr_matrix(good.weights[turned]), good.bias[turned], good.known)
    assert [choose_cost(trial, tried, each, 1) for each in ([good, bad], [bad, good])] == [0, 1]


def test_where_no_label_was_tried_nothing_is_chosen(held):
    trial, _ = make(*held, RerankOptions())
    assert choose_cost(trial, np.zeros(held[1].shape[1], bool), [], 1) is None


def test_rankers_by_blocks_of_labels_are_those_of_all(held):
    rows, Y, _ = held
    wrong = csr_matrix(1 - Y.toarray())
    whole, problems = fit_rankers(rows, Y, wrong, 1.0, 0.05, 1), Problems.from_labels(rows, Y, wrong)
    bounds = [0, 3, 4, 17, Y.shape[1]]
    blocks = [fit_problems(rows, problems.for_labels(*ends), 1.0, 0.05, 1) for ends in pairwise(bounds)]
    joined = join_rankers(blocks)
    for one, other in zip(csr_arrays(whole.weights), csr_arrays(joined.weights), strict=True):
        assert np.array_equal(one, other)
    assert np.array_equal(whole.bias, joined.bias)


def test_labels_that_are_not_chosen_have_no_ranker(held):
    rows, Y, _ = held
    problems = Problems.from_labels(rows, Y, csr_matrix(1 - Y.toarray()))
    chosen = choose_tried(problems.positives)
    some = fit_problems(rows, problems.for_labels(0, Y.shape[1], chosen), 1.0, 0.05, 1)
    whole = fit_problems(rows, problems, 1.0, 0.05, 1)
    assert np.array_equal(some.known, chosen)
    assert 0 < chosen.sum() < len(chosen)
    assert np.array_equal(some.weights[chosen].toarray(), whole.weights[chosen].toarray())
    assert some.weights[~chosen].nnz == 0


def zipf(labels, pairs):
    """Return how many points have each label, the most frequent first, about so many in all."""
    shares = 1 / np.arange(1, labels + 1)
    return np.maximum(1, (pairs * shares / shares.sum()).astype(np.int64))


@pytest.mark.parametrize("positives", [np.full(4000, 250), zipf(20_000, 980_000), np.full(3, 300_000)])
def test_up_to_a_million_pairs_costs_are_tried_on_every_fourth_label_that_occurs(positives):
    with_gaps = np.zeros(2 * len(positives), np.int64)
    with_gaps[1::2] = positives
    assert with_gaps.sum() <= 1_000_000
    assert np.array_equal(np.flatnonzero(choose_tried(with_gaps)), np.arange(1, len(with_gaps), 8))


@pytest.mark.parametrize(("points_of_each", "step"), [(126, 5), (250, 8), (500, 16), (100_000, 24)])
def test_of_more_pairs_fewer_labels_are_tried_but_one_of_24(points_of_each, step):
    positives = np.full(16_000, points_of_each)
    positives[::2] = 0
    tried = choose_tried(positives)
    assert np.array_equal(np.flatnonzero(tried), np.arange(1, 16_000, 2)[step // 2 :: step])


@pytest.mark.parametrize("pairs", [1_100_000, 3_000_000, 200_000_000])
def test_labels_tried_have_their_share_of_the_pairs_however_uneven_these_are(pairs):
    positives = zipf(300_000, pairs)
    step = count_labels_per_tried(positives)
    assert step == min(-(-positives.sum() // PAIRS_TRIED), MAX_LABELS_PER_TRIED)
    shares = []
    for own in (positives, positives[::-1], np.random.default_rng(0).permutation(positives)):
        tried = choose_tried(own)
        shares.append(own[tried].sum() * step / own.sum())
        assert tried.sum() * step == pytest.approx(len(own), abs=step)
    assert 0.6 < min(shares) <= max(shares) < 1.2
    assert shares[0] == pytest.approx(shares[1]) == pytest.approx(shares[2]), "the order of the labels changes nothing"


@pytest.mark.parametrize("labels", [1, 3, 150, 200, 201, 399, 400, 1000, 3199, 3300])
def test_enough_labels_are_tried_where_few_have_very_many_points(labels):
    tried = choose_tried(np.full(labels, 1_100_000))
    assert min(labels, MIN_LABELS_TRIED) <= tried.sum() <= 2 * MIN_LABELS_TRIED


def test_labels_of_very_many_pairs_that_no_point_has_are_not_tried():
    positives = zipf(5000, 5_000_000)
    positives[::3] = 0
    assert (positives[choose_tried(positives)] > 0).all()


@pytest.mark.parametrize("min_labels_tried", [1, 200])
def test_rankers_that_were_tried_are_those_of_the_cost_chosen(monkeypatch, min_labels_tried):
    """Of very many pairs, on some labels or on all: the model is the one that has this cost by order."""
    monkeypatch.setattr(preparation, "MANY_PAIRS", 0)
    monkeypatch.setattr(preparation, "PAIRS_TRIED", 200)
    monkeypatch.setattr(preparation, "MIN_LABELS_TRIED", min_labels_tried)
    monkeypatch.setattr(training, "MAX_POINTS_TO_REFIT_RANKERS", 0)
    data = problem()
    assert count_labels_per_tried(column_counts(data.Y)) == (1 if min_labels_tried == 200 else 3)
    chosen = small_model().fit(data.X, data.Y)
    ordered = small_model(refine_cost=chosen.model_.settings.rerank.cost).fit(data.X, data.Y)
    for one, other in zip(chosen.predict_topk(data.X, 5), ordered.predict_topk(data.X, 5), strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize(("labels", "points_of_each"), [(4000, 200), (4000, 600), (100, 50_000)])
def test_a_trial_is_as_large_as_the_pairs_that_are_tried(labels, points_of_each):
    counts = np.full(labels, points_of_each)
    tasks = RerankPlan(100_000, 2000, counts, RerankOptions(), 20).prepare()
    sizes = [task.size for task in tasks if task.name.startswith("trial-rankers/0/")]
    assert sum(sizes) == pytest.approx(counts[choose_tried(counts)].sum(), rel=0.01)

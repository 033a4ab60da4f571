"""How a reranker is trained: which voters by features it takes, and that its steps are told."""

from __future__ import annotations

import pytest

from contract import problem
from neartag.linalg.rows import as_rows, normalise
from neartag.rerank.training import N_REPORTED_STEPS, HeldOutVotes, RerankOptions, fit_reranker
from neartag.x1.selection import held_out_rows, retrieve_held_out
from refine_helpers import fitted


@pytest.fixture(scope="module")
def held():
    """Rows, labels, and the votes on some that are held out, also with voters that are near by embedding."""
    data, model = problem(), fitted().model_
    rows, points = normalise(as_rows(data.X)), held_out_rows(240, 0, to_rerank=True)
    found = retrieve_held_out(model, rows, points, 1)
    nearby = retrieve_held_out(model.with_settings({"feature_search": "near"}), rows, points, 1)
    votes = HeldOutVotes(points, found.embedding_voters, found.feature_voters, nearby.feature_voters)
    return rows, data.Y, votes


@pytest.mark.parametrize(("min_recall", "wanted"), [(0.5, True), (1.5, False)])
def test_voters_near_by_embedding_are_taken_where_little_is_lost(held, min_recall, wanted):
    options = RerankOptions(cost=1.0, min_weight=0.05, min_recall=min_recall)
    assert fit_reranker(*held, options, 1).is_nearby == wanted


def test_without_voters_near_by_embedding_the_others_are_taken(held):
    rows, Y, votes = held
    without = HeldOutVotes(votes.points, votes.embedding_voters, votes.feature_voters)
    assert not fit_reranker(rows, Y, without, RerankOptions(min_recall=0.0), 1).is_nearby


@pytest.mark.parametrize(("size", "cost"), [(None, None), (7, 2.0)])
def test_what_was_chosen_and_each_step_are_told(held, size, cost):
    steps = []
    fit = fit_reranker(*held, RerankOptions(size=size, cost=cost), 1, steps.append)
    assert steps == [1] * N_REPORTED_STEPS
    assert fit.size == fit.reranker.size == (size or 20)
    assert fit.cost == cost if cost else fit.cost in (0.5, 1.0)
    labels, probabilities = fit.held_out_answers(1)
    assert labels.shape == probabilities.shape == (len(held[2].points), min(3 * fit.size, 30))
    assert ((probabilities >= 0) == (labels >= 0)).all()

"""How a reranker is trained: which voters by features it takes, and that its steps are told."""

from __future__ import annotations

import numpy as np
import pytest

from contract import problem
from neartag.linalg.rows import as_rows, csr_arrays, normalise
from neartag.rerank.preparation import RerankOptions, prepare_rankers
from neartag.rerank.training import N_REPORTED_STEPS, HeldOutVotes, fit_reranker
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


def fit(rows, Y, votes, options, *others, threads=1, **keywords):
    prepared = prepare_rankers(rows, Y, votes.points, options, threads)
    return fit_reranker(rows, Y, votes, prepared, options, threads, *others, **keywords)


@pytest.mark.parametrize(("min_recall", "wanted"), [(0.5, True), (1.5, False)])
def test_voters_near_by_embedding_are_taken_where_little_is_lost(held, min_recall, wanted):
    options = RerankOptions(cost=1.0, min_weight=0.05, min_recall=min_recall)
    assert fit(*held, options).is_nearby == wanted


def test_without_voters_near_by_embedding_the_others_are_taken(held):
    rows, Y, votes = held
    without = HeldOutVotes(votes.points, votes.embedding_voters, votes.feature_voters)
    assert not fit(rows, Y, without, RerankOptions(min_recall=0.0)).is_nearby


@pytest.mark.parametrize(("size", "cost"), [(None, None), (7, 2.0)])
def test_what_was_chosen_and_each_step_are_told(held, size, cost):
    steps = []
    found = fit(*held, RerankOptions(size=size, cost=cost), steps.append)
    assert steps == [1] * N_REPORTED_STEPS
    assert found.size == found.reranker.size == (size or 20)
    assert found.cost == cost if cost else found.cost in (0.5, 1.0)
    labels, probabilities = found.held_out_answers(1)
    assert labels.shape == probabilities.shape == (len(held[2].points), min(3 * found.size, 30))
    assert ((probabilities >= 0) == (labels >= 0)).all()


def test_side_by_side_gives_the_same_reranker(held):
    options = RerankOptions(min_weight=0.05)
    one, other = fit(*held, options).reranker, fit(*held, options, threads=2, side_by_side=True).reranker
    assert all(
        np.array_equal(*pair)
        for pair in zip(*map(csr_arrays, (one.rankers.weights, other.rankers.weights)), strict=True)
    )
    assert one.rankers.bias.tobytes() == other.rankers.bias.tobytes()
    assert one.fusion.weights.tobytes() == other.fusion.weights.tobytes()


def test_a_reranker_that_is_not_worth_it_is_none(held):
    asked = []
    assert fit(*held, RerankOptions(), lambda steps: None, lambda *answers: bool(asked.append(answers))) is None
    ((labels, probabilities),) = asked
    assert ((probabilities >= 0) == (labels >= 0)).all()

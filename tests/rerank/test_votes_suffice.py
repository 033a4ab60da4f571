"""Of measurements votes may know more than linear rankers: then the model is trained for votes alone."""

from __future__ import annotations

import numpy as np
import pytest

from neartag.data import synthetic
from neartag.search.cells import NPROBE_TO_DECIDE
from neartag.x1 import steps
from neartag.x1.classifier import X1Classifier


def rings(n=1500, seed=0):
    """Return points on rings, in eight directions: who is near knows the ring, and no line does."""
    random = np.random.default_rng(seed)
    ring, turn = random.integers(0, 4, n), random.random(n) * 2 * np.pi
    plane = (1 + ring)[:, None] * np.column_stack([np.cos(turn), np.sin(turn)]) + 0.05 * random.standard_normal((n, 2))
    centres = np.random.default_rng(1).uniform(-4, 4, (60, 2))
    X = np.exp(-((plane[:, None] - centres) ** 2).sum(axis=2))  # (n, 60)
    return X.astype(np.float32), np.eye(4, dtype=np.float32)[ring]


def lines(n=1500, seed=0):
    """Return measurements of which lines tell everything, and most say nothing."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((n, 40)).astype(np.float32)
    return X, (X[:, :6] > 0.8).astype(np.float32)


@pytest.fixture
def votes_are_better(monkeypatch):
    """Let the held-out points say that votes are better; they are asked for the votes first."""
    told = iter([80.0, 79.0])
    monkeypatch.setattr(steps, "mean_precision", lambda labels, Y: next(told))


def test_rankers_are_kept_where_lines_tell_everything():
    model = X1Classifier(n_jobs=1).fit(*lines()).model_
    assert model.reranker is not None


def test_where_votes_are_better_the_model_is_that_of_votes_alone(votes_are_better):
    X, Y = rings()
    found = X1Classifier(n_jobs=1).fit(X, Y)
    assert found.model_.reranker is None
    assert found.model_.settings.rerank.enabled  # it was asked for
    votes = X1Classifier(n_jobs=1, refine=False, vote_search="cells", feature_share=0.0).fit(X, Y)
    for ours, theirs in zip(found.predict_topk(X, 3), votes.predict_topk(X, 3), strict=True):
        assert np.array_equal(ours, theirs)


def test_held_out_answers_are_told_all_the_same(votes_are_better):
    X, Y = rings()
    found = X1Classifier(n_jobs=1).fit(X, Y, held_out=True)
    assert found.model_.reranker is None
    assert len(found.held_out_.labels) >= 100


def test_of_words_nobody_is_asked(monkeypatch):
    def fail(labels, Y):
        raise AssertionError("rankers of words are always kept")

    monkeypatch.setattr(steps, "mean_precision", fail)
    data = synthetic.make(600, 300, 40, 10, 2)
    assert X1Classifier(n_jobs=1).fit(data.X, data.Y).model_.reranker is not None


def test_a_loaded_model_looks_into_as_many_cells(tmp_path):
    from neartag import store

    X, Y = rings(3000)
    model = X1Classifier(n_jobs=1, refine=False, vote_search="cells").fit(X, Y).model_
    store.save(model, tmp_path / "model")
    loaded = store.load(tmp_path / "model").model
    probes = [
        [cluster.cells.nprobe for learner in each.learners for cluster in learner.clusters] for each in (model, loaded)
    ]
    assert probes == [[NPROBE_TO_DECIDE]] * 2

"""What the program chooses on held-out points: that they are held out, that the choice is the best, that all vote."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from neartag.data import synthetic
from neartag.linalg.rows import as_rows, normalise
from neartag.metrics import evaluate
from neartag.x1.classifier import X1Classifier
from neartag.x1.resolve import MAX_HELD_OUT, MIN_HELD_OUT
from neartag.x1.selection import CHOICES, held_out_rows
from neartag.x1.settings import X1Settings
from neartag.x1.training import hold_out
from x1_helpers import fit_joined

SETTINGS = {"n_clusters": 1, "embedding_dim": 8, "svp_neighbours": 20, "n_jobs": 1, "refine": False}


def problem(n=1200, **changes):
    return synthetic.make(n, 300, 60, 15, 2, **changes)


def test_how_many_are_held_out():
    assert len(held_out_rows(10 * MIN_HELD_OUT - 1, 0)) == 0
    assert len(held_out_rows(10 * MIN_HELD_OUT, 0)) == MIN_HELD_OUT
    rows = held_out_rows(10**6, 0)
    assert len(rows) == len(set(rows.tolist())) == MAX_HELD_OUT
    assert (np.diff(rows) > 0).all()
    assert (rows == held_out_rows(10**6, 0)).all()
    assert (rows != held_out_rows(10**6, 1)).any()


@pytest.mark.parametrize("refit", [True, False])
def test_every_point_votes_in_the_end(refit):
    data = problem()
    model = X1Classifier(**SETTINGS).fit(data.X, data.Y).model_ if refit else fit_joined(data.X, data.Y, **SETTINGS)
    (cluster,) = model.learners[0].clusters
    assert sorted(cluster.members.tolist()) == list(range(1200))
    assert cluster.points.shape == (1200, 8)
    # Each point is found by its own features, held out or not.
    rows = normalise(as_rows(data.X))
    held = held_out_rows(1200, 0)
    ids, near, _ = cluster.find(rows[held], "cosine", 1, 1)
    assert (near > 1 - 1e-5).all()
    assert (ids[:, 0] == held).mean() > 0.9, "but for points with equal embeddings"


def test_with_a_fixed_vote_nobody_is_held_out():
    given = {"feature_share": 0.3, "vote_neighbours": 15, "vector_share": 0.0, "vector_weight": 1.0}
    fixed = X1Settings.from_parameters({"refine": False, **given})
    assert not len(hold_out(1200, fixed, return_held_out=False))
    assert len(hold_out(1200, fixed, return_held_out=True))
    for name in (*CHOICES, "vector_share", "vector_weight"):
        assert len(hold_out(1200, fixed.replace(**{name: "auto"}), return_held_out=False))
    data = problem()
    model = X1Classifier(**SETTINGS, feature_share=0.3, vote_neighbours=15).fit(data.X, data.Y).model_
    assert (model.parameters["feature_share"], model.parameters["vote_neighbours"]) == (0.3, 15)


def test_too_few_points_get_what_is_preferred():
    data = problem(200)
    model = X1Classifier(**SETTINGS).fit(data.X, data.Y).model_
    for name, choices in CHOICES.items():
        assert model.settings.value(name) == choices[0]


@pytest.mark.parametrize("fixed", [{}, {"feature_share": 0.4}, {"vote_neighbours": 10}, {"feature_share": 0}])
def test_the_choice_is_the_best_on_the_held_out_points(fixed):
    data = problem()
    model = fit_joined(data.X, data.Y, **SETTINGS, **fixed)  # the learners stay those that were tried
    held = held_out_rows(1200, 0)
    rest = np.setdiff1d(np.arange(1200), held)
    # Trained on the others alone: the same embedding, for one cluster holds the others in the same order.
    chosen = {name: fixed.get(name, model.settings.value(name)) for name in CHOICES}
    scores = {}
    for count in CHOICES["vote_neighbours"] if "vote_neighbours" not in fixed else [fixed["vote_neighbours"]]:
        for share in CHOICES["feature_share"] if "feature_share" not in fixed else [fixed["feature_share"]]:
            trial = X1Classifier(**SETTINGS, vote_neighbours=count, feature_share=share).fit(data.X[rest], data.Y[rest])
            measured = evaluate(trial.predict_topk(data.X[held], 5)[0], data.Y[held])
            scores[count, share] = np.mean([measured[f"P@{k}"] for k in (1, 3, 5)])
    assert scores[chosen["vote_neighbours"], chosen["feature_share"]] >= max(scores.values()) - 0.3


def test_where_features_say_nothing_they_get_no_vote():
    data = problem()
    noise = np.random.default_rng(0)
    # One feature a label, and hundreds of random ones that all points share about equally.
    X = csr_matrix(np.hstack([data.Y.toarray() * 0.3, noise.random((1200, 300))]).astype(np.float32))
    model = X1Classifier(n_clusters=1, embedding_dim=40, l2=0.1, n_jobs=1, refine=False).fit(X, data.Y).model_
    assert model.parameters["feature_share"] < 0.2
    assert (model.index is None) == (model.parameters["feature_share"] == 0)


def test_the_same_seed_makes_the_same_choice():
    data = problem()
    one, other = (X1Classifier(**SETTINGS).fit(data.X, data.Y).model_ for _ in range(2))
    assert one.settings == other.settings
    assert (one.learners[0].clusters[0].points == other.learners[0].clusters[0].points).all()

"""Which of a cluster's points teach its embedding, and that all of them are embedded."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from contract import problem
from neartag.linalg.rows import as_rows, normalise
from neartag.x1 import cluster_training
from neartag.x1.cluster_training import count_taught, train_cluster
from neartag.x1.embedding import embed
from neartag.x1.settings import X1Settings

SETTINGS = {"embedding_dim": 6, "svp_neighbours": 10, "svp_max_iter": 3, "l2": 1.0, "n_learners": 1, "n_clusters": 1}


@pytest.mark.parametrize(
    ("n", "refine", "wanted"), [(90, True, 90), (150, True, 100), (240, True, 120), (240, False, 240)]
)
def test_half_of_the_points_teach_where_a_reranker_decides(n, refine, wanted, monkeypatch):
    monkeypatch.setattr(cluster_training, "MIN_TAUGHT_RERANKED", 100)
    rows = csr_matrix(np.eye(n, 300, dtype=np.float32))
    settings = X1Settings.from_parameters({**SETTINGS, "refine": refine})
    assert count_taught(rows, settings) == wanted
    assert count_taught(np.ones((n, 3), np.float32), settings) == n  # measurements
    assert count_taught(rows, settings.replace(l2=0.0)) == n  # words that none of the half has would have any weight


def test_the_points_that_do_not_teach_are_embedded_as_new_ones_would_be(monkeypatch):
    data = problem()
    rows, everybody = normalise(as_rows(data.X)), np.arange(240)
    settings = X1Settings.from_parameters(SETTINGS)
    whole = train_cluster(rows, data.Y, everybody, settings, 0, 1)
    monkeypatch.setattr(cluster_training, "MIN_TAUGHT_RERANKED", 100)
    half = train_cluster(rows, data.Y, everybody, settings, 0, 1)
    assert half.members.tolist() == whole.members.tolist() == everybody.tolist()
    assert not np.array_equal(half.weights, whole.weights)
    features = np.arange(rows.shape[1]) if half.features is None else half.features
    wanted = normalise(embed(rows[:, features], half.weights, half.zero_below, 1))
    np.testing.assert_allclose(half.points, wanted, atol=1e-6)
    some = np.sort(np.random.default_rng(0).choice(240, 120, replace=False))
    alone = train_cluster(rows[some], data.Y[some], some, settings.replace(refine=False), 0, 1)
    taught = np.isin(features, np.arange(rows.shape[1]) if alone.features is None else alone.features)
    np.testing.assert_allclose(half.weights[taught], alone.weights, atol=1e-5)
    assert not half.weights[~taught].any()

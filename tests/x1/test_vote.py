"""The vote against a plain loop, to the last bit."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from neartag.core.errors import ParameterError
from neartag.core.threads import single_threaded_blas
from neartag.search.exact import nearest
from neartag.search.weights import voter_weights
from neartag.x1 import vote as module
from neartag.x1.vote import vote


@pytest.fixture(autouse=True, scope="module")
def held():
    """Hold BLAS to one thread, as all callers do."""
    with single_threaded_blas():
        yield


def unit(n, dim=5, seed=0):
    rows = np.random.default_rng(seed).standard_normal((n, dim)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


# ---- who is near


@pytest.mark.parametrize("count", [1, 4, 60, 75])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("m", [1, 33])
def test_nearest_is_a_sorted_table_of_cosines(count, threads, m, monkeypatch):
    monkeypatch.setattr(module, "QUERIES", 10)
    monkeypatch.setattr(module, "POINTS", 17)
    points, queries = unit(60, seed=1), unit(m, seed=2)
    ids, cosines = nearest(queries, points, count, threads)
    assert ids.shape == cosines.shape == (m, count)
    table = queries.astype(np.float64) @ points.T
    for row in range(m):
        order = np.argsort(-table[row], kind="stable")[:count]
        assert ids[row].tolist() == [*order, *[-1] * (count - len(order))]
        np.testing.assert_allclose(cosines[row, : len(order)], table[row, order], atol=1e-6)
        assert (cosines[row, len(order) :] == -np.inf).all()


def test_of_equal_points_the_first_is_nearest():
    points = np.repeat(np.eye(3, dtype=np.float32), 4, axis=0)
    ids, cosines = nearest(np.eye(3, dtype=np.float32)[[1]], points, 5)
    assert ids.tolist() == [[4, 5, 6, 7, 0]]
    assert cosines.tolist() == [[1, 1, 1, 1, 0]]


def test_no_queries():
    ids, cosines = nearest(unit(0), unit(9), 3)
    assert ids.shape == cosines.shape == (0, 3)


# ---- what a voter counts for

INF = float("-inf")


def test_uniform_weights_by_hand():
    cosines = np.array([[0.9, 0.1, -0.5, INF], [0.3, INF, INF, INF], [INF] * 4], np.float32)
    third = 1 / 3
    assert voter_weights(cosines, "uniform").tolist() == [[third, third, third, 0], [1, 0, 0, 0], [0, 0, 0, 0]]


@pytest.mark.parametrize("sharpness", [0.0, 1.0, 10.0, 37.5])
def test_similarity_weights_by_a_loop(sharpness):
    cosines = np.array([[0.9, 0.1, -0.5, INF], [0.3, INF, INF, INF], [INF] * 4], np.float32)
    found = voter_weights(cosines, "similarity", sharpness)
    assert found.dtype == np.float64
    for row, shares in zip(cosines, found, strict=True):
        raw = [math.exp(sharpness * (float(value) - 1)) if value > INF else 0.0 for value in row]
        np.testing.assert_allclose(shares, [value / (sum(raw) or 1) for value in raw], rtol=1e-12)


def test_a_missing_voter_has_no_share_and_the_others_sum_to_one():
    cosines = np.array([[0.5, 0.4, INF], [1.0, 0.2, -1.0]], np.float32)
    for kind in ("similarity", "uniform"):
        shares = voter_weights(cosines, kind)
        assert shares[0, 2] == 0
        np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-12)


@pytest.mark.parametrize("sharpness", [1e3, 1e5, 1e9, 1e300])
@pytest.mark.parametrize("best", [1.0000001, 0.9, 0.1, -0.4])
def test_however_sharp_the_nearest_keeps_its_vote(sharpness, best):
    # exp(1000 · (0.1 − 1)) is zero in float64: shares are ratios, and must not be lost with it.
    shares = voter_weights(np.array([[best, best - 0.3, INF]], np.float32), "similarity", sharpness)
    np.testing.assert_allclose(shares, [[1, 0, 0]], atol=1e-12)


@pytest.mark.parametrize("kind", ["rank", None])
def test_a_weight_that_is_not_known_is_refused(kind):
    with pytest.raises(ParameterError, match=f"vote_weight.*{kind!r}"):
        voter_weights(np.zeros((1, 1), np.float32), kind)


# ---- the labels


def loop_vote(Y, voters, weights, frequency, k):
    """Return labels and scores of one point by the obvious loop."""
    score = {}
    for voter, weight in zip(voters.tolist(), weights.tolist(), strict=True):
        if voter >= 0 and weight > 0:
            for label in Y.indices[Y.indptr[voter] : Y.indptr[voter + 1]].tolist():
                score[label] = score.get(label, 0.0) + weight
    best = sorted(score, key=lambda label: (-score[label], -frequency[label], label))[:k]
    missing = k - len(best)
    return best + [-1] * missing, [score[label] for label in best] + [0.0] * missing


@given(
    m=st.integers(1, 9),
    n=st.integers(1, 12),
    n_labels=st.integers(1, 8),
    count=st.integers(1, 7),
    k=st.integers(1, 10),
    kind=st.sampled_from(["uniform", "similarity"]),
    threads=st.sampled_from([1, 2]),
    seed=st.integers(0, 10_000),
)
@settings(max_examples=150)
def test_vote_is_the_loop_to_the_last_bit(m, n, n_labels, count, k, kind, threads, seed):
    random = np.random.default_rng(seed)
    Y = csr_matrix((random.random((n, n_labels)) < 0.4).astype(np.float32))
    frequency = np.bincount(Y.indices, minlength=n_labels)
    ids, cosines = nearest(unit(m, 3, seed), unit(n, 3, seed + 1), count, threads)
    weights = voter_weights(cosines, kind)
    labels, scores = vote(Y, ids, weights, frequency, k, threads)
    assert labels.dtype == np.int32
    assert scores.dtype == np.float64
    for row in range(m):
        assert (labels[row].tolist(), scores[row].tolist()) == loop_vote(Y, ids[row], weights[row], frequency, k)


def test_ties_go_to_the_more_frequent_label_then_to_the_lower_id():
    # One voter with labels 0 to 3, which 1, 5, 5 and 2 points have.
    Y = csr_matrix(np.ones((1, 4), np.float32))
    labels, scores = vote(Y, np.array([[0]], np.int32), np.array([[1.0]]), np.array([1, 5, 5, 2]), 4)
    assert labels.tolist() == [[1, 2, 3, 0]]
    assert scores.tolist() == [[1, 1, 1, 1]]


def test_by_hand():
    Y = csr_matrix(np.array([[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]], np.float32))
    voters = np.array([[0, 1, 2], [3, -1, -1], [2, 2, 3]], np.int32)
    weights = np.array([[0.5, 0.25, 0.25], [1, 0, 0], [0.25, 0.25, 0.5]])
    labels, scores = vote(Y, voters, weights, np.array([2, 1, 1, 0]), 3)
    assert labels.tolist() == [[0, 1, 2], [-1, -1, -1], [2, -1, -1]]
    assert scores.tolist() == [[0.75, 0.25, 0.25], [0, 0, 0], [0.5, 0, 0]]

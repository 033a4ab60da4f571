"""The vote against a plain loop, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from neartag.core.threads import single_threaded_blas
from neartag.linalg.rows import csr_arrays
from neartag.search.exact import nearest
from neartag.search.weights import voter_weights
from neartag.x1.vote import vote


@pytest.fixture(autouse=True, scope="module")
def held():
    """Hold BLAS to one thread, as all callers do."""
    with single_threaded_blas():
        yield


def unit(n, dim=5, seed=0):
    rows = np.random.default_rng(seed).standard_normal((n, dim)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


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
    labels, scores = vote(csr_arrays(Y), (ids, weights), frequency, k, threads)
    assert labels.dtype == np.int32
    assert scores.dtype == np.float64
    for row in range(m):
        assert (labels[row].tolist(), scores[row].tolist()) == loop_vote(Y, ids[row], weights[row], frequency, k)
    allowed = random.random(n_labels) < 0.5
    some = vote(csr_arrays(Y), (ids, weights), frequency, k, threads, allowed)
    without = csr_matrix(Y.multiply(allowed[None, :]))
    without.eliminate_zeros()
    for row in range(m):
        wanted = loop_vote(without, ids[row], weights[row], frequency, k)
        assert tuple(each[row].tolist() for each in some) == wanted


def test_ties_go_to_the_more_frequent_label_then_to_the_lower_id():
    # One voter with labels 0 to 3, which 1, 5, 5 and 2 points have.
    Y = csr_matrix(np.ones((1, 4), np.float32))
    labels, scores = vote(csr_arrays(Y), (np.array([[0]], np.int32), np.array([[1.0]])), np.array([1, 5, 5, 2]), 4)
    assert labels.tolist() == [[1, 2, 3, 0]]
    assert scores.tolist() == [[1, 1, 1, 1]]


def test_by_hand():
    Y = csr_matrix(np.array([[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]], np.float32))
    voters = np.array([[0, 1, 2], [3, -1, -1], [2, 2, 3]], np.int32)
    weights = np.array([[0.5, 0.25, 0.25], [1, 0, 0], [0.25, 0.25, 0.5]])
    labels, scores = vote(csr_arrays(Y), (voters, weights), np.array([2, 1, 1, 0]), 3)
    assert labels.tolist() == [[0, 1, 2], [-1, -1, -1], [2, -1, -1]]
    assert scores.tolist() == [[0.75, 0.25, 0.25], [0, 0, 0], [0.5, 0, 0]]

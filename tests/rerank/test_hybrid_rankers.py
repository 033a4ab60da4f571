"""Rankers, centroids and candidates of words with vectors beside them, against plain dense lines."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from hybrid_helpers import hybrid_problem
from kernel_helpers import random_csr
from neartag.linalg.hybrid_rows import HybridRows
from neartag.linalg.rows import csr_arrays, normalise
from neartag.rerank.candidates import generate
from neartag.rerank.label_centroids import LabelCentroids
from neartag.rerank.rankers import Problems, fit_problems, fit_rankers
from neartag.search.weights import no_voters, voter_weights
from refine_helpers import in_plain_python

EXACT = {"tolerance": 1e-10, "max_rounds": 100_000}


def made(seed=0, n=50, d=12, e=6, n_labels=6, weight=0.7):
    random = np.random.default_rng(seed)
    X = HybridRows(random_csr(random, n, d), random.standard_normal((n, e)).astype(np.float32), weight)
    Y = csr_matrix((random.random((n, n_labels)) < 0.3).astype(np.float32))
    wrong = csr_matrix(((random.random((n, n_labels)) < 0.5) & (Y.toarray() == 0)).astype(np.float32))
    return normalise(X), Y, wrong


@pytest.mark.parametrize("seed", range(2))
def test_the_gradient_is_zero_at_the_end(seed):
    X, Y, wrong = made(seed)
    found = fit_rankers(X, Y, wrong, 1.0, 1e-9, 1, **EXACT)
    whole = X.toarray().astype(np.float64)
    assert found.vectors is not None
    dense = found.vectors.decode()
    for label in range(6):
        signs = Y.toarray()[:, label] - wrong.toarray()[:, label]
        both = np.concatenate([found.weights[label].toarray()[0], dense[label]])
        loss = np.maximum(0, 1 - signs * (whole @ both + found.bias[label])) * (signs != 0)
        largest = np.abs(dense[label]).max()  # coded: within half a step
        np.testing.assert_allclose(both, whole.T @ (2 * loss * signs), atol=0.1 * largest)


def test_descent_is_that_of_both_in_one_matrix():
    X, Y, wrong = made(3)
    hybrid = fit_rankers(X, Y, wrong, 1.0, 0.0, 1, **EXACT)
    glued = fit_rankers(csr_matrix(X.toarray()), Y, wrong, 1.0, 0.0, 1, **EXACT)
    labels = np.tile(np.arange(-1, 6, dtype=np.int32), (50, 1))
    scale = np.abs(glued.margins(csr_matrix(X.toarray()), labels, 1)).max()
    expected = glued.margins(csr_matrix(X.toarray()), labels, 1)
    np.testing.assert_allclose(hybrid.margins(X, labels, 1), expected, atol=0.01 * scale)


def test_without_vectors_the_words_decide_as_alone():
    X, Y, wrong = made(4)
    empty = HybridRows(X.words, np.zeros((50, 6), np.float32))
    hybrid, words = (fit_rankers(rows, Y, wrong, 1.0, 0.05, 1) for rows in (empty, X.words))
    assert (hybrid.weights != words.weights).nnz == 0
    assert np.array_equal(hybrid.bias, words.bias)
    labels = np.tile(np.arange(6, dtype=np.int32), (50, 1))
    assert np.array_equal(hybrid.margins(empty, labels, 1), words.margins(X.words, labels, 1))


def test_rows_whose_words_are_copied_give_the_same_bits():
    X, Y, wrong = made(6)
    problems = Problems.from_labels(X, Y, wrong)
    whole, copied = (fit_problems(X, problems, 1.0, 0.05, 1, min_scattered=least) for least in (1000, 1))
    assert np.array_equal(whole.weights.toarray(), copied.weights.toarray())
    assert np.array_equal(whole.bias, copied.bias)
    assert whole.vectors is not None
    assert copied.vectors is not None
    assert np.array_equal(whole.vectors.codes, copied.vectors.codes)


def test_the_kernel_is_what_it_is_in_plain_python(monkeypatch):
    X, Y, wrong = made(5, n=30)
    compiled = fit_rankers(X, Y, wrong, 1.0, 0.0, 1)
    in_plain_python(monkeypatch)
    plain = fit_rankers(X, Y, wrong, 1.0, 0.0, 1)
    np.testing.assert_allclose(plain.weights.toarray(), compiled.weights.toarray(), atol=1e-3)
    assert plain.vectors is not None
    assert compiled.vectors is not None
    np.testing.assert_allclose(plain.vectors.decode(), compiled.vectors.decode(), atol=1e-2)


@pytest.mark.parametrize("threads", [1, 3])
def test_candidates_come_from_vectors_too(threads):
    X, Y = hybrid_problem(120)
    centroids = LabelCentroids.from_rows(X, Y, 1)
    cosines = X.vectors @ X.vectors.T
    np.fill_diagonal(cosines, -np.inf)
    ids = np.argsort(-cosines, axis=1)[:, :5].astype(np.int32)
    voters = ids, voter_weights(np.take_along_axis(cosines, ids, axis=1), "similarity", 10.0)
    nobody = no_voters(120)
    found = generate(X, csr_arrays(Y), nobody, nobody, centroids, 4, threads, vector_voters=voters)
    assert found.evidence.shape == (120, 20, 5)
    votes = np.zeros((120, 24))
    for i in range(120):
        votes[i] = voters[1][i] @ Y[ids[i]].toarray()
    means = normalise(np.asarray(Y.T @ X.vectors, np.float32))
    similar = X.vectors @ means.T  # (n, L)
    for i in range(3, 120):
        own = found.labels[i][found.labels[i] >= 0]
        assert len(set(own)) == len(own)
        assert set(np.argsort(-votes[i])[:1]) <= set(own)
        assert set(np.argsort(-similar[i])[:3]) <= set(own)
        filled = found.labels[i] >= 0
        np.testing.assert_allclose(found.evidence[i, filled, 3], votes[i, own], atol=1e-5)
        np.testing.assert_allclose(found.evidence[i, filled, 4], similar[i, own], atol=0.01)


def test_centroids_of_words_do_not_change_by_vectors():
    X, Y = hybrid_problem(120)
    both, words = LabelCentroids.from_rows(X, Y, 1), LabelCentroids.from_rows(X.words, Y, 1)
    assert (both.postings != words.postings).nnz == 0
    assert np.array_equal(both.lengths, words.lengths)
    assert words.vectors is None
    wider = both.widen(30)
    assert wider.vectors is not None
    assert len(wider.vectors.rows) == 30

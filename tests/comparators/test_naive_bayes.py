"""Naive Bayes in sparse tables: the textbook's dense computation, scikit-learn's, and scores of some labels only."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse import csr_matrix
from sklearn.naive_bayes import MultinomialNB

from contract import problem
from neartag.comparators.lpsr.label_scorer import mass
from neartag.comparators.lpsr.naive_bayes import fit_naive_bayes
from neartag.core.errors import ParameterError

SMOOTHING = 0.3


def textbook(X, Y, X_new, smoothing):
    """Return the log odds of each label (m, labels), by the definition."""
    X, Y, X_new = (matrix.toarray().astype(np.float64) for matrix in (X, Y, X_new))
    odds = np.empty((len(X_new), Y.shape[1]))
    for label in range(Y.shape[1]):
        has = Y[:, label] > 0
        theta, other = (X[rows].sum(axis=0) + smoothing for rows in (has, ~has))
        ratio = np.log(theta / theta.sum()) - np.log(other / other.sum())
        odds[:, label] = np.log(max(has.sum(), 0.5) / max((~has).sum(), 0.5)) + X_new @ ratio
    return odds


@pytest.mark.parametrize("dense", [False, True])
def test_scores_are_the_textbooks(dense):
    data = problem()
    rows, new = (matrix.toarray() if dense else matrix for matrix in (data.X, data.X_new))
    found = fit_naive_bayes(rows, data.Y, SMOOTHING).of_labels(new, np.arange(30))
    assert np.abs(found - textbook(data.X, data.Y, data.X_new, SMOOTHING)).max() < 1e-3


def test_scores_are_those_of_scikit_learn_one_label_at_a_time():
    data = problem()
    found = fit_naive_bayes(data.X, data.Y, SMOOTHING).of_labels(data.X_new, np.arange(30))
    for label in range(29):
        other = MultinomialNB(alpha=SMOOTHING).fit(data.X, data.Y[:, [label]].toarray().ravel())
        joint = other.predict_joint_log_proba(data.X_new)  # (80, 2)
        assert np.abs(found[:, label] - (joint[:, 1] - joint[:, 0])).max() < 1e-3, f"label {label}"


def test_the_table_has_only_what_occurs_together():
    data = problem()
    table = fit_naive_bayes(data.X, data.Y, SMOOTHING).table
    together = (data.Y.T @ data.X).toarray() > 0
    assert np.array_equal(table.toarray() != 0, together)
    assert table.nnz < 0.9 * np.prod(table.shape)


def test_a_label_that_all_or_none_have_is_finite():
    data = problem()
    Y = sparse.hstack([np.ones((240, 1)), data.Y[:, [29]]], format="csr", dtype=np.float32)
    found = fit_naive_bayes(data.X, csr_matrix(Y), SMOOTHING).of_labels(data.X_new, np.arange(2))
    assert np.isfinite(found).all()
    assert np.abs(found - textbook(data.X, Y, data.X_new, SMOOTHING)).max() < 1e-3


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("dense", [False, True])
def test_scores_of_some_labels_are_those_among_all(threads, dense):
    data = problem()
    scorer = fit_naive_bayes(data.X, data.Y, SMOOTHING)
    pattern = sparse.random(80, 30, 0.3, "csr", np.float32, np.random.default_rng(0))
    pattern.sort_indices()
    new = data.X_new.toarray() if dense else data.X_new
    found = scorer.of_pattern(new, pattern, threads)
    every = textbook(data.X, data.Y, data.X_new, SMOOTHING)
    rows = np.repeat(np.arange(80), np.diff(pattern.indptr))
    assert np.abs(found - every[rows, pattern.indices]).max() < 1e-3


def test_mass_is_the_sum_of_a_rows_features():
    X = problem().X
    assert np.allclose(mass(X), X.toarray().sum(axis=1))
    assert np.allclose(mass(X.toarray()), X.toarray().sum(axis=1))


def test_features_below_zero_are_refused():
    data = problem()
    with pytest.raises(ParameterError, match="naive_bayes needs features of at least 0"):
        fit_naive_bayes(-data.X, data.Y, SMOOTHING)

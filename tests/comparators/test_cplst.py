"""CPLST: the contract, and the textbook's dense matrices."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from contract import (
    ClassifierContract,
    VariantContract,
    assert_refused_when_damaged,
    assert_the_same_when_loaded,
    problem,
)
from neartag.comparators.cplst.classifier import (
    CPLSTClassifier,
    centred_products,
    conditional_directions,
    leading_eigenvectors,
    ridge_factor,
)
from neartag.comparators.shared.base import Shape
from neartag.comparators.shared.scores import to_unit_interval
from neartag.core.errors import ParameterError


class TestContract(ClassifierContract):
    def make_model(self, **changes):
        return CPLSTClassifier(**{"n_jobs": 1, **changes})


class TestContractWithFewDirections(VariantContract):
    def make_model(self, **changes):
        return CPLSTClassifier(**{"dim": 8, "l2": 100.0, "bias": 0.0, "row_scale": "raw", "n_jobs": 1, **changes})


def random_problem(d, labels=9, n=70, seed=0):
    """Return features (n, d), dense as an array, and labels (n, labels), all of which occur."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)).astype(np.float32)
    Y = (X[:, :1] * rng.standard_normal(labels) + rng.standard_normal((n, labels)) > 0.8).astype(np.float32)
    return X, Y


def textbook(X, Y, l2, count):
    """Return W, V and the eigenvalues with every matrix of the paper written out, (n, n) ones too."""
    X = X.astype(np.float64)
    Z = Y.astype(np.float64) - Y.mean(axis=0, dtype=np.float64)
    inverse = np.linalg.inv(X.T @ X + l2 * np.eye(X.shape[1]))
    H = X @ inverse @ X.T
    values, vectors = np.linalg.eigh(Z.T @ H @ Z)
    V = vectors[:, ::-1][:, :count]
    return inverse @ X.T @ (Z @ V), V, values[::-1][:count]


@pytest.mark.parametrize("form", [np.asarray, csr_matrix])
def test_products_of_features_and_centred_labels(form):
    X, Y = random_problem(12)
    found = centred_products(form(X), csr_matrix(Y))
    assert found.dtype == np.float64
    assert np.abs(found - X.T.astype(np.float64) @ (Y - Y.mean(axis=0, dtype=np.float64))).max() < 1e-12


@pytest.mark.parametrize("form", [np.asarray, csr_matrix])
def test_the_factor_is_that_of_the_penalised_products(form):
    X, _ = random_problem(12)
    R = np.tril(ridge_factor(form(X), 0.7))
    assert np.abs(R @ R.T - (X.T.astype(np.float64) @ X + 0.7 * np.eye(12))).max() < 1e-10


def test_without_a_penalty_a_feature_that_never_occurs_does_no_harm():
    X, _ = random_problem(12)
    X[:, 3] = 0
    R = np.tril(ridge_factor(X, 0.0))
    assert np.isfinite(R).all()
    assert R[3, 3] > 0


@pytest.mark.parametrize("d", [5, 30], ids=["fewer features than labels", "more features than labels"])
@pytest.mark.parametrize("count", [1, 3, 5])
def test_directions_and_regressors_are_the_textbooks(d, count):
    X, Y = random_problem(d)
    W, V, _ = textbook(X, Y, 0.7, count)
    found_W, found_V = conditional_directions(ridge_factor(X, 0.7), centred_products(X, csr_matrix(Y)), count)
    assert np.abs(found_V.T @ found_V - np.eye(count)).max() < 1e-10
    # An eigenvector's sign is free; the space that they span is not, nor is what they predict.
    assert np.abs(found_V @ found_V.T - V @ V.T).max() < 1e-9
    assert np.abs(found_W @ found_V.T - W @ V.T).max() < 1e-9


def test_directions_that_nothing_predicts_are_left_out():
    X, Y = random_problem(4)
    W, V = conditional_directions(ridge_factor(X, 0.7), centred_products(X, csr_matrix(Y)), 9)
    assert W.shape == (4, 4)  # four features predict four directions at most
    assert V.shape == (9, 4)


def test_leading_eigenvectors_come_first_and_one_at_least():
    square = np.diag([1.0, 5.0, 0.0, 3.0])
    values, vectors = leading_eigenvectors(square.copy(), 4)
    assert np.allclose(values, [5, 3, 1])
    assert np.allclose(square @ vectors, vectors * values)
    assert np.allclose(leading_eigenvectors(square.copy(), 2)[0], [5, 3])
    assert leading_eigenvectors(np.zeros((3, 3)), 2)[1].shape == (3, 1)


@pytest.mark.parametrize("d", [6, 30])
def test_with_all_directions_it_is_ridge_regression_of_centred_labels(d):
    X, Y = random_problem(d)
    model = CPLSTClassifier(dim=9, l2=0.4, bias=0.0, row_scale="raw", n_jobs=1).fit(X, Y)
    mean = Y.mean(axis=0)
    weights = np.linalg.solve(X.T.astype(np.float64) @ X + 0.4 * np.eye(d), X.T @ (Y - mean))
    wanted = to_unit_interval(X @ weights + mean, 0.5)
    assert np.abs(model.decision_function(X).toarray() - wanted).max() < 1e-5


def test_scores_are_the_textbooks():
    X, Y = random_problem(30)
    model = CPLSTClassifier(dim=4, l2=0.4, bias=0.0, row_scale="raw", n_jobs=1).fit(X, Y)
    W, V, _ = textbook(X, Y, 0.4, 4)
    wanted = to_unit_interval(X @ W @ V.T + Y.mean(axis=0), 0.5)
    assert np.abs(model.decision_function(X).toarray() - wanted).max() < 1e-5


def test_the_first_directions_explain_most_and_more_explain_more():
    X, Y = random_problem(30)
    _, _, values = textbook(X, Y, 0.4, 9)
    Z = Y - Y.mean(axis=0)
    ridge = X @ np.linalg.solve(X.T @ X + 0.4 * np.eye(30), X.T @ Z)  # H Z
    for count in (1, 4, 9):
        _, V = conditional_directions(ridge_factor(X, 0.4), centred_products(X, csr_matrix(Y)), count)
        assert np.trace(V.T @ Z.T @ ridge @ V) == pytest.approx(values[:count].sum(), rel=1e-4)


def test_the_same_bytes_whatever_the_number_of_jobs():
    rng = np.random.default_rng(1)
    X = csr_matrix(rng.random((300, 700)) * (rng.random((300, 700)) < 0.05))  # wide enough for several pieces
    Y = csr_matrix((rng.random((300, 400)) < 0.02).astype(np.float32))
    first, second = (CPLSTClassifier(n_jobs=jobs).fit(X, Y).model_ for jobs in (1, 2))
    assert first.weights.tobytes() == second.weights.tobytes()
    assert first.directions.tobytes() == second.directions.tobytes()


def test_saved_and_loaded_it_predicts_the_same_and_damage_is_refused(tmp_path):
    data = problem()
    classifier = CPLSTClassifier(n_jobs=1).fit(data.X, data.Y)
    assert_the_same_when_loaded(classifier, tmp_path / "model")
    for name, damaged in (
        ("weights", classifier.model_.weights[:, 1:]),
        ("weights", classifier.model_.weights.astype(np.float64)),
        ("directions", classifier.model_.directions[:, 1:]),
        ("directions", classifier.model_.directions[0]),
    ):
        assert_refused_when_damaged(classifier.model_, tmp_path / "damaged", **{name: damaged})


def test_too_little_memory_is_said_before_any_work():
    data = problem()
    with pytest.raises(ParameterError, match="memory"):
        CPLSTClassifier(max_memory="1MB").fit(data.X, data.Y)


def test_tens_of_thousands_of_features_and_labels_need_tens_of_gigabytes():
    settings = CPLSTClassifier().get_params()
    need = CPLSTClassifier()._memory(Shape(99_003, 26_143, 23_969, 973_504, 635_160), settings, 1)
    assert need > 8 * (26_143**2 + 26_143 * 23_969 + 23_969**2)

"""ML-CSSP: the contract, and numpy's dense singular vectors and pseudo-inverse."""

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
from neartag.comparators.ml_cssp.classifier import MLCSSPClassifier, draw, leverages, lift_from
from neartag.comparators.shared.base import Shape
from neartag.comparators.shared.scores import to_unit_interval
from neartag.core.errors import ParameterError


class TestContract(ClassifierContract):
    def make_model(self, **changes):
        return MLCSSPClassifier(**{"n_jobs": 1, **changes})


class TestContractWithFewColumns(VariantContract):
    def make_model(self, **changes):
        options = {"columns": 0.6, "l2": 100.0, "bias": 0.0, "row_scale": "raw", "n_jobs": 1}
        return MLCSSPClassifier(**{**options, **changes})


@pytest.fixture(scope="module")
def labels():
    rng = np.random.default_rng(0)
    return (rng.random((80, 14)) < rng.uniform(0.05, 0.5, 14)).astype(np.float32)


@pytest.mark.parametrize("k", [1, 5, 14])
@pytest.mark.parametrize("most_dense", [0, 4096], ids=["Lanczos", "dense"])
def test_leverages_are_those_of_the_leading_singular_vectors(labels, k, most_dense):
    found = leverages(csr_matrix(labels), k, 0, most_dense)
    _, _, right = np.linalg.svd(labels.astype(np.float64))
    assert np.abs(found - (right[:k] ** 2).sum(axis=0)).max() < 1e-8
    assert found.sum() == pytest.approx(k)


def test_leverages_sum_to_the_rank_where_that_is_less():
    Y = np.repeat(np.eye(3, dtype=np.float32), 4, axis=1)  # twelve labels that are three
    found = leverages(csr_matrix(Y), 7, 0)
    assert np.allclose(found, 3 / 12)


def test_leverages_without_labels_are_zeros():
    assert np.array_equal(leverages(csr_matrix((5, 4), dtype=np.float32), 2, 0), np.zeros(4))


def test_drawn_labels_are_distinct_and_as_many_as_asked_for():
    weights = np.array([0.5, 0.0, 0.2, 0.3, 0.0, 1e-9])
    for count in range(1, 7):
        chosen = draw(weights, count, 3)
        assert chosen.dtype == np.int32
        assert len(chosen) == count
        assert (np.diff(chosen) > 0).all()
    assert {1, 4}.isdisjoint(draw(weights, 4, 3)), "what weighs nothing comes last"


def test_labels_are_drawn_as_if_one_after_the_other():
    weights = np.array([4.0, 2.0, 1.0])
    pairs = [tuple(draw(weights, 2, seed)) for seed in range(4000)]
    # The pair without the last: first then second, or second then first.
    wanted = 4 / 7 * 2 / 3 + 2 / 7 * 4 / 5
    assert pairs.count((0, 1)) / 4000 == pytest.approx(wanted, abs=0.03)


@pytest.mark.parametrize("count", [1, 5, 14])
def test_the_lift_is_the_pseudo_inverse_times_the_labels(labels, count):
    chosen = draw(np.ones(14), count, 1)
    wanted = np.linalg.pinv(labels[:, chosen].astype(np.float64)) @ labels
    assert np.abs(lift_from(csr_matrix(labels), chosen) - wanted).max() < 1e-9


def test_the_lift_of_labels_that_always_go_together_shares_between_them(labels):
    Y = np.hstack([labels, labels[:, :3]])
    chosen = np.array([0, 1, 2, 5, 14, 15], np.int32)
    wanted = np.linalg.pinv(Y[:, chosen].astype(np.float64)) @ Y
    assert np.abs(lift_from(csr_matrix(Y), chosen) - wanted).max() < 1e-9
    assert np.allclose(wanted[[0, 4], 0], 0.5)


def test_with_all_columns_it_is_ridge_regression_of_the_labels():
    data = problem()
    X, Y = data.X.toarray(), data.Y.toarray()[:, :29]
    model = MLCSSPClassifier(columns=29, l2=2.0, bias=0.0, row_scale="raw", n_jobs=1).fit(X, Y)
    weights = np.linalg.solve(X.T.astype(np.float64) @ X + 2.0 * np.eye(150), X.T @ Y)
    found = model.decision_function(data.X_new).toarray()
    assert np.abs(found - to_unit_interval(data.X_new.toarray() @ weights, 0.5)).max() < 1e-4


def test_scores_are_the_lifted_regressions_of_the_chosen_labels():
    data = problem()
    model = MLCSSPClassifier(columns=11, l2=2.0, bias=0.0, row_scale="raw", n_jobs=1).fit(data.X, data.Y)
    X, seen = data.X.toarray().astype(np.float64), model.model_.info.seen
    chosen = model.model_.chosen
    assert len(chosen) == 11
    Y = data.Y.toarray()[:, seen]
    weights = np.linalg.solve(X.T @ X + 2.0 * np.eye(150), X.T @ Y[:, chosen])
    wanted = to_unit_interval(data.X_new @ weights @ np.linalg.pinv(Y[:, chosen]) @ Y, 0.5)
    found = model.decision_function(data.X_new).toarray()[:, seen]
    assert np.abs(found - wanted).max() < 1e-4


def test_another_seed_chooses_other_labels_and_the_same_seed_the_same():
    data = problem()
    first, again, other = (
        MLCSSPClassifier(columns=11, random_state=seed, n_jobs=1).fit(data.X, data.Y).model_.chosen
        for seed in (1, 1, 2)
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


class ByLanczos(MLCSSPClassifier):
    """ML-CSSP that never finds all eigenvectors at once."""

    max_dense = 0


@pytest.mark.parametrize("classifier", [ByLanczos, MLCSSPClassifier])
def test_the_same_bytes_whatever_the_number_of_jobs(classifier):
    rng = np.random.default_rng(1)
    X = csr_matrix(rng.random((1500, 600)) * (rng.random((1500, 600)) < 0.05))
    Y = csr_matrix((rng.random((1500, 300)) < 0.02).astype(np.float32))
    first, second = (classifier(columns=100, n_jobs=jobs).fit(X, Y).model_ for jobs in (1, 2))
    for name in ("weights", "lift", "chosen"):
        assert getattr(first, name).tobytes() == getattr(second, name).tobytes(), name


def test_saved_and_loaded_it_predicts_the_same_and_damage_is_refused(tmp_path):
    data = problem()
    classifier = MLCSSPClassifier(n_jobs=1).fit(data.X, data.Y)
    assert_the_same_when_loaded(classifier, tmp_path / "model")
    model = classifier.model_
    for name, damaged in (
        ("weights", model.weights[:, 1:]),
        ("lift", model.lift[1:]),
        ("lift", model.lift.astype(np.float64)),
        ("chosen", model.chosen[1:]),
        ("chosen", model.chosen + 29),
        ("chosen", model.chosen[None]),
    ):
        assert_refused_when_damaged(classifier.model_, tmp_path / "damaged", **{name: damaged})


def test_too_little_memory_is_said_before_any_work():
    data = problem()
    with pytest.raises(ParameterError, match="memory"):
        MLCSSPClassifier(max_memory="1MB").fit(data.X, data.Y)


def test_memory_grows_with_the_labels_chosen():
    shape = Shape(100_000, 50_000, 30_000, 10**6, 10**6)
    few, many = (
        MLCSSPClassifier()._memory(shape, {**MLCSSPClassifier().get_params(), "columns": columns}, 1)
        for columns in (500, 0.8)
    )
    assert few > 100_000 * 500 * 4  # the targets alone
    assert many > 8 * 30_000**2  # YᵀY
    assert many > 10 * few

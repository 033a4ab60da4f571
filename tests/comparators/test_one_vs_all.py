"""A linear machine a label: the contract, scikit-learn's own machines, and the optimality of what is found."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse import csr_matrix
from sklearn.svm import LinearSVC

from contract import (
    ClassifierContract,
    VariantContract,
    assert_refused_when_damaged,
    assert_the_same_when_loaded,
    problem,
)
from neartag.comparators.one_vs_all.classifier import OneVsAllClassifier
from neartag.comparators.one_vs_all.machines import fit_machines
from neartag.core.errors import ParameterError
from neartag.core.progress import Progress
from neartag.linalg.rows import normalise


def made(**changes):
    return OneVsAllClassifier(**{"n_jobs": 1, **changes})


class TestContract(ClassifierContract):
    def make_model(self, **changes):
        return made(**changes)


class TestContractRaw(VariantContract):
    def make_model(self, **changes):
        return made(**{"row_scale": "raw", "bias": 0.0, "C": 0.1, "keep_above": 0.0, **changes})


def margins(model, X):
    """Return the margins of the labels seen, which the scores 0.5 + s / (1 + 2|s|) were made of."""
    centred = model.decision_function(X).toarray()[:, model.model_.frequency > 0] - 0.5
    return centred / (1 - 2 * np.abs(centred))


@pytest.mark.parametrize("row_scale", ["unit", "raw"])
@pytest.mark.parametrize("bias", [0.0, 0.5])
def test_margins_are_those_of_linear_svc(row_scale, bias):
    data = problem()
    model = made(C=0.7, keep_above=0.0, row_scale=row_scale, bias=bias).fit(data.X, data.Y)
    X, X_new = data.X.toarray().astype(np.float64), data.X_new.toarray().astype(np.float64)
    if row_scale == "unit":
        X, X_new = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (X, X_new))
    found = margins(model, data.X_new)
    for label in range(29):
        # By the other solver and very exactly: the same minimum, found in another way.
        machine = LinearSVC(
            C=0.7, dual=True, tol=1e-8, max_iter=100_000, fit_intercept=bias > 0, intercept_scaling=bias or 1
        ).fit(X, data.Y[:, [label]].toarray().ravel())
        wanted = machine.decision_function(X_new)
        assert np.abs(found[:, label] - wanted).max() < 5e-3 * np.abs(wanted).max(), f"label {label}"


def test_weights_make_the_gradient_vanish():
    data = problem()
    machines = fit_machines(data.X, data.Y, 0.3, 0.0, 1, Progress())
    X = data.X.toarray().astype(np.float64)
    signs = np.where(data.Y.toarray() > 0, 1.0, -1.0)  # (240, 30)
    W = machines.weights.toarray().astype(np.float64)  # (30, 150)
    slack = np.maximum(0, 1 - signs * (X @ W.T))  # (240, 30)
    gradient = W - 2 * 0.3 * (signs * slack).T @ X
    at_zero = 2 * 0.3 * signs.T @ X
    lengths = np.linalg.norm(gradient[:29], axis=1) / np.linalg.norm(at_zero[:29], axis=1)
    assert lengths.max() < 1e-3
    assert not W[29].any()  # nobody has it


def test_a_label_that_every_point_has_comes_first():
    data = problem()
    Y = sparse.hstack([data.Y[:, :29], np.ones((240, 1))], format="csr")
    model = made().fit(data.X, Y)
    assert (np.abs(margins(model, data.X_new)[:, 29] - 1) < 1e-5).all()
    others = made().fit(data.X, data.Y[:, :29]).decision_function(data.X_new)
    assert np.array_equal(model.decision_function(data.X_new)[:, :29].toarray(), others.toarray())


def test_small_weights_are_dropped_and_only_those():
    data = problem()
    X = normalise(data.X)
    every = fit_machines(X, data.Y, 1.0, 0.0, 1, Progress()).weights.toarray()
    kept = fit_machines(X, data.Y, 1.0, 0.05, 1, Progress()).weights.toarray()
    assert np.array_equal(kept, np.where(np.abs(every) > 0.05, every, 0))
    assert 0 < np.count_nonzero(kept) < np.count_nonzero(every)


@pytest.mark.parametrize("dense", [False, True])
def test_which_weights_are_dropped_does_not_depend_on_the_unit_of_large_features(dense):
    data = problem()
    X = data.X.toarray() if dense else data.X
    X = X / np.float32(np.abs(data.X.data).max())
    few, many = (fit_machines(X * np.float32(scale), data.Y, 1e4 / scale**2, 0.5, 1, Progress()) for scale in (1, 1024))
    every = fit_machines(X, data.Y, 1e4, 0.0, 1, Progress()).weights.toarray()
    largest = abs(X).max(axis=0)
    largest = largest.toarray().ravel() if sparse.issparse(largest) else largest
    kept = every * largest  # what each weight adds to a margin at most
    clear = np.abs(np.abs(kept) - 0.5) > 0.01
    assert np.array_equal((many.weights.toarray() != 0)[clear], (np.abs(kept) > 0.5)[clear])
    assert 0 < many.weights.nnz < few.weights.nnz


def test_weights_are_kept_sparse_where_few_are_left():
    data = problem()
    thin = made(keep_above=0.8).fit(data.X, data.Y).model_.weights
    assert sparse.issparse(thin)
    assert isinstance(made(keep_above=0.0, bias=1.0).fit(data.X, data.Y).model_.weights, np.ndarray)


@pytest.mark.parametrize("dense", [False, True])
def test_the_same_bytes_whatever_the_threads(dense):
    data = problem()
    X = data.X.toarray() + 0.1 if dense else data.X
    one, two = (made(n_jobs=jobs).fit(X, data.Y).model_.to_state()[1]["machines"] for jobs in (1, 2))
    assert one.keys() == two.keys()
    assert all(one[name].tobytes() == two[name].tobytes() for name in one)


@pytest.mark.parametrize("keep_above", [0.0, 0.8])  # kept dense, and sparse
def test_saved_and_loaded_it_predicts_the_same(tmp_path, keep_above):
    data = problem()
    model = made(keep_above=keep_above).fit(data.X, data.Y)
    assert_the_same_when_loaded(model, tmp_path / "model")


@pytest.mark.parametrize(
    "damage",
    [
        lambda model: setattr(model, "offset", model.offset[:-1]),
        lambda model: setattr(model, "offset", model.offset.astype(np.float64)),
        lambda model: setattr(model, "weights", model.weights[:-1]),
        lambda model: setattr(model, "weights", csr_matrix(model.weights)[:, :-1]),
    ],
)
def test_a_damaged_state_is_refused(tmp_path, damage):
    data = problem()
    model = made().fit(data.X, data.Y).model_
    damage(model)
    assert_refused_when_damaged(model, tmp_path / "model")


def test_what_needs_more_memory_than_allowed_is_refused():
    data = problem()
    with pytest.raises(ParameterError, match=r"one_vs_all would need about .* memory"):
        made(max_memory="1MB").fit(data.X, data.Y)

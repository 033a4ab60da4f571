"""LEML: the contract, each step against dense algebra, and that no array of points by labels is ever made."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse import csr_matrix

from contract import ClassifierContract, VariantContract, problem
from neartag import store
from neartag.comparators.leml.alternation import factorise
from neartag.comparators.leml.classifier import LEMLClassifier
from neartag.comparators.leml.steps import (
    MAX_SPECTRAL_SIDE,
    Gradients,
    Spectral,
    balance,
    label_step,
    problem_bytes,
    start_labels,
)
from neartag.comparators.shared.base import Shape
from neartag.core.errors import ModelError, ParameterError
from neartag.core.threads import single_threaded_blas
from neartag.linalg.rows import as_rows, transpose

L2 = 0.7


@pytest.fixture(autouse=True)
def _one_thread_of_blas():
    with single_threaded_blas():
        yield


class TestContract(ClassifierContract):
    def make_model(self, **changes):
        return LEMLClassifier(**{"n_jobs": 1, **changes})


class ByGradients(LEMLClassifier):
    """LEML that decomposes nothing."""

    max_spectral_side = 0


class TestContractByGradients(VariantContract):
    """The same where X is too large to be decomposed."""

    def make_model(self, **changes):
        return ByGradients(**{"n_jobs": 1, "max_iter": 4, "bias": 1.0, "rank": 12, **changes})


def matrices(n=90, d=40, labels=25, dense=False, seed=0):
    """Return rows, and labels with a structure to be found, each also as float64 array."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < (1 if dense else 0.2))
    Y = (X @ rng.normal(size=(d, 6)) @ rng.normal(size=(6, labels)) + rng.normal(size=(n, labels)) > 3).astype(float)
    rows = as_rows(X if dense else csr_matrix(X))
    return rows, csr_matrix(Y, dtype=np.float32), X.astype(np.float32).astype(np.float64), Y


def objective(X, Y, W, H, l2=L2):
    return 0.5 * np.sum((Y - X @ W @ H.T) ** 2) + 0.5 * l2 * (np.sum(W**2) + np.sum(H**2))


def factors(d, labels, rank, seed=1):
    """Return factors at random, H with orthogonal columns of different lengths, and those squared lengths."""
    rng = np.random.default_rng(seed)
    H = np.linalg.qr(rng.normal(size=(labels, rank)))[0] * rng.uniform(0.5, 3, rank)
    return rng.normal(size=(d, rank)), H, np.sum(H**2, axis=0)


SHAPES = [(90, 40, 25), (30, 60, 25)]  # more points than features, and fewer
KINDS = [Spectral, Gradients]


@pytest.mark.parametrize("dense", [False, True])
def test_gradient_and_hessian_are_those_of_the_objective(dense):
    rows, Y, X, Y64 = matrices(dense=dense)
    W, H, sizes = factors(40, 25, 5)
    made = Gradients.of(rows, Y, 1)
    image = made.gram.regularized_times(W.astype(np.float32), sizes, L2)
    # As an operator on all of W at once, by second differences of the objective, which is quadratic in W.
    S = np.random.default_rng(2).normal(size=W.shape)
    wanted = objective(X, Y64, W + S, H) + objective(X, Y64, W - S, H) - 2 * objective(X, Y64, W, H)
    found = np.sum(S * made.gram.regularized_times(S.astype(np.float32), sizes, L2))
    assert found == pytest.approx(wanted, rel=1e-5)
    # And the gradient, which is what conjugate gradients begin with, by central differences.
    right = X.T @ Y64 @ H
    gradient = image - right
    slope = (objective(X, Y64, W + 1e-4 * S, H) - objective(X, Y64, W - 1e-4 * S, H)) / 2e-4
    assert np.sum(gradient * S) == pytest.approx(slope, rel=1e-4)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_w_step_satisfies_the_normal_equations(kind, dense, shape):
    rows, Y, X, Y64 = matrices(*shape, dense=dense)
    _, H, sizes = factors(shape[1], shape[2], 5)
    made = kind.of(rows, Y, 1)
    W = made.weights(made.solve(H.astype(np.float32), sizes, L2, made.zeros(5), 500))
    right = X.T @ Y64 @ H
    left = X.T @ X @ W @ H.T @ H + L2 * W
    assert np.abs(left - right).max() < 5e-3 * np.abs(right).max()
    if kind is Spectral:
        assert np.abs(left - right).max() < 1e-5 * np.abs(right).max()


def test_each_step_of_conjugate_gradients_lowers_the_objective():
    rows, Y, X, Y64 = matrices()
    W, H, sizes = factors(40, 25, 5)
    made = Gradients.of(rows, Y, 1)
    values = [objective(X, Y64, W, H)]
    for steps in range(1, 8):
        found = made.solve(H.astype(np.float32), sizes, L2, W.astype(np.float32), steps)
        values.append(objective(X, Y64, found.astype(np.float64), H))
    assert (np.diff(values) < 0).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_h_step_is_ridge_regression_and_its_objective_right(kind, shape):
    rows, Y, X, Y64 = matrices(*shape)
    made = kind.of(rows, Y, 1)
    rank = 4
    inside = np.random.default_rng(3).normal(size=made.zeros(rank).shape).astype(made.zeros(1).dtype)
    H, value = label_step(made, inside, L2, 1)
    W = made.weights(inside).astype(np.float64)
    A = X @ W
    wanted = np.linalg.solve(A.T @ A + L2 * np.eye(rank), A.T @ Y64).T
    assert np.abs(H - wanted).max() < 1e-4 * np.abs(wanted).max()
    assert value == pytest.approx(objective(X, Y64, W, wanted), rel=1e-5)


def test_balanced_factors_have_the_same_product_and_equal_diagonal_gram_matrices():
    W, H, _ = factors(40, 25, 5)
    H = H @ np.random.default_rng(4).normal(size=(5, 5))
    found = balance(W, H, 1)
    assert np.abs(found.W @ found.H.T - W @ H.T).max() < 1e-10
    for gram in (found.W.T @ found.W, found.H.T @ found.H):
        assert np.abs(gram - np.diag(found.sizes)).max() < 1e-10
    assert np.allclose(found.sizes, np.linalg.svd(W @ H.T, compute_uv=False)[:5])
    assert np.sum(found.W**2) + np.sum(found.H**2) < np.sum(W**2) + np.sum(H**2)


def test_balance_leaves_out_what_has_no_size():
    W, H, _ = factors(40, 25, 5)
    W[:, 4] = W[:, 3]
    H[:, 2] = 0
    found = balance(W, H, 1)
    assert found.W.shape == (40, 3)
    assert np.abs(found.W @ found.H.T - W @ H.T).max() < 1e-10
    nothing = balance(np.zeros((4, 2)), np.zeros((3, 2)), 1)
    assert nothing.W.shape == (4, 1)
    assert not nothing.W.any()
    assert not nothing.H.any()


def test_the_start_spans_the_labels_main_directions():
    _, Y, _, Y64 = matrices(300, 40, 25)
    H = start_labels(Y, transpose(Y), 6, np.random.default_rng(0), 1)
    assert np.abs(H.T @ H - np.eye(6)).max() < 1e-4
    best = np.linalg.svd(Y64, compute_uv=False)[:6]
    assert np.linalg.norm(Y64 @ H) > 0.98 * np.linalg.norm(best)


@pytest.mark.parametrize("max_spectral_side", [MAX_SPECTRAL_SIDE, 0])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_objective_falls_and_is_that_of_the_factors(max_spectral_side, shape):
    rows, Y, X, Y64 = matrices(*shape)
    found = factorise(rows, Y, 6, 0.5, max_iter=12, cg_max_iter=5, max_spectral_side=max_spectral_side)
    assert len(found.history) == 12
    assert (np.diff(found.history) < 1e-6 * found.history[0]).all()
    assert found.history[-1] < found.history[0]
    value = objective(X, Y64, found.W.astype(np.float64), found.H.astype(np.float64), 0.5)
    # Balance, after the last step, can only have lowered it.
    assert value <= found.history[-1] * (1 + 1e-5)
    assert value > 0.97 * found.history[-1]


@pytest.mark.parametrize("max_spectral_side", [MAX_SPECTRAL_SIDE, 0])
def test_at_full_rank_it_is_regression_with_the_nuclear_norm(max_spectral_side):
    rows, Y, X, Y64 = matrices(60, 15, 10)
    found = factorise(rows, Y, 10, 2.0, max_iter=300, cg_max_iter=60, max_spectral_side=max_spectral_side)
    Z = found.W.astype(np.float64) @ found.H.T
    # Optimality: Xᵀ(Y − XZ) / λ is a subgradient of the nuclear norm at Z, the same in Z's directions and small in all.
    gradient = X.T @ (Y64 - X @ Z) / 2.0
    assert np.linalg.norm(gradient, 2) < 1.01
    assert np.sum(gradient * Z) == pytest.approx(np.linalg.norm(Z, "nuc"), rel=1e-2)


@pytest.mark.parametrize("max_spectral_side", [MAX_SPECTRAL_SIDE, 0])
def test_with_a_tiny_penalty_and_full_rank_it_is_least_squares(max_spectral_side):
    rows, Y, X, Y64 = matrices(80, 12, 10)
    found = factorise(rows, Y, 10, 1e-5, max_iter=20, cg_max_iter=200, max_spectral_side=max_spectral_side)
    wanted = np.linalg.lstsq(X, Y64, rcond=None)[0]
    assert np.abs(found.W @ found.H.T - wanted).max() < 2e-3 * np.abs(wanted).max()


def test_nearly_singular_features_are_regressed_on_in_double_precision():
    rng = np.random.default_rng(5)
    base = rng.uniform(size=(400, 1))
    X = (base + 1e-3 * rng.normal(size=(400, 8))).astype(np.float32)  # all columns nearly alike
    weights = rng.normal(size=(8, 6)) * 1e3
    Y = csr_matrix((X @ weights > np.median(X @ weights, axis=0)).astype(np.float32))
    found = factorise(X, Y, 6, 1e-5, max_iter=10)
    X, Y = X.astype(np.float64), Y.toarray()
    wanted = np.linalg.lstsq(X, Y, rcond=None)[0]
    residual, best = np.linalg.norm(X @ found.W @ found.H.T - Y), np.linalg.norm(X @ wanted - Y)
    assert residual < 1.001 * best


def test_both_ways_find_the_same_product():
    rows, Y, _, _ = matrices()
    exact = factorise(rows, Y, 8, 1.0, max_iter=100)
    other = factorise(rows, Y, 8, 1.0, max_iter=100, cg_max_iter=100, max_spectral_side=0)
    assert np.abs(exact.W @ exact.H.T - other.W @ other.H.T).max() < 0.02 * np.abs(exact.W @ exact.H.T).max()


@pytest.mark.parametrize("classifier", [ByGradients, LEMLClassifier])
def test_the_same_bytes_whatever_the_number_of_threads(classifier):
    rng = np.random.default_rng(0)
    X = sparse.random(5000, 300, 0.03, "csr", np.float32, rng)
    Y = csr_matrix(sparse.random(5000, 90, 0.05, "csr", np.float32, rng) > 0)
    one, two = (classifier(n_jobs=jobs, rank=60, max_iter=2, cg_max_iter=4).fit(X, Y).model_ for jobs in (1, 2))
    assert one.W.tobytes() == two.W.tobytes()
    assert one.H.tobytes() == two.H.tobytes()


def test_never_an_array_of_points_by_labels():
    rng = np.random.default_rng(0)
    n, labels, rank = 2000, 100_000, 10
    X = sparse.random(n, 500, 0.02, "csr", np.float32, rng)
    column = np.arange(2 * labels) % labels
    Y = csr_matrix((np.ones(2 * labels, np.float32), (rng.integers(n, size=2 * labels), column)))
    Y.data[:] = 1  # where a point drew a label twice
    tracemalloc.start()
    model = LEMLClassifier(rank=rank, max_iter=2, n_jobs=1).fit(X, Y)
    model.predict_topk(X[:10], 5)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert model.model_.H.shape[0] == labels
    assert peak < 4 * n * labels / 8, f"{peak / 2**20:.0f} MB"


@pytest.mark.parametrize("classifier", [ByGradients, LEMLClassifier])
def test_the_estimate_of_memory_is_near_what_is_used(classifier):
    rng = np.random.default_rng(0)
    X = sparse.random(10_000, 1000, 0.005, "csr", np.float32, rng)
    Y = csr_matrix((sparse.random(10_000, 1500, 0.001, "csr", np.float32, rng) > 0), dtype=np.float32)
    tracemalloc.start()
    classifier(rank=200, max_iter=1, cg_max_iter=2, n_jobs=1).fit(X, Y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    shape = Shape(10_000, 1000, len(np.unique(Y.indices)), X.nnz, Y.nnz)
    estimate = problem_bytes(shape, 200, 1, classifier.max_spectral_side)
    assert 0.7 * peak < estimate < 2 * peak, f"{estimate / 2**20:.0f} for {peak / 2**20:.0f} MB"


def test_too_little_memory_is_refused_before_any_work():
    with pytest.raises(ParameterError, match=r"memory"):
        LEMLClassifier(max_memory="1MB", n_jobs=1).fit(problem().X, problem().Y)


def test_a_stored_model_predicts_the_same(tmp_path):
    data = problem()
    model = LEMLClassifier(rank=10, bias=0.5, n_jobs=1).fit(data.X, data.Y).model_
    store.save(model, tmp_path / "model")
    again = store.load(tmp_path / "model").model
    for wanted, found in zip(model.predict_topk(data.X_new, 5), again.predict_topk(data.X_new, 5), strict=True):
        assert np.array_equal(wanted, found)


@pytest.mark.parametrize(
    "damage",
    [
        {"W": np.zeros((150, 4), np.float32)},  # of another rank than H
        {"H": np.zeros((28, 10), np.float32)},  # a label too few
        {"W": np.zeros((150, 10))},  # float64
        {"W": np.zeros(150, np.float32)},
        {"H": csr_matrix((29, 10), dtype=np.float32)},
    ],
)
def test_a_damaged_state_is_refused(tmp_path, monkeypatch, damage):
    data = problem()
    model = LEMLClassifier(rank=10, bias=0.0, n_jobs=1).fit(data.X, data.Y).model_
    arrays = {"factors": {**model.arrays()["factors"], **damage}}
    monkeypatch.setattr(model, "arrays", lambda: arrays)
    store.save(model, tmp_path / "model")
    with pytest.raises(ModelError):
        store.load(tmp_path / "model")


def test_the_rank_is_a_share_or_a_number_and_never_more_than_there_is():
    data = problem()
    for rank, wanted in ((0.5, 14), (7, 7), ("auto", 23), (10_000, 29)):
        model = LEMLClassifier(rank=rank, l2=1e-6, bias=0.0, n_jobs=1).fit(data.X, data.Y).model_
        assert model.W.shape == (150, wanted)
        assert model.H.shape == (29, wanted)


def test_a_large_penalty_leaves_directions_out():
    data = problem()
    small, large = (
        LEMLClassifier(l2=l2, max_iter=30, bias=0.0, n_jobs=1).fit(data.X, data.Y).model_ for l2 in (0.1, 5.0)
    )
    assert large.W.shape[1] < small.W.shape[1]


def test_no_penalty_at_all_still_has_a_solution():
    data = problem()
    X = sparse.hstack([data.X, data.X], format="csr")  # each feature twice
    found = LEMLClassifier(l2=0, rank=29, n_jobs=1).fit(X, data.Y).decision_function(X)
    assert np.isfinite(found.data).all()

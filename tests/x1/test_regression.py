"""The regressors: ridge by three solvers, truncation, and what L1 does. The fixed point itself is in test_paper."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from neartag.core.errors import ParameterError
from neartag.core.threads import single_threaded_blas
from neartag.data import synthetic
from neartag.linalg.rows import normalise
from neartag.x1 import regression as module
from neartag.x1.embedding import embed
from neartag.x1.label_graph import neighbour_graph
from neartag.x1.regression import (
    admm,
    cheapest_solver,
    soft_threshold,
    truncate,
)
from neartag.x1.svp import svp

SHAPES = {"tall": (150, 60), "wide": (80, 200)}  # (n, d): the primal system is the smaller one, or the dual


@pytest.fixture(autouse=True)
def held():
    """Hold BLAS to one thread, as all callers do."""
    with single_threaded_blas():
        yield


@cache
def regression_problem(shape="tall", dim=6, seed=1):
    """Return unit rows X (n, d) and embeddings Z (n, dim) as SVP makes them."""
    n, d = SHAPES[shape]
    data = synthetic.make(n, d, 30, 12, 2.5, seed=seed)
    return normalise(data.X), svp(neighbour_graph(data.Y, 20), dim).points


def ridge(X, Z, l2):
    dense = X.toarray().astype(np.float64)
    return np.linalg.solve(dense.T @ dense + l2 * np.eye(dense.shape[1]), dense.T @ Z)


def relative(found, wanted):
    return np.linalg.norm(found - wanted) / np.linalg.norm(wanted)


def zeros(X, result):
    return float((embed(X, result.weights, result.zero_below) == 0).mean())


# ---- without L1: ridge regression


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("l2", [1e-5, 0.1, 1.0, 30.0])
@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("solver", ["auto", "primal", "dual", "cg"])
def test_without_l1_it_is_ridge_regression(shape, l2, dense, solver):
    X, Z = regression_problem(shape)
    found = admm(X.toarray() if dense else X, Z, l2=l2, solver=solver)
    assert found.weights.dtype == np.float32
    assert found.weights.shape == (X.shape[1], 6)
    assert found.zero_below == 0
    # Conjugate gradients end at a residual of 1e-4.
    assert relative(found.weights, ridge(X, Z, l2)) < (1e-3 if solver == "cg" else 1e-5)


@pytest.mark.parametrize("solver", ["primal", "dual"])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_nearly_singular_system_is_solved_in_float64(solver, shape):
    # Features that are nearly sums of each other, as MediaMill's: the smallest eigenvalues are lost in float32.
    random = np.random.default_rng(0)
    n, d = SHAPES[shape]
    X = normalise((random.random((n, 12)) @ random.random((12, d)) + 1e-3 * random.random((n, d))).astype(np.float32))
    Z = random.standard_normal((n, 4)).astype(np.float32)
    found = admm(X, Z, l2=1e-5, solver=solver).weights
    wanted = ridge(csr_matrix(X), Z, 1e-5)
    assert relative(X @ found, X @ wanted) < 1e-4


@pytest.mark.parametrize("solver", ["primal", "dual"])
@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize("l2", [1e-5, 1.0])
def test_threads_change_no_more_than_rounding(solver, threads, l2):
    X, Z = regression_problem()
    one = admm(X, Z, l2=l2, solver=solver).weights
    assert relative(admm(X, Z, l2=l2, solver=solver, threads=threads).weights, one) < 1e-5


@pytest.mark.parametrize("solver", ["auto", "primal", "dual", "cg"])
def test_without_any_penalty_duplicate_points_do_no_harm(solver):
    # Equal points with different embeddings: the dual system is singular, and their fit is the mean of the two.
    X, Z = regression_problem("wide")
    X, Z = csr_matrix(np.vstack([X.toarray(), X.toarray()[:40]])), np.vstack([Z, Z[40:]])
    best = X @ np.linalg.lstsq(X.toarray().astype(np.float64), Z, rcond=None)[0]
    assert relative(X @ admm(X, Z, l2=0.0, solver=solver).weights, best) < 1e-2


@pytest.mark.parametrize("l1", [0.0, 0.1])
@pytest.mark.parametrize("solver", ["auto", "primal", "dual", "cg"])
def test_nothing_to_regress_on(l1, solver):
    X, Z = regression_problem()
    for features, target in ((0 * X, Z), (X, 0 * Z)):
        found = admm(features, target, l1=l1, solver=solver)
        assert (found.weights == 0).all()
        assert np.isfinite([found.zero_below, *found.primal, *found.dual]).all()


def test_one_dimension_leaves_the_embedding_as_it_was():
    X, Z = regression_problem(dim=1)
    for solver in ("primal", "dual", "cg"):
        for l1 in (0.0, 0.1):
            target = Z.copy()
            admm(X, target, l1=l1, solver=solver)
            assert np.array_equal(target, Z)


# ---- which solver


def shaped(n, d, stored):
    """Return a matrix with that many entries in all; what they are does not matter."""
    per_row = np.minimum(np.cumsum(np.full(n, stored / n)).astype(np.int64), stored)
    indices = np.zeros(int(per_row[-1]), np.int32)
    return csr_matrix((np.ones(len(indices), np.float32), indices, [0, *per_row]), shape=(n, d))


@pytest.mark.parametrize(
    ("n", "d", "stored", "wanted"),
    [
        (5000, 1800, 350_000, "primal"),  # bibtex
        (1000, 50_000, 100_000, "dual"),  # a small cluster of texts
        (100_000, 100_000, 900_000, "cg"),  # titles, all in one cluster
        (2_000_000, 1_000_000, 20_000_000, "cg"),  # neither square fits
    ],
)
def test_the_cheapest_solver_fits_the_shape(n, d, stored, wanted):
    assert cheapest_solver(shaped(n, d, stored), 100) == wanted


def test_dense_rows_choose_the_smaller_square():
    assert cheapest_solver(np.empty((30_000, 120), np.float32), 100) == "primal"
    assert cheapest_solver(np.empty((100, 3000), np.float32), 100) == "dual"


def test_a_factor_too_large_is_not_tried():
    X, _ = regression_problem()
    assert cheapest_solver(X, 6, max_factor_bytes=8) == "cg"


@pytest.mark.parametrize("l1", [0.0, 0.1])
@pytest.mark.parametrize("solver", ["primal", "dual"])
def test_what_is_factored_is_factored_once(monkeypatch, l1, solver):
    calls = []
    factor = module.cholesky

    def counted(square, threads):
        calls.append(square.shape)
        factor(square, threads)

    monkeypatch.setattr(module, "cholesky", counted)
    X, Z = regression_problem()
    rounds = len(admm(X, Z, l1=l1, solver=solver).primal)
    assert calls == [(60, 60) if solver == "primal" else (150, 150)]
    assert l1 == 0 or rounds > 3


def test_a_solver_that_is_not_known_is_refused():
    X, Z = regression_problem()
    with pytest.raises(ParameterError, match=r"solver.*'magic'"):
        admm(X, Z, solver="magic")


# ---- with L1


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("l2", [1e-5, 1.0])
@pytest.mark.parametrize("l1", [0.01, 0.1, 0.5, 1.0, 3.0])
def test_both_residuals_fall_below_the_tolerance(shape, l2, l1):
    X, Z = regression_problem(shape)
    for tol in (1e-3, 1e-4):
        found = admm(X, Z, l1=l1, l2=l2, tol=tol, max_iter=3000)
        assert len(found.primal) == len(found.dual)
        assert found.primal[-1] <= tol
        assert found.dual[-1] <= tol
        earlier = np.maximum(found.primal[:-1], found.dual[:-1])
        assert (earlier > tol).all(), "not a round longer than needed"


@pytest.mark.parametrize("l1", [0.1, 0.5, 3.0])
def test_the_usual_rounds_are_enough(l1):
    X, Z = regression_problem()
    found = admm(X, Z, l1=l1)
    assert found.primal[-1] <= 1e-3
    assert found.dual[-1] <= 1e-3


@pytest.mark.parametrize("shape", SHAPES)
def test_the_share_of_zeros_grows_with_l1(shape):
    X, Z = regression_problem(shape)
    shares = [zeros(X, admm(X, Z, l1=l1)) for l1 in (0.0, 0.02, 0.1, 0.3, 1.0, 5.0)]
    assert shares[0] == 0
    assert (np.diff(shares) > 0).all()
    assert shares[2] > 0.03
    assert shares[-1] == 1


@pytest.mark.parametrize("solver", ["dual", "cg"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("l2", [1e-3, 1.0])
def test_solvers_agree_with_l1(solver, shape, l2):
    X, Z = regression_problem(shape)
    first, second = (admm(X, Z, l1=0.2, l2=l2, solver=kind, tol=1e-4) for kind in ("primal", solver))
    assert relative(X @ second.weights, X @ first.weights) < 1e-3
    assert abs(zeros(X, first) - zeros(X, second)) < 0.01


@pytest.mark.parametrize("rho", [0.3, 1.0, 3.0])
def test_the_penalty_of_the_splitting_does_not_move_the_minimum(rho):
    X, Z = regression_problem("wide")
    wanted = admm(X, Z, l1=0.2, tol=1e-6, max_iter=3000).weights
    assert relative(X @ admm(X, Z, l1=0.2, rho=rho, tol=1e-6, max_iter=3000).weights, X @ wanted) < 1e-3


def test_dense_rows_give_the_same():
    X, Z = regression_problem()
    thin, full = admm(X, Z, l1=0.2), admm(X.toarray(), Z, l1=0.2)
    assert relative(X @ full.weights, X @ thin.weights) < 1e-4


def test_points_added_later_are_treated_like_those_trained_on():
    X, Z = regression_problem()
    found = admm(X, Z, l1=0.3)
    whole = embed(X, found.weights, found.zero_below)
    parts = np.vstack([embed(X[[row]], found.weights, found.zero_below) for row in range(X.shape[0])])
    assert np.array_equal(whole == 0, parts == 0)
    kept = whole != 0
    assert np.abs(whole[kept]).min() >= found.zero_below > 0
    exact = X @ found.weights
    # Entries are sums of some 20 products near 1 in float32: small ones carry the rounding of the large.
    np.testing.assert_allclose(whole[kept], exact[kept], rtol=1e-5, atol=1e-7)


def test_soft_threshold_by_hand():
    values = np.array([[-3, -1, -0.5, 0, 0.5, 1, 3]], np.float32)
    assert soft_threshold(values, 1.0).tolist() == [[-2, 0, 0, 0, 0, 0, 2]]
    assert soft_threshold(values, 0.0).tolist() == values.tolist()


# ---- truncation


@pytest.mark.parametrize("keep", [0.001, 0.05, 0.5, 0.999])
def test_truncation_keeps_exactly_the_largest_share(keep):
    weights = np.random.default_rng(0).standard_normal((40, 25)).astype(np.float32)
    found = truncate(weights, keep)
    assert isinstance(found, csr_matrix)
    assert found.shape == weights.shape
    assert found.nnz == round(keep * 1000)
    dense = found.toarray()
    kept = dense != 0
    assert np.array_equal(dense[kept], weights[kept])
    assert np.abs(weights[kept]).min() >= np.abs(weights[~kept]).max()


def test_truncation_of_nothing_keeps_the_weights_as_they_are():
    weights = np.ones((3, 4), np.float32)
    assert truncate(weights, 1.0) is weights


def test_truncation_keeps_exactly_the_share_where_weights_are_equal():
    # Features that always stand together have equal weights.
    weights = np.repeat(np.random.default_rng(0).standard_normal((1, 10)).astype(np.float32), 50, axis=0)
    assert truncate(weights, 0.05).nnz == 25


def test_truncation_stores_no_zeros():
    weights = np.zeros((10, 10), np.float32)
    weights[0, :3] = 1, -2, 3
    found = truncate(weights, 0.5)
    assert found.nnz == 3
    assert np.array_equal(found.toarray(), weights)
    assert truncate(0 * weights, 0.5).nnz == 0


def test_a_looser_residual_ends_near_the_same_weights():
    random = np.random.default_rng(3)
    X = csr_matrix(random.random((300, 80)) * (random.random((300, 80)) < 0.1), dtype=np.float32)
    Z = random.standard_normal((300, 4)).astype(np.float32)
    exact, loose = (admm(X, Z, solver="cg", tolerance=each).weights for each in (1e-6, 1e-2))
    distance = np.linalg.norm(loose - exact) / np.linalg.norm(exact)
    assert 1e-5 < distance < 0.02

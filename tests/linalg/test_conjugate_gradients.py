"""Conjugate gradients against the dense solution of the same system."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from kernel_helpers import random_csr
from neartag.linalg.conjugate_gradients import GramMatrix, column_squares, solve_ridge

L2 = 0.5


def problem(n=60, d=35, columns=60, dense=False, seed=0):
    """Return X (n, d), targets T (n, columns), and X in float64."""
    random = np.random.default_rng(seed)
    X = random_csr(random, n, d)
    return (
        X.toarray() if dense else X,
        random.standard_normal((n, columns)).astype(np.float32),
        X.toarray().astype(float),
    )


def exact(X, T, scale):
    """Return W (d, columns), a column at a time."""
    every = [
        np.linalg.solve(s * X.T @ X + L2 * np.eye(X.shape[1]), X.T @ t)
        for s, t in zip(np.broadcast_to(scale, T.shape[1]), T.T.astype(float), strict=True)
    ]
    return np.array(every).T


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("precondition", [False, True])
@pytest.mark.parametrize("scale", [np.array([1.0]), np.array([2.5]), np.linspace(0.3, 4, 60)])
@pytest.mark.parametrize("begun", [False, True])
def test_it_solves_each_column(dense, precondition, scale, begun):
    X, T, wide = problem(dense=dense)
    start = np.random.default_rng(1).standard_normal((35, 60)).astype(np.float32) if begun else None
    options = {"scale": scale, "l2": L2, "max_iter": 300, "tolerance": 1e-5, "precondition": precondition}
    before = None if start is None else start.copy()
    found = solve_ridge(GramMatrix.of(X), T, start, **options)
    wanted = exact(wide, T, scale)
    assert np.linalg.norm(found - wanted) < 1e-4 * np.linalg.norm(wanted)
    assert start is None or np.array_equal(start, before), "where it begins is left as it was"
    for threads in (2, 3):
        assert np.array_equal(solve_ridge(GramMatrix.of(X), T, start, **options, threads=threads), found)


def test_each_step_brings_it_nearer_in_the_norm_of_the_system():
    X, T, wide = problem(columns=4)
    system, wanted = wide.T @ wide + L2 * np.eye(35), exact(wide, T, 1.0)
    options = {"scale": np.array([1.0]), "l2": L2, "tolerance": 0.0}
    errors = [solve_ridge(GramMatrix.of(X), T, max_iter=steps, **options) - wanted for steps in range(8)]
    lengths = [float(np.einsum("ij,ij->", each, system @ each)) for each in errors]
    assert (np.diff(lengths) < 0).all()


def test_a_column_of_zeros_and_an_empty_feature_stay_zero():
    X, T, _ = problem(columns=3)
    X = csr_matrix(X.multiply(np.arange(35) > 0))
    T[:, 1] = 0
    found = solve_ridge(GramMatrix.of(X), T, scale=np.array([1.0]), l2=0.0, max_iter=50, tolerance=1e-4)
    assert np.isfinite(found).all()
    assert (found[:, 1] == 0).all()
    assert (found[0] == 0).all()


def test_column_squares():
    X, _, wide = problem()
    for rows in (X, X.toarray()):
        np.testing.assert_allclose(column_squares(rows), (wide**2).sum(axis=0), rtol=1e-6)

"""Ridge regression of a few targets, against numpy's solve."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from neartag.comparators.shared.base import Shape
from neartag.comparators.shared.ridge import ridge, ridge_memory


@pytest.mark.parametrize("form", [np.asarray, csr_matrix])
@pytest.mark.parametrize("scale", [0.01, 1.0, 300.0])
@pytest.mark.parametrize("shape", [(200, 30), (30, 200)])
def test_weights_are_those_of_the_normal_equations(form, scale, shape):
    rng = np.random.default_rng(0)
    X = (scale * rng.standard_normal(shape)).astype(np.float32)
    X[3] = 0  # a row without features
    Z = rng.standard_normal((shape[0], 4)).astype(np.float32)
    l2 = 0.01 * scale**2
    wide = X.astype(np.float64)
    wanted = np.linalg.solve(wide.T @ wide + l2 * np.eye(shape[1]), wide.T @ Z)
    found = ridge(form(X), Z, l2)
    assert found.dtype == np.float32
    assert np.abs(found - wanted).max() < 1e-3 * np.abs(wanted).max()


def test_long_rows_with_a_small_penalty_are_solved_precisely():
    # The penalty is one ten-millionth of the squared lengths, though large beside the number of rows.
    rng = np.random.default_rng(1)
    X = (1000 * (rng.standard_normal((300, 1)) + 0.003 * rng.standard_normal((300, 20)))).astype(np.float32)
    Z = rng.standard_normal((300, 2)).astype(np.float32)
    wide = X.astype(np.float64)
    wanted = np.linalg.solve(wide.T @ wide + 1.0 * np.eye(20), wide.T @ Z)
    assert np.abs(ridge(X, Z, 1.0) - wanted).max() < 1e-4 * np.abs(wanted).max()


def test_no_features_at_all_give_zeros():
    Z = np.ones((5, 2), np.float32)
    for X in (np.zeros((5, 3), np.float32), csr_matrix((5, 3), dtype=np.float32)):
        assert np.array_equal(ridge(X, Z, 1.0), np.zeros((3, 2)))


def test_memory_holds_the_targets_the_weights_and_the_factor():
    shape = Shape(points=10_000, features=2000, labels=300, entries=10**6, ones=10**4)
    assert ridge_memory(shape, 100) > 4 * 100 * 12_000 + 4 * 2000**2
    many = shape._replace(points=10**6, features=10**6)
    assert 4 * 100 * 2 * 10**6 < ridge_memory(many, 100) < 8 * 10**12, "conjugate gradients need no square matrix"

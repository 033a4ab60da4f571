"""What may come in: numbers that stay finite in float32, however they are given, and labels that are zeros and ones."""

from __future__ import annotations

import tracemalloc
import warnings
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse import csr_matrix

from neartag.core import memory
from neartag.core.errors import ParameterError
from neartag.linalg.rows import as_rows, normalise
from neartag.linalg.validation import check_features, check_labels, check_training

LARGE = float(np.finfo(np.float32).max)


def twice(first, second, dtype=np.float32):
    """Return two rows, the second of which has its only feature twice."""
    return csr_matrix((np.array([1, first, second], dtype), np.array([0, 1, 1]), np.array([0, 1, 3])), shape=(2, 3))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sign", [1, -1])
def test_features_that_are_finite_only_before_they_are_summed_are_refused(dtype, sign):
    X = twice(sign * 3e38, sign * 3e38, dtype)
    with pytest.raises(ParameterError, match=r"Input X contains a value too large for float32.*row 1"):
        check_features(X)
    with pytest.raises(ParameterError, match="too large for float32"):
        check_training(X, np.eye(2))


@pytest.mark.parametrize("form", [sparse.coo_matrix, sparse.csc_matrix, sparse.csr_array])
def test_in_any_sparse_form(form):
    parts = np.array([3e38, 3e38], np.float32), (np.array([0, 0]), np.array([1, 1]))
    with pytest.raises(ParameterError, match="Input X contains"):
        check_features(form(sparse.coo_matrix(parts, shape=(1, 2))))


@pytest.mark.parametrize("form", [np.asarray, csr_matrix, sparse.csc_matrix, sparse.coo_array, np.ndarray.tolist])
@pytest.mark.parametrize("value", [1e39, -1e39, 1e308])
def test_what_only_float64_can_hold_is_refused(form, value):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # numpy would warn of the cast, which says nothing of the parameter
        with pytest.raises(ParameterError, match=r"Input X contains a value too large for float32.*scale"):
            check_features(form(np.array([[1.0, 0.0], [0.0, value]])))


@pytest.mark.parametrize("X", [twice(1.5, 2.5), twice(LARGE, -LARGE), twice(LARGE, 0), twice(LARGE, -1, np.float64)])
def test_what_stays_finite_is_taken_and_left_as_it_was(X):
    before = X.data.copy(), X.indices.copy(), X.indptr.copy()
    rows = as_rows(check_features(X))
    assert np.isfinite(rows.data).all()
    np.testing.assert_allclose(rows.toarray()[1, 1], np.float32(X.data[1]) + np.float32(X.data[2]))
    for array, old in zip((X.data, X.indices, X.indptr), before, strict=True):
        assert np.array_equal(array, old)


def test_rows_in_order_are_not_copied():
    X = csr_matrix(np.eye(3, dtype=np.float32))
    assert np.shares_memory(as_rows(check_features(X)).data, X.data)


@pytest.mark.parametrize("X", [[[10**400, 1]], [[1.5, -(10**400)]], np.array([[10**400]], object)])
def test_whole_numbers_beyond_all_floats_are_refused(X):
    with pytest.raises(ParameterError, match="X must hold numbers"):
        check_features(X)
    with pytest.raises(ParameterError, match="X must hold numbers"):
        check_training(X, [[1]])


def test_numbers_that_numpy_does_not_know_are_numbers():
    assert check_features([[Fraction(1, 2), 10**30]]).tolist() == [[0.5, 1e30]]
    with pytest.raises(ParameterError, match="too large for float32"):
        check_features([[Fraction(10**39)]])


@pytest.mark.parametrize("form", [csr_matrix, sparse.coo_array, np.asarray])
def test_complex_labels_are_refused(form):
    with pytest.raises(ParameterError, match=r"Y must .*complex"):
        check_labels(form(np.array([[1 + 0j, 0], [0, 1 + 2j]])))


def test_labels_beyond_all_floats_are_refused():
    with pytest.raises(ParameterError, match="Y must be a matrix of zeros and ones"):
        check_labels([[10**400, 1]])


@pytest.mark.parametrize("form", [csr_matrix, sparse.csr_array])
def test_labels_in_order_are_not_copied(form):
    Y = form(np.eye(3, dtype=np.float32))
    labels = check_labels(Y)
    assert isinstance(labels, csr_matrix)
    assert labels is not Y, "what is noted of ours must not show in the caller's"
    assert np.shares_memory(labels.data, Y.data)
    assert np.shares_memory(labels.indices, Y.indices)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, bool])
@pytest.mark.parametrize(
    ("values", "columns"),
    [([1, 1, 1], [2, 0, 1]), ([0, 1, 1], [0, 2, 1]), ([1, 0, 1], [0, 0, 1])],
    ids=["unordered", "a stored zero", "a label twice"],
)
def test_labels_are_put_right_and_left_as_they_were(dtype, values, columns):
    Y = csr_matrix((np.array(values, dtype), np.array(columns, np.int32), np.array([0, 2, 3])), shape=(2, 3))
    before = Y.data.copy(), Y.indices.copy(), Y.indptr.copy()
    labels = check_labels(Y)
    assert labels.has_canonical_format
    assert labels.dtype == np.float32
    assert (labels.data == 1).all()
    assert (labels.toarray() == Y.toarray()).all()
    for array, old in zip((Y.data, Y.indices, Y.indptr), before, strict=True):
        assert np.array_equal(array, old)


@pytest.mark.parametrize("sparse_rows", [True, False])
def test_what_is_fit_for_training_is_held_once(sparse_rows):
    n, each = 50_000, 100
    values = np.full(n * each, 0.1, np.float32)
    ids = np.tile(np.arange(each, dtype=np.int32), n)
    X = csr_matrix((values, ids, np.arange(n + 1, dtype=np.int32) * each), shape=(n, each))
    X = X if sparse_rows else values.reshape(n, each)
    Y = csr_matrix((np.ones(n, np.float32), np.zeros(n, np.int32), np.arange(n + 1, dtype=np.int32)), shape=(n, 2))
    held = values.nbytes + (ids.nbytes if sparse_rows else 0)
    tracemalloc.start()
    try:
        checked, labels = check_training(X, Y)
        rows = normalise(as_rows(checked))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 0.2 * held
    assert np.shares_memory(rows.data if sparse_rows else rows, values)
    assert np.shares_memory(labels.indices, Y.indices)


def test_more_columns_than_memory_are_refused_before_any_is_taken(monkeypatch):
    monkeypatch.setattr(memory, "total", lambda: 2**30)
    X, Y = csr_matrix((1, 2**31 - 1), dtype=np.float32), csr_matrix((1, 2**31 - 1), dtype=np.float32)
    with pytest.raises(ParameterError, match=r"2,147,483,647 labels take 64\.0 GB at least, .* has 1\.0 GB"):
        check_training(X, Y)
    monkeypatch.setattr(memory, "total", lambda: None)
    check_training(X, Y)

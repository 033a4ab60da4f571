"""Rows, dense or sparse: everything against plain numpy on the dense array."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse import coo_matrix, csc_matrix, csr_array, csr_matrix

from kernel_helpers import random_rows
from neartag.linalg import rows
from neartag.linalg.products import matmul

FORMS = {
    "csr": lambda X: X,
    "csr_array": csr_array,
    "csc": csc_matrix,
    "coo": coo_matrix,
    "float64": lambda X: X.astype(np.float64),
    "int": lambda X: (X * 10).astype(np.int64),
    "bool": lambda X: X.astype(bool),
    "dense": lambda X: X.toarray(),
    "Fortran order": lambda X: np.asfortranarray(X.toarray()),
    "every other column": lambda X: X.toarray().astype(np.float64)[:, ::2],
}


@pytest.mark.parametrize("form", FORMS)
def test_as_rows(form):
    given = FORMS[form](random_rows())
    found = rows.as_rows(given)
    assert found.dtype == np.float32
    dense = given.toarray() if sparse.issparse(given) else given
    if sparse.issparse(given):
        assert isinstance(found, csr_matrix)
        assert found.has_canonical_format
        found = found.toarray()
    else:
        assert found.flags.c_contiguous
    assert np.array_equal(found, dense.astype(np.float32))


def messy(dtype, container=csr_matrix):
    """Return two rows out of order, with a column that stands twice."""
    values = np.array([3, 1, 2, 5, 4], dtype)
    return container((values, np.array([2, 0, 2, 1, 0], np.int32), np.array([0, 3, 5], np.int32)), shape=(2, 3))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("container", [csr_matrix, csr_array])
def test_as_rows_sums_and_sorts_without_touching_what_was_given(dtype, container):
    given = messy(dtype, container)
    found = rows.as_rows(given)
    assert found.has_canonical_format
    assert found.toarray().tolist() == [[1, 0, 5], [4, 5, 0]]
    untouched = messy(dtype, container)
    assert given.indices.tolist() == untouched.indices.tolist()
    assert given.data.tolist() == untouched.data.tolist()
    assert given.toarray().tolist() == [[1, 0, 5], [4, 5, 0]]


def test_as_rows_does_not_copy_what_is_right_already():
    X = random_rows()
    assert np.shares_memory(rows.as_rows(X).data, X.data)
    dense = X.toarray()
    assert np.shares_memory(rows.as_rows(dense), dense)


def test_compact_makes_well_filled_rows_dense():
    thin, full = random_rows(density=0.05), random_rows(density=0.6)
    assert rows.compact(thin) is thin
    assert isinstance(rows.compact(full), np.ndarray)
    assert np.array_equal(rows.compact(full), full.toarray())
    dense = thin.toarray()
    assert rows.compact(dense) is dense
    assert rows.compact(csr_matrix((0, 4), dtype=np.float32)).shape == (0, 4)


@pytest.mark.parametrize(
    ("shape", "stored", "as_array"),
    [((100, 100), 300, True), ((100, 100), 299, False), ((2048, 1025), 10**6, False), ((0, 5), 0, False)],
)
def test_weights_become_a_table_where_they_are_filled_well_and_small(shape, stored, as_array):
    places = np.random.default_rng(0).choice(max(1, shape[0] * shape[1]), stored, replace=False)
    weights = csr_matrix((np.ones(stored, np.float32), np.divmod(places, shape[1])), shape)
    table = rows.dense_if_faster(weights)
    assert table.dtype == np.float32
    assert table.flags.c_contiguous
    np.testing.assert_array_equal(table, weights.toarray() if as_array else np.empty((0, 0)))
    np.testing.assert_array_equal(rows.dense_if_faster(rows.transpose(weights), turned=True), table)


def test_parts_have_the_kernels_types():
    for matrix in (random_rows(), random_rows().astype(np.float64)):
        assert [part.dtype for part in rows.csr_arrays(matrix)] == [np.int64, np.int32, np.float32]


@pytest.mark.parametrize("sparse_rows", [True, False])
def test_transpose(sparse_rows):
    X = random_rows()
    found = rows.transpose(X if sparse_rows else X.toarray())
    if sparse_rows:
        assert isinstance(found, csr_matrix)
        assert found.has_sorted_indices
        found = found.toarray()
    else:
        assert found.flags.c_contiguous
    assert np.array_equal(found, X.toarray().T)


@pytest.mark.parametrize("sparse_rows", [True, False])
def test_normalise(sparse_rows):
    X = random_rows(density=0.3)
    X.data[::2] *= -1e3
    unit = rows.normalise(X if sparse_rows else X.toarray())
    assert unit.dtype == np.float32
    dense = unit.toarray() if sparse_rows else unit
    lengths = np.linalg.norm(X.toarray().astype(np.float64), axis=1)
    wanted = X.toarray() / np.where(lengths > 0, lengths, 1)[:, None]
    np.testing.assert_allclose(dense, wanted, rtol=1e-6, atol=0)
    assert (dense[[0, -1]] == 0).all(), "a row of zeros stays one"


@pytest.mark.parametrize("size", [1e-38, 1e-44, 5e37])
def test_normalise_does_not_lose_very_small_or_large_rows(size):
    row = np.array([[3 * size, 0, 4 * size], [0, 0, 0]], np.float32)
    exact = row.astype(np.float64) / np.maximum(np.linalg.norm(row.astype(np.float64), axis=1, keepdims=True), 1e-300)
    np.testing.assert_allclose(rows.normalise(row), exact, rtol=1e-6)
    np.testing.assert_allclose(rows.normalise(csr_matrix(row)).toarray(), exact, rtol=1e-6)


def test_normalise_of_matrices_without_entries():
    assert rows.normalise(csr_matrix((3, 4), dtype=np.float32)).nnz == 0
    assert rows.normalise(csr_matrix((0, 4), dtype=np.float32)).shape == (0, 4)
    assert rows.normalise(np.zeros((0, 4), np.float32)).shape == (0, 4)


def test_a_row_has_the_same_length_alone_and_among_others():
    X = random_rows(density=0.5)
    whole = rows.normalise(X)
    for row in range(30):
        assert rows.normalise(X[[row]]).data.tobytes() == whole[[row]].data.tobytes()


def unit_rows(sparse_rows, n=30, d=20):
    X = rows.normalise(random_rows(n, d, 0.5))
    return X if sparse_rows else X.toarray()


@pytest.mark.parametrize("sparse_rows", [True, False])
def test_unit_rows_are_returned_as_they_are(sparse_rows):
    unit = unit_rows(sparse_rows)
    assert rows.normalise(unit) is unit
    assert rows.normalise(unit.astype(np.float64)).dtype == np.float32


@pytest.mark.parametrize("sparse_rows", [True, False])
def test_what_becomes_of_a_row_does_not_depend_on_the_others(sparse_rows):
    nearly, longer = unit_rows(sparse_rows), unit_rows(sparse_rows)
    nearly = nearly * np.float32(1 + 3e-7)  # of unit length up to rounding, if not to the last bit
    stack = sparse.vstack if sparse_rows else np.vstack
    mixed = stack([nearly, longer * np.float32(2)])
    mixed = csr_matrix(mixed) if sparse_rows else mixed
    found = rows.normalise(mixed)
    assert rows.dense(found)[:30].tobytes() == rows.dense(nearly).tobytes()
    for size in (1, 7, 100):
        assert rows.dense(rows.normalise(mixed, widened=size)).tobytes() == rows.dense(found).tobytes()


@pytest.mark.parametrize("sparse_rows", [True, False])
def test_in_place_nothing_is_held_twice(sparse_rows):
    X = random_rows() * np.float32(3)
    X = X if sparse_rows else X.toarray()
    kept, wanted = X.copy(), rows.dense(rows.normalise(X)).copy()
    assert (rows.dense(X) == rows.dense(kept)).all(), "not unless asked"
    locked = X.copy()
    (locked.data if sparse_rows else locked).setflags(write=False)
    assert rows.dense(rows.normalise(locked, in_place=True)).tobytes() == wanted.tobytes()
    assert (rows.dense(locked) == rows.dense(kept)).all()
    found = rows.normalise(X, in_place=True)
    assert rows.dense(found).tobytes() == wanted.tobytes()
    assert np.shares_memory(found.data if sparse_rows else found, X.data if sparse_rows else X)


@pytest.mark.parametrize("sparse_rows", [True, False])
def test_rows_over_their_own_columns(sparse_rows):
    X = random_rows()
    X = csr_matrix(X.multiply(np.arange(X.shape[1]) % 3 > 0))  # every third column empty
    X.eliminate_zeros()
    given = X if sparse_rows else X.toarray()
    own, columns = rows.used_columns(given)
    assert columns.tolist() == np.flatnonzero(X.toarray().any(axis=0)).tolist()
    np.testing.assert_array_equal(rows.dense(own), X.toarray()[:, columns])
    new = random_rows()  # has features that the others have not
    weights = np.random.default_rng(1).standard_normal((len(columns), 5)).astype(np.float32)
    selected = rows.select_columns(new if sparse_rows else new.toarray(), columns)
    np.testing.assert_allclose(matmul(selected, weights), new.toarray()[:, columns] @ weights, atol=1e-5)
    assert rows.used_columns(own) == (own, None) if sparse_rows else rows.used_columns(own)[1] is None
    assert rows.select_columns(new, None) is new

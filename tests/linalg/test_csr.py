"""CSR helpers against the dense array, empty rows and empty matrices included."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from kernel_helpers import random_rows
from neartag.linalg import csr

MATRICES = {
    "some": random_rows(),
    "no entries": csr_matrix((4, 3), dtype=np.float32),
    "no rows": csr_matrix((0, 3), dtype=np.float32),
    "no columns": csr_matrix((3, 0), dtype=np.float32),
}


@pytest.fixture(params=MATRICES)
def matrix(request):
    return MATRICES[request.param].copy()


@pytest.mark.parametrize("counts", [[], [0], [3, 0, 2], np.array([1, 1], np.int32), np.array([True, False, True])])
def test_pointer(counts):
    found = csr.pointer(counts)
    assert found.tolist() == [sum(int(count) for count in counts[:place]) for place in range(len(counts) + 1)]


def test_counts_do_not_overflow():
    assert csr.pointer(np.full(3, 2**30, np.int32)).tolist() == [0, 2**30, 2**31, 3 * 2**30]


def test_lists_end_where_their_column_is_none():
    columns = np.array([[2, 0, -1], [-1, -1, -1], [1, 3, 2]])
    values = np.arange(9, dtype=np.float32).reshape(3, 3) + 1
    found = csr.from_lists(columns, values, 4)
    assert found.toarray().tolist() == [[2, 0, 1, 0], [0, 0, 0, 0], [0, 7, 9, 8]]
    assert found.dtype == np.float32
    ones = csr.from_lists(columns, None, 4)
    assert ones.dtype == np.float32
    assert ones.toarray().tolist() == (found.toarray() > 0).tolist()


def test_of_lists_only_what_is_kept_is_taken():
    columns, values = np.array([[2, 0], [1, 1]]), np.array([[5.0, 6.0], [7.0, 8.0]])
    found = csr.from_lists(columns, values, 3, kept=values > 5.5)
    assert found.dtype == np.float64
    assert found.nnz == 3
    assert found.toarray().tolist() == [[6, 0, 0], [0, 15, 0]]


def test_lists_without_rows():
    assert csr.from_lists(np.empty((0, 3), np.int32), None, 5).shape == (0, 5)


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_entries_that_are_kept(matrix, share):
    kept = np.random.default_rng(0).random(matrix.nnz) < share
    before = matrix.copy()
    found = csr.keep_entries(matrix, kept)
    wanted = matrix.copy()
    wanted.data = wanted.data * kept
    assert found.nnz == kept.sum()
    np.testing.assert_array_equal(found.toarray(), wanted.toarray())
    np.testing.assert_array_equal(matrix.toarray(), before.toarray())


@pytest.mark.parametrize("more", [0, 1, 5])
def test_more_columns(matrix, more):
    found = csr.widen(matrix, matrix.shape[1] + more)
    np.testing.assert_array_equal(found.toarray(), np.pad(matrix.toarray(), [(0, 0), (0, more)]))
    assert np.shares_memory(found.data, matrix.data) or not matrix.nnz


@pytest.mark.parametrize("more", [0, 1, 5])
def test_more_rows(matrix, more):
    found = csr.heighten(matrix, matrix.shape[0] + more)
    np.testing.assert_array_equal(found.toarray(), np.pad(matrix.toarray(), [(0, more), (0, 0)]))


def test_the_row_of_each_entry(matrix):
    assert csr.row_numbers(matrix).tolist() == matrix.tocoo().row.tolist()

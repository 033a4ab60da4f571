"""Arrays in files: the same numbers as in memory, made with little of it."""

from __future__ import annotations

import errno
import os
import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse import csr_matrix

from neartag.core import memory
from neartag.core.errors import WorkError
from neartag.data.mapped import mapped_bytes
from neartag.linalg import large_arrays, large_csr
from neartag.linalg.large_arrays import empty, in_files, insert, take
from neartag.linalg.rows import take_rows, transpose, used_columns
from neartag.search.inverted_index import FeatureIndex

BLOCK = 2000  # bytes


def matrix(n: int, d: int, density: float = 0.1, seed: int = 0) -> csr_matrix:
    return csr_matrix(sparse.random(n, d, density, format="csr", dtype=np.float32, random_state=seed))


def assert_identical(made: csr_matrix, expected: csr_matrix) -> None:
    assert made.shape == expected.shape
    for name in ("data", "indices", "indptr"):
        mine, theirs = getattr(made, name), getattr(expected, name)
        assert mine.dtype == theirs.dtype, name
        np.testing.assert_array_equal(mine, theirs)


def is_in_file(array: np.ndarray) -> bool:
    return mapped_bytes(array) == array.nbytes > 0


@pytest.mark.parametrize(("n", "d"), [(200, 90), (90, 200), (3000, 7), (7, 3000), (1500, 2)])
@pytest.mark.parametrize("block", [1, 100, BLOCK])
def test_a_transpose_by_blocks_is_that_of_scipy(tmp_path, n, d, block):
    rows = matrix(n, d, 0.3)
    with in_files(tmp_path, block):
        turned = transpose(rows)
    assert is_in_file(turned.data)
    assert is_in_file(turned.indices)
    assert_identical(turned, csr_matrix(rows.T.tocsr()))


def test_a_transpose_of_rows_that_are_empty_or_hold_everything(tmp_path):
    rows = csr_matrix(sparse.vstack([csr_matrix((40, 300), dtype=np.float32), np.ones((1, 300), np.float32)] * 3))
    rows = csr_matrix(rows, dtype=np.float32)
    with in_files(tmp_path, 500):
        assert_identical(transpose(rows), csr_matrix(rows.T.tocsr()))


def test_rows_are_taken_and_stacked_as_by_scipy(tmp_path):
    rows, others = matrix(300, 80), matrix(150, 80, seed=1)
    mask = np.random.default_rng(0).random(300) < 0.7
    numbers = np.random.default_rng(1).integers(300, size=250)
    with in_files(tmp_path, BLOCK):
        taken, chosen, stacked = take_rows(rows, mask), take_rows(rows, numbers), large_csr.vstack([rows, others])
        assert is_in_file(taken.data)
        assert is_in_file(stacked.indices)
    assert_identical(taken, rows[mask])
    assert_identical(chosen, rows[numbers])
    assert_identical(stacked, csr_matrix(sparse.vstack([rows, others], format="csr")))
    assert_identical(large_csr.row_range(rows, 20, 90), rows[20:90])
    np.testing.assert_array_equal(large_csr.column_counts(rows), np.bincount(rows.indices, minlength=80))


def test_entries_of_arrays_are_taken_and_inserted_as_by_numpy(tmp_path):
    random = np.random.default_rng(0)
    points, new = random.random((100, 7)), random.random((9, 7))
    order, before = random.permutation(100), np.array([5, 0, 100, 5, 5, 99, 0, 41, 100])
    with in_files(tmp_path, BLOCK):
        taken, inserted = take(points, order), insert(points, before, new)
        assert is_in_file(taken)
        assert is_in_file(inserted)
    np.testing.assert_array_equal(taken, points[order])
    np.testing.assert_array_equal(inserted, np.insert(points, before, new, axis=0))


def test_small_arrays_stay_in_memory_and_so_do_all_without_a_limit(tmp_path):
    with in_files(tmp_path, BLOCK):
        assert empty(10, np.float32).base is None
        assert empty(BLOCK // 4, np.float32).base is not None
        assert empty(BLOCK // 40, np.float32, collected=True).base is not None
    with in_files(None, BLOCK):
        assert empty(BLOCK, np.float32).base is None
    assert empty(BLOCK, np.float32).base is None


def test_no_file_is_left(tmp_path):
    with in_files(tmp_path, 1):
        kept = empty(1000, np.float32)
    kept[:] = 3
    assert not list(tmp_path.iterdir())
    assert kept.sum() == 3000


def test_a_full_disk_is_told(tmp_path, monkeypatch):
    def full(*arguments: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
    with in_files(tmp_path, 1), pytest.raises(WorkError, match=r"No space left on device.*make room"):
        empty(1000, np.float32)


def test_a_transpose_by_blocks_takes_a_few_blocks_of_memory(tmp_path):
    rows = matrix(20_000, 300, 0.1)
    block, whole = 2**18, rows.data.nbytes + rows.indices.nbytes
    tracemalloc.start()
    with in_files(tmp_path, block):
        transpose(rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10 * block < whole


def test_the_columns_used_are_numbered_anew():
    rows = matrix(30, 400, 0.02)
    narrow, columns = used_columns(rows)
    assert columns is not None
    np.testing.assert_array_equal(columns, np.unique(rows.indices))
    np.testing.assert_array_equal(narrow.toarray(), rows.toarray()[:, columns])


def test_what_is_too_much_for_the_computer_goes_into_temporary_files(monkeypatch):
    postings = matrix(60, 500, 0.3)  # (d, n)
    expected = FeatureIndex(postings).find(matrix(5, 60, 0.4), 7)
    monkeypatch.setattr(memory, "total", lambda: 3 * (postings.data.nbytes + postings.indices.nbytes))
    index = FeatureIndex(postings)
    assert is_in_file(index._row_arrays[2])
    for made, wanted in zip(index.find(matrix(5, 60, 0.4), 7), expected, strict=True):
        np.testing.assert_array_equal(made, wanted)
    monkeypatch.setattr(memory, "total", lambda: 5 * (postings.data.nbytes + postings.indices.nbytes))
    assert not is_in_file(FeatureIndex(postings)._row_arrays[2])


def test_without_room_for_temporary_files_arrays_are_made_in_memory(monkeypatch):
    def refuse(*given):
        raise OSError(errno.ENOSPC, "no space")

    monkeypatch.setattr(large_arrays, "_reserve", refuse)
    monkeypatch.setattr(large_arrays.memory, "total", lambda: 3200)
    with large_arrays.in_temporary_files(10_000):
        array = large_arrays.empty(1000, np.int8)
    assert array.base is None
    assert array.shape == (1000,)

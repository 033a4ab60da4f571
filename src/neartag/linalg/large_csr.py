"""CSR matrices that may be larger than memory: rows taken, stacked and transposed, by blocks where they are large.

The results are those of scipy, to the last byte. Only where they are made differs, see `large_arrays`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from scipy import sparse
from scipy.sparse import csr_matrix

from neartag.linalg import csr
from neartag.linalg.large_arrays import are_large, block_bytes, empty

COUNTED_ENTRIES = 2**17  # column numbers counted at a time, because numpy makes an int64 copy


def from_arrays(data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, shape: tuple[int, int]) -> csr_matrix:
    """Return the matrix of these very arrays: scipy's constructor may copy what is part of a larger array."""
    matrix = csr_matrix(shape, dtype=data.dtype)
    matrix.data, matrix.indices, matrix.indptr = data, indices, indptr
    return matrix


def row_range(matrix: csr_matrix, first: int, last: int) -> csr_matrix:
    """Return the rows from `first` up to `last`, without a copy of their entries."""
    own = slice(int(matrix.indptr[first]), int(matrix.indptr[last]))
    indptr = matrix.indptr[first : last + 1] - matrix.indptr[first]
    return from_arrays(matrix.data[own], matrix.indices[own], indptr, (last - first, matrix.shape[1]))


def column_counts(matrix: csr_matrix) -> np.ndarray:
    """Return how many entries each column has (d,)."""
    counts = np.zeros(matrix.shape[1], np.int64)
    for first in range(0, len(matrix.indices), COUNTED_ENTRIES):
        counts += np.bincount(matrix.indices[first : first + COUNTED_ENTRIES], minlength=matrix.shape[1])
    return counts


def take_rows(matrix: csr_matrix, rows: np.ndarray) -> csr_matrix:
    """Return matrix[rows], for row numbers or a mask."""
    numbers = np.flatnonzero(rows) if rows.dtype == bool else rows
    counts = np.diff(matrix.indptr)[numbers]
    entries = int(counts.sum(dtype=np.int64))
    if not are_large(entries * _entry_bytes(matrix)):
        return matrix[rows]
    index = _index_type(matrix, entries)
    ends = csr.pointer(counts)
    data, indices = empty(entries, matrix.dtype), empty(entries, index)
    for first, last in _blocks(ends, _entry_bytes(matrix)):
        part = matrix[numbers[first:last]]
        own = slice(int(ends[first]), int(ends[last]))
        data[own], indices[own] = part.data, part.indices
    return from_arrays(data, indices, ends.astype(index), (len(numbers), matrix.shape[1]))


def vstack(blocks: Sequence[csr_matrix]) -> csr_matrix:
    """Return the rows of all blocks, one block after the other."""
    entries = sum(block.nnz for block in blocks)
    if not are_large(sum(block.nnz * _entry_bytes(block) for block in blocks)):
        return csr_matrix(sparse.vstack(blocks, format="csr"))
    index = max((_index_type(block, entries) for block in blocks), key=lambda dtype: dtype.itemsize)
    data, indices = empty(entries, blocks[0].dtype), empty(entries, index)
    pointers, end = [np.zeros(1, index)], 0
    for block in blocks:
        own = slice(end, end + block.nnz)
        data[own], indices[own] = block.data, block.indices
        pointers.append((block.indptr[1:] + np.int64(end)).astype(index))
        end = own.stop
    height = sum(block.shape[0] for block in blocks)
    return from_arrays(data, indices, np.concatenate(pointers), (height, blocks[0].shape[1]))


def transpose(matrix: csr_matrix) -> csr_matrix:
    """Return the transpose, its rows sorted.

    A large one is made in two passes. The first turns one block of rows after the other; the second puts together, for
    one range of columns after the other, what all blocks have of it. So everything is read and written in order.
    """
    if not are_large(matrix.nnz * _entry_bytes(matrix)):
        return csr_matrix(matrix.T.tocsr())
    (n, d), index = matrix.shape, _index_type(matrix, max(matrix.nnz, *matrix.shape))
    counts = column_counts(matrix)
    ends = csr.pointer(counts)
    blocks = list(_blocks(matrix.indptr, _entry_bytes(matrix)))
    turned_data, turned_rows = empty(matrix.nnz, matrix.dtype), empty(matrix.nnz, index)
    pointers = empty((len(blocks), d + 1), np.int64)
    for number, (first, last) in enumerate(blocks):
        turned = row_range(matrix, first, last).tocsc()
        start = int(matrix.indptr[first])
        own = slice(start, start + turned.nnz)
        turned_data[own], turned_rows[own] = turned.data, turned.indices
        turned_rows[own] += first
        pointers[number] = turned.indptr
        pointers[number] += start
    data, indices = empty(matrix.nnz, matrix.dtype), empty(matrix.nnz, index)
    for first, last in _blocks(ends, _entry_bytes(matrix)):
        begin, stop = int(ends[first]), int(ends[last])
        own_data, own_rows = np.empty(stop - begin, matrix.dtype), np.empty(stop - begin, index)
        free = ends[first:last] - begin  # where the next entry of each column goes
        for pointer in pointers:
            own = slice(int(pointer[first]), int(pointer[last]))
            many = np.diff(pointer[first : last + 1])
            places = np.arange(own.start, own.stop) + np.repeat(free - pointer[first:last], many)
            own_data[places], own_rows[places] = turned_data[own], turned_rows[own]
            free += many
        data[begin:stop], indices[begin:stop] = own_data, own_rows
    return from_arrays(data, indices, ends.astype(index), (d, n))


def _blocks(ends: np.ndarray, entry_bytes: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of rows of as many entries as are worked on at a time, one row at least."""
    entries, first = max(1, (block_bytes() or 0) // entry_bytes), 0
    while first < len(ends) - 1:
        last = int(np.searchsorted(ends, int(ends[first]) + entries, side="right")) - 1
        first, start = max(first + 1, last), first
        yield start, first


def _entry_bytes(matrix: csr_matrix) -> int:
    return matrix.data.itemsize + matrix.indices.itemsize


def _index_type(matrix: csr_matrix, largest: int) -> np.dtype:
    """Return the type of column numbers and pointers that scipy would choose."""
    wide = largest > np.iinfo(np.int32).max or np.int64 in (matrix.indptr.dtype, matrix.indices.dtype)
    return np.dtype(np.int64 if wide else np.int32)

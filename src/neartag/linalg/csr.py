"""CSR matrices built from their arrays: pointers from counts, matrices from lists, more rows or columns."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix


def pointer(counts: np.ndarray | list[int]) -> np.ndarray:
    """Return where each row begins and where the last one ends, (n + 1,) int64, from each row's number of entries."""
    return np.concatenate([[0], np.cumsum(counts)])


def from_lists(
    columns: np.ndarray, values: np.ndarray | None, width: int, kept: np.ndarray | None = None
) -> csr_matrix:
    """Return the matrix (m, width) of lists of columns and values (m, room); without values, of float32 ones.

    `kept` (m, room) marks the entries of each list that are taken; None takes those whose column is not −1.
    """
    kept = columns >= 0 if kept is None else kept
    indices = columns[kept]
    data = np.ones(len(indices), np.float32) if values is None else values[kept]
    return csr_matrix((data, indices, pointer(kept.sum(axis=1))), shape=(len(columns), width))


def keep_entries(matrix: csr_matrix, kept: np.ndarray) -> csr_matrix:
    """Return the matrix with only those of its stored entries that `kept` (nnz,) marks."""
    places = np.flatnonzero(kept)  # quicker than a running sum of all marks
    pieces = matrix.data[places], matrix.indices[places], np.searchsorted(places, matrix.indptr)
    return csr_matrix(pieces, shape=matrix.shape)


def widen(matrix: csr_matrix, columns: int) -> csr_matrix:
    """Return the matrix with so many columns, the new ones empty; it shares the arrays of the matrix given."""
    return csr_matrix((matrix.data, matrix.indices, matrix.indptr), shape=(matrix.shape[0], columns))


def heighten(matrix: csr_matrix, rows: int) -> csr_matrix:
    """Return the matrix with so many rows, the new ones at the end and empty."""
    more = np.full(rows - matrix.shape[0], matrix.indptr[-1], matrix.indptr.dtype)
    return csr_matrix((matrix.data, matrix.indices, np.concatenate([matrix.indptr, more])), (rows, matrix.shape[1]))


def row_numbers(matrix: csr_matrix) -> np.ndarray:
    """Return the row of each stored entry, (nnz,)."""
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))

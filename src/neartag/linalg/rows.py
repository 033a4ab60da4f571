"""Feature rows, dense, sparse or both side by side, in one form: chosen columns, transposes, unit length.

A matrix of rows is a float32 array in C order, a float32 CSR matrix with sorted rows, or both: a `HybridRows`. Weights
(regressors, centroids) are (d, width), dense, or CSR where small weights were dropped. Products are in `products`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse
from scipy.sparse import csr_matrix

from neartag.linalg import large_arrays, large_csr
from neartag.linalg.coded_rows import CodedRows, Vectors, float_blocks
from neartag.linalg.hybrid_rows import HybridColumns, HybridRows

Rows: TypeAlias = Any  # np.ndarray | csr_matrix | HybridRows; scipy gives its matrices no types
CSRArrays: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray]  # indptr, indices, data

# From this share of stored entries on, a cluster's rows become a dense array: BLAS on all entries is then quicker than
# skipping zeros. The measured break-even lies between 0.1 and 0.3.
DENSE_SHARE = 0.2
# From this share of stored entries on, adding whole rows of a table of weights is quicker than adding single entries of
# a list. Up to so many entries the table stays in cache.
TABLE_SHARE, TABLE_ENTRIES = 0.03, 2**21
# About so many rows tell dense features from sparse ones.
SAMPLED_ROWS = 1000
# A length that differs from 1 by no more is that of a unit row in float32, or in a text of six digits.
UNIT_TOLERANCE = 1e-6
# Entries worked on at a time where a float64 copy of them is needed.
WIDENED_ENTRIES = 2**16


def as_rows(X: object) -> Rows:
    """Return X as float32 rows, dense in C order or CSR with sorted, summed indices; no copy where it is so already."""
    if isinstance(X, HybridRows):
        return replace(X, words=as_rows(X.words), vectors=as_rows(X.vectors))
    if isinstance(X, CodedRows):
        return X
    if sparse.issparse(X):
        rows = csr_matrix(X, dtype=np.float32)
        if not rows.has_canonical_format:
            rows = rows.copy()  # index arrays may be the caller's, and sorting would be done in them
            rows.sum_duplicates()
        return rows
    return np.ascontiguousarray(X, dtype=np.float32)


def is_dense(rows: Rows) -> bool:
    """Say whether so many entries are not zero that the features must be measurements, and not words."""
    if isinstance(rows, HybridRows):
        return False
    some = rows[:: max(1, rows.shape[0] // SAMPLED_ROWS)]
    filled = np.count_nonzero(some.data if sparse.issparse(some) else some)
    return bool(filled >= DENSE_SHARE * max(1, some.shape[0] * some.shape[1]))


def compact(rows: Rows) -> Rows:
    """Return a cluster's rows in the form that is quicker to multiply: dense where few entries are zero."""
    if sparse.issparse(rows):
        filled = rows.nnz / max(1, rows.shape[0] * rows.shape[1])
        return dense(rows) if filled >= DENSE_SHARE else rows
    return rows


def dense(rows: Rows) -> np.ndarray:
    """Return rows as a dense array in C order."""
    is_array = isinstance(rows, np.ndarray)
    return rows if is_array else np.ascontiguousarray(rows.toarray())


def csr_arrays(matrix: csr_matrix) -> CSRArrays:
    """Return (indptr, indices, data) in the types that the kernels are compiled for."""
    return (
        matrix.indptr.astype(np.int64, copy=False),
        matrix.indices.astype(np.int32, copy=False),
        matrix.data.astype(np.float32, copy=False),
    )


def dense_if_faster(weights: csr_matrix, *, turned: bool = False, max_entries: int = TABLE_ENTRIES) -> np.ndarray:
    """Return sparse weights (d, width) as a dense array if products with it are faster, else an empty one (0, 0).

    `turned`: the weights given are (width, d). An array has at most `max_entries`.
    """
    size = weights.shape[0] * weights.shape[1]
    if not 0 < size <= max_entries or weights.nnz < TABLE_SHARE * size:
        return np.empty((0, 0), np.float32)
    return dense(transpose(weights) if turned else weights)


def used_columns(rows: Rows) -> tuple[Rows, np.ndarray | None]:
    """Return rows over the columns that occur in them only, and these columns' numbers in rising order.

    A cluster of a large data set has a small part of its features; all that is made for it then has as few. None, and
    the rows as they are, where every column occurs. All columns of vectors count as occurring.
    """
    if isinstance(rows, HybridRows):
        words, columns = used_columns(rows.words)
        if columns is None:
            return rows, None
        of_vectors = np.arange(rows.shape[1] - rows.dim, rows.shape[1], dtype=np.int32)
        return replace(rows, words=words), np.concatenate([columns, of_vectors])
    if sparse.issparse(rows):
        occurs = np.zeros(rows.shape[1], bool)
        occurs[rows.indices] = True
    else:
        occurs = rows.any(axis=0)
    columns = np.flatnonzero(occurs).astype(np.int32)
    if len(columns) == rows.shape[1] or not len(columns):
        return rows, None
    if sparse.issparse(rows):  # every entry's column is there: a table tells its place with less memory than a search
        place = np.cumsum(occurs, dtype=np.int32) - 1
        return csr_matrix((rows.data, place[rows.indices], rows.indptr), shape=(rows.shape[0], len(columns))), columns
    return select_columns(rows, columns), columns


def select_columns(rows: Rows, columns: np.ndarray | None) -> Rows:
    """Return rows over some columns, given in rising order; None: all. What is in other columns becomes zero."""
    if columns is None:
        return rows
    if isinstance(rows, HybridRows):  # whose columns of vectors are all among those wanted
        return replace(rows, words=select_columns(rows.words, columns[: len(columns) - rows.dim]))
    if not sparse.issparse(rows):
        return np.ascontiguousarray(rows[:, columns])
    place = np.minimum(np.searchsorted(columns, rows.indices), len(columns) - 1).astype(np.int32)
    # Entries of other columns stay as zeros at some place: cheaper than taking them out, and products do not notice.
    data = np.where(columns[place] == rows.indices, rows.data, np.float32(0))
    return csr_matrix((data, place, rows.indptr), shape=(rows.shape[0], len(columns)))


def transpose(rows: Rows) -> Rows:
    """Return the transpose, again as rows; of hybrid rows, for products only."""
    if isinstance(rows, HybridRows):
        return HybridColumns(transpose(rows.words), rows.vectors, rows.vector_weight)
    if sparse.issparse(rows):
        return large_csr.transpose(rows)
    return np.ascontiguousarray(rows.T)


def normalise(rows: Rows, *, in_place: bool = False, widened: int = WIDENED_ENTRIES) -> Rows:
    """Return rows of unit Euclidean length; a row of zeros stays a row of zeros.

    A row that has unit length, up to rounding, does not change. If no row changes, the rows given are returned.
    `in_place` overwrites the rows given, if they are writable float32, so that no second copy is held. `widened` is how
    many entries are worked on in float64 at a time; the result does not depend on it. Of hybrid rows each part is
    made of unit length; vectors that are coded were before, and stay as they are.
    """
    if isinstance(rows, CodedRows):
        return rows
    if isinstance(rows, HybridRows):
        words, vectors = (normalise(part, in_place=in_place, widened=widened) for part in (rows.words, rows.vectors))
        return replace(rows, words=words, vectors=vectors)
    ends, lengths = _row_ends(rows), row_lengths(rows, widened=widened)
    # Each row by itself: what becomes of it must not depend on those beside it.
    lengths[(lengths == 0) | (np.abs(lengths - 1) <= UNIT_TOLERANCE)] = 1
    if (lengths == 1).all():
        return rows.astype(np.float32, copy=False)
    values = rows.data if sparse.issparse(rows) else rows
    writable = in_place and values.dtype == np.float32 and values.flags.writeable
    scaled = values if writable else np.empty(values.shape, np.float32)
    for first, last in _blocks(ends, widened):
        if sparse.issparse(rows):
            entries = slice(ends[first], ends[last])
            scaled[entries] = values[entries] / np.repeat(lengths[first:last], np.diff(ends[first : last + 1]))
        else:
            scaled[first:last] = values[first:last] / lengths[first:last, None]
    if not sparse.issparse(rows):
        return scaled
    result = csr_matrix((scaled, rows.indices, rows.indptr), shape=rows.shape)
    result.has_sorted_indices = True
    return result


def code_unit_vectors(vectors: Vectors) -> CodedRows:
    """Return vectors (n, e) of unit length, coded: block by block, so that there is no copy of all as float32."""
    if isinstance(vectors, CodedRows):
        return vectors
    coded = CodedRows.empty(*vectors.shape)
    for block, own in float_blocks(vectors):
        coded.write(block, normalise(as_rows(own)))
    return coded


def as_training_rows(X: object) -> Rows:
    """Return X as unit rows, in the form that training holds them: the vectors of hybrid rows coded."""
    if not isinstance(X, HybridRows):
        return normalise(as_rows(X))
    return replace(X, words=normalise(as_rows(X.words)), vectors=code_unit_vectors(X.vectors))


def take_rows(rows: Rows, numbers: np.ndarray) -> Rows:
    """Return some of the rows, by their numbers or a mask: in a file where they are large, see `large_arrays`."""
    if isinstance(rows, HybridRows):
        return replace(rows, words=take_rows(rows.words, numbers), vectors=take_rows(rows.vectors, numbers))
    if isinstance(rows, CodedRows):
        return CodedRows(take_rows(rows.codes, numbers), take_rows(rows.scales, numbers))
    if sparse.issparse(rows):
        return large_csr.take_rows(rows, numbers)
    return large_arrays.take(rows, np.flatnonzero(numbers) if numbers.dtype == bool else numbers)


def row_block(rows: Rows, first: int, last: int) -> Rows:
    """Return the rows from `first` up to `last`; of sparse ones no entry is copied."""
    return large_csr.row_range(rows, first, last) if sparse.issparse(rows) else rows[first:last]


def row_lengths(rows: Rows, *, widened: int = WIDENED_ENTRIES) -> np.ndarray:
    """Return the Euclidean length of each row (n,), in float64."""
    if isinstance(rows, HybridRows):
        words, vectors = (row_lengths(part, widened=widened) for part in (rows.words, rows.vectors))
        return np.hypot(words, rows.vector_weight * vectors)
    if isinstance(rows, CodedRows):
        return np.concatenate([np.empty(0), *(row_lengths(own, widened=widened) for _, own in float_blocks(rows))])
    ends = _row_ends(rows)
    return np.concatenate([np.empty(0), *(_lengths(rows, ends, *block) for block in _blocks(ends, widened))])


def column_counts(rows: Rows) -> np.ndarray:
    """Return how many rows have something in each column (d,)."""
    if sparse.issparse(rows):
        return large_csr.column_counts(rows)
    return np.count_nonzero(rows, axis=0)


def _row_ends(rows: Rows) -> np.ndarray:
    """Return where each row's entries begin, and where the last one's end (n + 1,)."""
    return rows.indptr if sparse.issparse(rows) else np.arange(rows.shape[0] + 1) * rows.shape[1]


def _blocks(ends: np.ndarray, entries: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of rows of so many entries, one row at least: all rows in float64 would take twice their room."""
    first = 0
    while first < len(ends) - 1:
        last = int(np.searchsorted(ends, ends[first] + entries, side="right")) - 1
        first, start = max(first + 1, last), first
        yield start, first


def _lengths(rows: Rows, ends: np.ndarray, first: int, last: int) -> np.ndarray:
    """Return the lengths of some rows. They are summed in float64, so that they do not depend on the ranges of rows."""
    if not sparse.issparse(rows):
        return np.linalg.norm(rows[first:last].astype(np.float64), axis=1)
    squares = np.zeros(last - first)
    starts = ends[first:last] - ends[first]
    filled = np.diff(ends[first : last + 1]) > 0
    squares[filled] = np.add.reduceat(rows.data[ends[first] : ends[last]].astype(np.float64) ** 2, starts[filled])
    return np.sqrt(squares)

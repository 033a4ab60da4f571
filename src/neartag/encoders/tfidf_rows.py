"""Counts of terms weighted as tf-idf, in rows of length 1.

Weights are float64 until the end, so that the order of summation hardly shows.
"""

from __future__ import annotations

import copy
from array import array

import numpy as np
from scipy.sparse import csr_matrix

from neartag.encoders.term_counts import TermCounts
from neartag.encoders.terms import UNKNOWN


def make_row(occurrences: array[int], idf: np.ndarray, sublinear: bool, empty: csr_matrix) -> csr_matrix:
    """Return the row of one text, the same as `CountedTexts.to_rows` returns, without most of its calls.

    `occurrences` has the column of each occurrence of a term; `empty` is the row that `empty_row` returned.
    """
    columns, counts = np.unique(np.array(occurrences, dtype=np.int32), return_counts=True)
    if columns.size and columns[0] == UNKNOWN:
        columns, counts = columns[1:], counts[1:]
    data = _weigh(counts, columns, idf, sublinear)
    # bincount adds up one after the other, as for several rows; numpy's sum takes another order.
    length = np.sqrt(np.bincount(np.zeros(len(data), dtype=np.intp), weights=data * data, minlength=1))
    row = copy.copy(empty)
    row.data, row.indices = (data / length).astype(np.float32), columns
    row.indptr = np.array([0, len(columns)], dtype=np.int32)
    return row


def empty_row(width: int) -> csr_matrix:
    """Return a row of zeros (1, width): it is quicker to copy it than to make a matrix."""
    return sorted_rows(np.empty(0, np.float32), np.empty(0, np.int32), np.zeros(2, np.int32), width)


def weigh_block(block: TermCounts, idf: np.ndarray, sublinear: bool) -> np.ndarray:
    """Return the counts of some texts as normalised tf-idf (nnz,)."""
    data = _weigh(block.counts, block.columns, idf, sublinear)
    n_texts = len(block.starts) - 1
    row_of = np.repeat(np.arange(n_texts), np.diff(block.starts))
    lengths = np.sqrt(np.bincount(row_of, weights=data * data, minlength=n_texts))
    return (data / lengths[row_of]).astype(np.float32)


def _weigh(counts: np.ndarray, columns: np.ndarray, idf: np.ndarray, sublinear: bool) -> np.ndarray:
    return (1 + np.log(counts) if sublinear else counts) * idf[columns]


def sorted_rows(data: np.ndarray, columns: np.ndarray, starts: np.ndarray, width: int) -> csr_matrix:
    """Return the matrix (n_texts, width) of these arrays, of which columns of a row are known to rise."""
    matrix = csr_matrix((data, columns, starts), shape=(len(starts) - 1, width))
    matrix.has_sorted_indices = matrix.has_canonical_format = True  # known, so that scipy does not look
    return matrix

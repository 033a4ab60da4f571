"""How often each text has each term, as the rows of a CSR matrix."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from neartag.encoders.terms import UNKNOWN
from neartag.linalg import csr

MAX_COLUMNS = np.iinfo(np.int32).max  # the column numbers of a row are int32


class TermCounts(NamedTuple):
    """The counts of some texts: rows as in a CSR matrix, columns of a row in rising order."""

    columns: np.ndarray  # (nnz,) int32
    counts: np.ndarray  # (nnz,) int32
    starts: np.ndarray  # (n_texts + 1,)


def count_terms(columns: np.ndarray, starts: np.ndarray) -> TermCounts:
    """Return the counts of columns that stand once for each occurrence; UNKNOWN ones are left out."""
    columns, starts, _ = _keep_known(columns, starts)
    ones = np.ones(len(columns), dtype=np.int32)
    matrix = csr_matrix((ones, columns, starts), shape=(len(starts) - 1, MAX_COLUMNS))
    matrix.sum_duplicates()
    return TermCounts(matrix.indices, matrix.data, matrix.indptr)


def renumber_columns(block: TermCounts, new_column: np.ndarray) -> TermCounts:
    """Return the counts with `new_column[column]` for each column; where that is UNKNOWN, the count is left out."""
    columns, starts, known = _keep_known(new_column[block.columns], block.starts)
    counts = block.counts if known is None else block.counts[known]
    matrix = csr_matrix((counts, columns, starts), shape=(len(starts) - 1, MAX_COLUMNS))
    matrix.sort_indices()
    return TermCounts(matrix.indices, matrix.data, matrix.indptr)


def _keep_known(columns: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Return the columns that are not UNKNOWN, the rows' starts among them, and a mask of these (None: all)."""
    known = columns != UNKNOWN
    if known.all():
        return columns, starts, None
    return columns[known], csr.pointer(known)[starts], known

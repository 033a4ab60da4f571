"""The rows of features as comparators get them, and the labels as they are numbered."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import csr_matrix

from neartag.linalg.rows import DENSE_SHARE, Rows, as_rows, normalise


def prepare_rows(X: Any, settings: dict[str, Any]) -> Rows:
    """Return rows as a method gets them: scaled, the constant added, and dense where well filled, else CSR.

    A dense X then gives what the same X in sparse form gives, to the last bit.
    """
    rows = as_rows(X)
    entries = rows.nnz if sparse.issparse(rows) else np.count_nonzero(rows)
    filled = entries >= DENSE_SHARE * max(1, rows.shape[0] * rows.shape[1])
    if filled and sparse.issparse(rows):
        rows = rows.toarray()
    elif not filled and not sparse.issparse(rows):
        rows = csr_matrix(rows)
    if settings["row_scale"] == "unit":
        rows = normalise(rows)
    bias = settings.get("bias", 0)
    if bias > 0:
        constant = np.full((rows.shape[0], 1), bias, np.float32)
        rows = sparse.hstack([rows, constant], format="csr") if sparse.issparse(rows) else np.hstack([rows, constant])
        rows = as_rows(rows)
    return rows


def without_constant(rows: Rows, n_features: int) -> Rows:
    """Return the rows without the constant feature, if they have one."""
    if rows.shape[1] == n_features:
        return rows
    return rows[:, :n_features] if sparse.issparse(rows) else np.ascontiguousarray(rows[:, :n_features])


def seen_labels(Y: csr_matrix, seen: np.ndarray, width: int) -> csr_matrix:
    """Return the labels that occur, in the order of `seen`: CSR of float32 ones (n, width) with sorted rows."""
    place = np.zeros(Y.shape[1], np.int32)
    place[seen] = np.arange(len(seen), dtype=np.int32)
    labels = csr_matrix((np.ones(Y.nnz, np.float32), place[Y.indices], Y.indptr.copy()), (Y.shape[0], width))
    labels.sort_indices()
    return labels

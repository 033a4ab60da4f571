"""What is done with scores of labels: brought between 0 and 1, and the best of each row found."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from neartag.core.threads import run_ranges
from neartag.linalg.rows import Rows, as_rows, csr_arrays
from neartag.search import topk_kernels

MAX_SCORE = np.float32(1e30)


def to_unit_interval(raw: np.ndarray, middle: float) -> np.ndarray:
    """Return scores of any size as numbers between 0 and 1 in their order, 0.5 for `middle`: float32.

    They are no probabilities. s / (1 + |s|) keeps apart what a logistic curve would round to the same number.
    """
    # Features near the largest float32 overflow in products: what is beyond all numbers stays the largest of them.
    raw = np.clip(np.nan_to_num(np.asarray(raw, np.float32), nan=middle), -MAX_SCORE, MAX_SCORE)
    raw = raw - np.float32(middle)
    return (0.5 + raw / (1 + 2 * np.abs(raw))).astype(np.float32)


def top_columns(scores: Rows, k: int, threads: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns with the k largest scores of each row, best first, ties to the lower one, and the scores."""
    m = scores.shape[0]
    ids, values = np.empty((m, k), np.int32), np.empty((m, k), np.float32)
    if k == 0:
        return ids, values
    if sparse.issparse(scores):
        rows = as_rows(scores)
        arrays = csr_arrays(rows)
        run_ranges(topk_kernels.sparse_row_top, m, threads, arrays, ids, values, work=arrays[0])
    else:
        run_ranges(topk_kernels.row_top, m, threads, np.ascontiguousarray(scores, np.float32), 0, ids, values)
    return ids, values


def row_maxima(scores: Rows) -> np.ndarray:
    """Return the largest score of each row, 0 where there are no columns: (m,)."""
    if scores.shape[1] == 0:
        return np.zeros(scores.shape[0])
    largest = scores.max(axis=1)
    return np.asarray(largest.todense() if sparse.issparse(largest) else largest).ravel()

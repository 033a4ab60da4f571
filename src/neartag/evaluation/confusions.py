"""Which label is given where another is missed."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix

from neartag.evaluation.matches import Matches
from neartag.linalg import csr

_BATCH_PAIRS = 2_000_000  # pairs of a missed and a wrong label that are counted at a time


def find_confusions(matches: Matches, given: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return for each label the one most often given wrongly to points that have it and did not get it, and how often.

    Both (L,); −1 and 0 where there is none. Of labels that are given equally often, it is the one with the lower id.
    """
    width = matches.truth.shape[1]
    wrong = csr.from_lists(matches.labels, None, width, given & ~matches.hits)  # (n, L)
    missed = _missed(matches, given).T.tocsr()  # (L, n)
    other, times = np.full(width, -1, np.int64), np.zeros(width, np.int64)
    # How many pairs each label brings: the product of a batch of labels has at most so many entries.
    pairs = np.cumsum(missed @ np.diff(wrong.indptr).astype(np.float64))  # (L,)
    starts = np.unique(np.searchsorted(pairs, np.arange(0, pairs[-1] + 1, _BATCH_PAIRS), side="left"))
    for first, last in zip(starts, [*starts[1:], width], strict=True):
        product = (missed[first:last] @ wrong).tocsr()  # (batch, L)
        product.sort_indices()
        for row in np.flatnonzero(np.diff(product.indptr)):
            inside = slice(product.indptr[row], product.indptr[row + 1])
            best = int(product.data[inside].argmax())
            other[first + row], times[first + row] = product.indices[inside][best], product.data[inside][best]
    return other, times


def _missed(matches: Matches, given: np.ndarray) -> csr_matrix:
    """Return the true labels that were not given, (n, L)."""
    width = matches.truth.shape[1]
    pairs = csr.row_numbers(matches.truth) * np.int64(width) + matches.truth.indices
    rows, columns = np.nonzero(given & matches.hits)
    found = np.isin(pairs, rows * np.int64(width) + matches.labels[rows, columns], assume_unique=True)
    kept = csr.keep_entries(matches.truth, ~found)
    kept.data = np.ones(len(kept.data), np.float32)
    return kept

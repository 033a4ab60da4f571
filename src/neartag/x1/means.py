"""The labels' mean feature vectors: a third way to a candidate, beside the two kinds of neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.sparse import csr_matrix

from neartag import search_kernels
from neartag.rows import Rows, parts, transpose
from neartag.threads import run_ranges

# Largest entries kept of a mean, and labels whose sums are made at once.
ENTRIES, BLOCK = 100, 4096


@dataclass
class Means:
    """Mean feature vectors of unit length, turned so that a feature leads to the labels that have it."""

    postings: csr_matrix  # (d, L)
    lengths: np.ndarray  # (L,) float32: length of the sum of each label's rows

    @cached_property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """The postings as the kernel takes them."""
        return parts(self.postings)

    def widened(self, labels: int) -> Means:
        """Return the means for more labels, which have none yet."""
        more = np.zeros(labels - len(self.lengths), np.float32)
        return Means(self.postings, np.concatenate([self.lengths, more]))

    @classmethod
    def of(cls, X: Rows, Y: csr_matrix, threads: int) -> Means:
        """Return the means of unit rows (n, d) by their labels (n, L)."""
        labels = Y.shape[1]
        turned = csr_matrix(Y.T.tocsr())  # (L, n)
        blocks, lengths = [], np.zeros(labels, np.float32)
        for first in range(0, labels, BLOCK):
            sums = csr_matrix(turned[first : first + BLOCK] @ X)  # (block, d)
            squares = np.asarray(sums.multiply(sums).sum(axis=1)).ravel()
            length = np.sqrt(squares)
            lengths[first : first + len(length)] = length
            blocks.append(_largest(sums, np.where(length > 0, length, 1), threads))
        return cls(transpose(sparse.vstack(blocks, format="csr").astype(np.float32)), lengths)


def _largest(sums: csr_matrix, lengths: np.ndarray, threads: int) -> csr_matrix:
    """Return the largest entries of each row, divided by its length."""
    indptr, indices, data = parts(sums)
    m, width = sums.shape[0], int(min(ENTRIES, np.diff(indptr).max(initial=1)))
    ids, values = np.empty((m, width), np.int32), np.empty((m, width), np.float32)
    run_ranges(search_kernels.sparse_row_top, m, threads, indptr, indices, data, ids, values, work=indptr)
    kept = (ids >= 0) & (values > 0)
    pieces = ((values / lengths[:, None].astype(np.float32))[kept], ids[kept])
    pointer = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
    result = csr_matrix((*pieces, pointer), shape=sums.shape)
    result.sort_indices()
    return result

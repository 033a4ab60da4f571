"""The labels' mean feature vectors: a third way to a candidate, beside the two kinds of neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.sparse import csr_matrix

from neartag.core.threads import run_ranges
from neartag.linalg import csr
from neartag.linalg.rows import Rows, csr_arrays, dense_if_faster, transpose
from neartag.search import topk_kernels

# Largest entries kept of a mean, and labels whose sums are made at once. More of them change no figure.
ENTRIES, BLOCK = 100, 4096


@dataclass
class Means:
    """Mean feature vectors of unit length, turned so that a feature leads to the labels that have it."""

    postings: csr_matrix  # (d, L)
    lengths: np.ndarray  # (L,) float32: length of the sum of each label's rows

    @cached_property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """The postings as the kernel takes them."""
        return csr_arrays(self.postings)

    @cached_property
    def table(self) -> np.ndarray:
        """The postings as an array (d, L) where that is quicker to read, else (0, 0)."""
        return dense_if_faster(self.postings)

    def widened(self, labels: int) -> Means:
        """Return the means for more labels, which have none yet."""
        more = np.zeros(labels - len(self.lengths), np.float32)
        pieces = self.postings.data, self.postings.indices, self.postings.indptr
        wider = csr_matrix(pieces, shape=(self.postings.shape[0], labels))
        return Means(wider, np.concatenate([self.lengths, more]))

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
    """Return the largest entries of each row, whatever their sign, divided by its length; ties to lower columns."""
    sums.sort_indices()
    indptr, _, data = csr_arrays(sums)
    m, width = sums.shape[0], int(min(ENTRIES, np.diff(indptr).max(initial=1)))
    places, sizes = np.empty((m, width), np.int32), np.empty((m, width), np.float32)
    # Entries are named by their places in their rows, so that sign and column can be looked up.
    named = (np.arange(len(data)) - np.repeat(indptr[:-1], np.diff(indptr))).astype(np.int32)
    run_ranges(topk_kernels.sparse_row_top, m, threads, (indptr, named, np.abs(data)), places, sizes, work=indptr)
    kept = (places >= 0) & (sizes > 0)
    entries = (places + indptr[:-1, None])[kept]
    counts = kept.sum(axis=1)
    values = data[entries] / np.repeat(lengths, counts).astype(np.float32)
    pieces = values, sums.indices[entries], csr.pointer(counts)
    result = csr_matrix(pieces, shape=sums.shape)
    result.sort_indices()
    return result

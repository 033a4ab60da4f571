"""The labels' centroids: the mean feature vector of each, a third way to a candidate beside the two kinds of voters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import sqrt

import numpy as np
from scipy import sparse
from scipy.sparse import csr_matrix

from neartag.core.threads import run_ranges
from neartag.linalg import csr, large_csr
from neartag.linalg.coded_rows import Vectors, float_blocks
from neartag.linalg.hybrid_rows import HybridRows, words_of
from neartag.linalg.large_arrays import block_bytes
from neartag.linalg.rows import TABLE_ENTRIES, CSRArrays, Rows, csr_arrays, dense_if_faster, normalise, transpose
from neartag.search import topk_kernels
from neartag.search.vector_index import VectorIndex

# Largest entries kept of a centroid, and where there are many labels. More of them change no figure, and looking a
# point's features up in them is a good part of training and prediction.
ENTRIES_KEPT, MANY_LABELS, ENTRIES_KEPT_OF_MANY = 50, 10_000, 30
# Where there are more labels than this, a point's features are not all looked up: those are left out that have the
# longest lists for what they say, up to this share of the point's length (a fiftieth of its square).
LABELS_LOOKED_UP_IN_FULL, LEFT_OUT_OF_A_POINT = 100_000, sqrt(0.02)
# Labels whose sums are made at once.
LABELS_AT_ONCE = 4096
# Bytes at the peak for each entry of such sums, with all copies.
BYTES_PER_SUMMED = 40


@dataclass
class LabelCentroids:
    """Mean feature vectors of unit length, turned so that a feature leads to the labels that have it."""

    postings: csr_matrix  # (d, L)
    lengths: np.ndarray  # (L,) float32: length of the sum of each label's rows
    max_table: int = TABLE_ENTRIES  # up to so many entries they may be read as an array
    vectors: VectorIndex | None = None  # mean vectors (L, e) of unit length, where there are vectors beside the words

    @classmethod
    def from_rows(
        cls,
        X: Rows,
        Y: csr_matrix,
        threads: int,
        *,
        entries_kept: int | None = None,
        labels_at_once: int = LABELS_AT_ONCE,
        max_table: int = TABLE_ENTRIES,
    ) -> LabelCentroids:
        """Return the centroids of unit rows (n, d) by their labels (n, L)."""
        turned = csr_matrix(Y.T.tocsr())  # (L, n)
        entries_kept = count_entries_kept(Y) if entries_kept is None else entries_kept
        blocks = [
            make_block(X, turned[first : first + labels_at_once], entries_kept, threads)
            for first in range(0, Y.shape[1], labels_at_once)
        ]
        return cls.from_blocks(X, Y, blocks, threads, max_table=max_table)

    @classmethod
    def from_blocks(
        cls,
        X: Rows,
        Y: csr_matrix,
        blocks: list[tuple[csr_matrix, np.ndarray]],
        threads: int,
        *,
        max_table: int = TABLE_ENTRIES,
    ) -> LabelCentroids:
        """Return the centroids of the labels of all blocks, as `make_block` makes them, of unit rows (n, d)."""
        vectors = _mean_vectors(X.vectors, Y, threads) if isinstance(X, HybridRows) else None
        means = large_csr.vstack([means for means, _ in blocks]).astype(np.float32, copy=False)  # (L, d)
        lengths = np.concatenate([lengths for _, lengths in blocks])
        return cls(transpose(means), lengths, max_table, vectors)

    @cached_property
    def arrays(self) -> tuple[CSRArrays, np.ndarray, np.ndarray, float]:
        """What the kernel takes: postings, the same as an array (d, L) where that is quicker to read, and lengths.

        And the share of a point's length that may be left out.
        """
        table = dense_if_faster(self.postings, max_entries=self.max_table)
        many = len(self.lengths) > LABELS_LOOKED_UP_IN_FULL and not len(table)
        return csr_arrays(self.postings), table, self.lengths, LEFT_OUT_OF_A_POINT if many else 0.0

    def widen(self, labels: int) -> LabelCentroids:
        """Return the centroids for more labels, which have none yet."""
        more = np.zeros(labels - len(self.lengths), np.float32)
        vectors = self.vectors
        if vectors is not None and len(more):
            vectors = vectors.append(np.zeros((len(more), vectors.rows.dim), np.float32))
        lengths = np.concatenate([self.lengths, more])
        return replace(self, postings=csr.widen(self.postings, labels), lengths=lengths, vectors=vectors)


def count_entries_kept(Y: csr_matrix) -> int:
    """Return how many entries of a centroid are kept, for labels like these."""
    used = np.count_nonzero(np.bincount(Y.indices, minlength=Y.shape[1]))
    return ENTRIES_KEPT if used <= MANY_LABELS else ENTRIES_KEPT_OF_MANY


def make_block(X: Rows, having: csr_matrix, entries_kept: int, threads: int) -> tuple[csr_matrix, np.ndarray]:
    """Return the means (m, d) of some labels, given who has them (m, n), and the lengths of their sums (m,).

    Within a limit of memory a few labels are summed at a time: until all but its largest entries are dropped, a sum
    has a number for each word of all its points.
    """
    words, limit = words_of(X), block_bytes()
    if limit is None or not sparse.issparse(words):
        return _sum_labels(words, having, entries_kept, threads)
    entries = np.diff(csr.pointer(np.diff(words.indptr)[having.indices])[having.indptr])  # (m,) of each label's points
    most = csr.pointer(np.minimum(entries, words.shape[1]))
    blocks, first = [], 0
    while first < having.shape[0]:
        last = int(np.searchsorted(most, most[first] + limit // BYTES_PER_SUMMED, side="right")) - 1
        last = max(first + 1, last)
        blocks.append(_sum_labels(words, having[first:last], entries_kept, threads))
        first = last
    return large_csr.vstack([means for means, _ in blocks]), np.concatenate([lengths for _, lengths in blocks])


def _sum_labels(words: Rows, having: csr_matrix, entries_kept: int, threads: int) -> tuple[csr_matrix, np.ndarray]:
    sums = csr_matrix(having @ words)  # (m, d)
    lengths = np.sqrt(np.asarray(sums.multiply(sums).sum(axis=1)).ravel()).astype(np.float32, copy=False)
    return _largest_entries(sums, np.where(lengths > 0, lengths, 1), entries_kept, threads), lengths


def _mean_vectors(vectors: Vectors, Y: csr_matrix, threads: int) -> VectorIndex:
    """Return the index of each label's mean vector (L, e), of unit length; zeros where a label has none."""
    sums = np.zeros((Y.shape[1], vectors.shape[1]), np.float32)
    for block, own in float_blocks(vectors):
        having = Y[block]
        used = np.unique(having.indices)  # of many labels a block has few
        sums[used] += having[:, used].T @ own
    return VectorIndex.from_vectors(normalise(sums, in_place=True), threads)


def _largest_entries(sums: csr_matrix, lengths: np.ndarray, count: int, threads: int) -> csr_matrix:
    """Return the largest entries of each row, whatever their sign, divided by its length; ties to lower columns."""
    sums.sort_indices()
    indptr, _, data = csr_arrays(sums)
    m, width = sums.shape[0], int(min(count, np.diff(indptr).max(initial=1)))
    places, sizes = np.empty((m, width), np.int32), np.empty((m, width), np.float32)
    # Entries are named by their places in their rows, so that sign and column can be looked up.
    named = (np.arange(len(data)) - np.repeat(indptr[:-1], np.diff(indptr))).astype(np.int32)
    run_ranges(topk_kernels.sparse_row_top, m, threads, (indptr, named, np.abs(data)), places, sizes, work=indptr)
    kept = (places >= 0) & (sizes > 0)
    entries = (places + indptr[:-1, None])[kept]
    counts = kept.sum(axis=1)
    values = data[entries] / np.repeat(lengths, counts).astype(np.float32)
    result = csr_matrix((values, sums.indices[entries], csr.pointer(counts)), shape=sums.shape)
    result.sort_indices()
    return result

"""Hard negatives: where each label is a wrong candidate among the training points themselves."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from scipy.sparse import csr_matrix

from neartag.linalg.coded_rows import float_rows
from neartag.linalg.hybrid_rows import HybridRows
from neartag.linalg.rows import Rows, column_counts, csr_arrays, row_block, take_rows
from neartag.rerank.candidates import generate
from neartag.rerank.label_centroids import LabelCentroids
from neartag.search.exact import Neighbours
from neartag.search.inverted_index import MAX_ENTRIES_READ, PRUNE_LOOSELY, FeatureIndex, search_work
from neartag.search.vector_index import VectorIndex
from neartag.search.weights import FEATURE_SHARPNESS, VECTOR_SHARPNESS, Voters, no_voters, voter_weights

# Neighbours by features of each point: with more, a label gets more hard negatives, and the search and the rankers take
# longer. A guess.
HARD_NEGATIVE_NEIGHBOURS = 20
# Of more points than this only some are searched, if a search takes long; so many rows tell how long it takes.
MIN_SEARCHED, SAMPLED_ROWS = 20_000, 1000
# Points whose hard negatives are found at once.
BLOCK_ROWS = 8192


@dataclass
class NeighbourSearch:
    """A search of training points for each other's neighbours by features.

    Of many points with long lists only some are searched: a search of all would cost the square of their number.
    """

    X: Rows  # unit rows (n, d)
    searched: np.ndarray  # rising row numbers
    index: FeatureIndex
    vectors: VectorIndex | None = None  # of all points, where they have vectors beside their words

    @classmethod
    def from_rows(
        cls,
        X: Rows,
        seed: int,
        threads: int = 1,
        *,
        min_searched: int = MIN_SEARCHED,
        max_entries_read: float = MAX_ENTRIES_READ,
    ) -> NeighbourSearch:
        """Return the search of unit rows, and which of them are searched."""
        if isinstance(X, HybridRows):
            by_words = cls.from_rows(
                X.words, seed, threads, min_searched=min_searched, max_entries_read=max_entries_read
            )
            return replace(by_words, X=X, vectors=VectorIndex.from_vectors(X.vectors, threads))
        many = n = X.shape[0]
        if n > min_searched:
            sample = X[:: max(1, n // SAMPLED_ROWS)]
            work = search_work(column_counts(X), n, sample, HARD_NEGATIVE_NEIGHBOURS + 1, PRUNE_LOOSELY)
            many = min(n, max(min_searched, int(n * max_entries_read / max(1.0, work))))
        if many == n:
            return cls(X, np.arange(n), FeatureIndex.from_rows(X))
        searched = np.sort(np.random.default_rng(seed).choice(n, many, replace=False))
        return cls(X, searched, FeatureIndex.from_rows(take_rows(X, searched)))

    def find(self, block: slice, threads: int) -> Neighbours:
        """Return the neighbours of some points and their cosines (m, count), the points themselves left out."""
        count = min(HARD_NEGATIVE_NEIGHBOURS + 1, len(self.searched))
        ids, cosines = self.index.find(
            row_block(self.X, *block.indices(self.X.shape[0])[:2]), count, threads, PRUNE_LOOSELY
        )
        ids = np.where(ids >= 0, self.searched[ids], -1).astype(np.int32)
        return self._leave_out_itself(block, ids, cosines)

    def find_by_vectors(self, block: slice, threads: int) -> Neighbours | None:
        """Return the same by the vectors beside the words; None where there are none."""
        if self.vectors is None:
            return None
        count = min(HARD_NEGATIVE_NEIGHBOURS + 1, self.X.shape[0])
        return self._leave_out_itself(block, *self.vectors.find(float_rows(self.X.vectors, block), count, threads))

    def _leave_out_itself(self, block: slice, ids: np.ndarray, cosines: np.ndarray) -> Neighbours:
        itself = ids == np.arange(self.X.shape[0], dtype=np.int32)[block][:, None]
        ids[itself], cosines[itself] = -1, -np.inf
        return ids, cosines

    def cache(self, threads: int) -> CachedNeighbours:
        """Return the neighbours of all points, found once and kept."""
        everybody = slice(None)
        return CachedNeighbours(*self.find(everybody, threads), self.find_by_vectors(everybody, threads))


@dataclass
class CachedNeighbours:
    """Neighbours of training points that were found before, with the same `find` as `NeighbourSearch`."""

    ids: np.ndarray  # (n, count) int32, −1: nobody
    cosines: np.ndarray  # (n, count), −inf: nobody's
    by_vectors: Neighbours | None = None

    def find(self, block: slice, threads: int) -> Neighbours:
        """Return those of some points."""
        return self.ids[block], self.cosines[block]

    def find_by_vectors(self, block: slice, threads: int) -> Neighbours | None:
        """Return those of some points by vectors; None where there are none."""
        return None if self.by_vectors is None else (self.by_vectors[0][block], self.by_vectors[1][block])

    def keep(self, kept: np.ndarray) -> CachedNeighbours:
        """Return the neighbours of the points that are kept (n,), among these, by their new numbers."""
        by_vectors = None if self.by_vectors is None else _keep_among(*self.by_vectors, kept)
        return CachedNeighbours(*_keep_among(self.ids, self.cosines, kept), by_vectors)


def _keep_among(all_ids: np.ndarray, cosines: np.ndarray, kept: np.ndarray) -> Neighbours:
    """Return the lists of the points that are kept (n,), and of these only, by their new numbers."""
    ids = all_ids[kept]
    stays = (ids >= 0) & kept[ids]
    numbers = np.where(stays, (np.cumsum(kept) - 1)[ids], -1).astype(np.int32)
    return numbers, np.where(stays, cosines[kept], np.float32(-np.inf))


def find_hard_negatives(
    X: Rows,
    Y: csr_matrix,
    centroids: LabelCentroids,
    size: int,
    neighbours: NeighbourSearch | CachedNeighbours,
    threads: int,
    *,
    block_rows: int = BLOCK_ROWS,
) -> csr_matrix:
    """Return where each label is a wrong candidate (n, L) among the training points themselves, unit rows X.

    A point is left out of the centroids of its labels, and is not its own neighbour. Neighbours by embedding are not
    used: they would cost the square of the number of points, and bring few labels that the other two do not.
    """
    blocks = [csr_matrix((0, Y.shape[1]), dtype=np.float32)]
    for first in range(0, X.shape[0], block_rows):
        block = slice(first, min(first + block_rows, X.shape[0]))
        blocks.append(find_in_block(X, Y, centroids, size, neighbours, block, threads))
    return csr_matrix(sparse.vstack(blocks, format="csr"))


def find_in_block(
    X: Rows,
    Y: csr_matrix,
    centroids: LabelCentroids,
    size: int,
    neighbours: NeighbourSearch | CachedNeighbours,
    block: slice,
    threads: int,
) -> csr_matrix:
    """Return where each label is a wrong candidate among the points of a block (m, L)."""
    first, last, _ = block.indices(X.shape[0])
    rows, own = row_block(X, first, last), Y[block]
    voters = _as_voters(neighbours.find(block, threads), FEATURE_SHARPNESS)
    by_vectors = neighbours.find_by_vectors(block, threads)
    vector_voters = None if by_vectors is None else _as_voters(by_vectors, VECTOR_SHARPNESS)
    nobody = no_voters(rows.shape[0])
    candidates = generate(rows, csr_arrays(Y), nobody, voters, centroids, size, threads, own, vector_voters)
    return candidates.negatives(candidates.are_correct(own), Y.shape[1])


def _as_voters(neighbours: Neighbours, sharpness: float) -> Voters:
    ids, cosines = neighbours
    return ids, voter_weights(np.ascontiguousarray(cosines), "similarity", sharpness)

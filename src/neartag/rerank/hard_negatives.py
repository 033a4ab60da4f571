"""Hard negatives: where each label is a wrong candidate among the training points themselves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse import csr_matrix

from neartag.linalg.rows import Rows, column_counts, csr_arrays
from neartag.rerank.candidates import generate
from neartag.rerank.label_centroids import LabelCentroids
from neartag.search.exact import Neighbours
from neartag.search.inverted_index import MAX_ENTRIES_READ, PRUNE_LOOSELY, FeatureIndex, search_work
from neartag.search.weights import FEATURE_SHARPNESS, no_voters, voter_weights

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

    @classmethod
    def from_rows(
        cls, X: Rows, seed: int, *, min_searched: int = MIN_SEARCHED, max_entries_read: float = MAX_ENTRIES_READ
    ) -> NeighbourSearch:
        """Return the search of unit rows, and which of them are searched."""
        many = n = X.shape[0]
        if n > min_searched:
            sample = X[:: max(1, n // SAMPLED_ROWS)]
            work = search_work(column_counts(X), n, sample, HARD_NEGATIVE_NEIGHBOURS + 1, PRUNE_LOOSELY)
            many = min(n, max(min_searched, int(n * max_entries_read / max(1.0, work))))
        if many == n:
            return cls(X, np.arange(n), FeatureIndex.from_rows(X))
        searched = np.sort(np.random.default_rng(seed).choice(n, many, replace=False))
        return cls(X, searched, FeatureIndex.from_rows(X[searched]))

    def find(self, block: slice, threads: int) -> Neighbours:
        """Return the neighbours of some points and their cosines (m, count), the points themselves left out."""
        numbers = np.arange(self.X.shape[0], dtype=np.int32)[block]
        count = min(HARD_NEGATIVE_NEIGHBOURS + 1, len(self.searched))
        ids, cosines = self.index.find(self.X[block], count, threads, PRUNE_LOOSELY)
        ids = np.where(ids >= 0, self.searched[ids], -1).astype(np.int32)
        itself = ids == numbers[:, None]
        ids[itself], cosines[itself] = -1, -np.inf
        return ids, cosines

    def cache(self, threads: int) -> CachedNeighbours:
        """Return the neighbours of all points, found once and kept."""
        return CachedNeighbours(*self.find(slice(None), threads))


@dataclass
class CachedNeighbours:
    """Neighbours of training points that were found before, with the same `find` as `NeighbourSearch`."""

    ids: np.ndarray  # (n, count) int32, −1: nobody
    cosines: np.ndarray  # (n, count), −inf: nobody's

    def find(self, block: slice, threads: int) -> Neighbours:
        """Return those of some points."""
        return self.ids[block], self.cosines[block]

    def keep(self, kept: np.ndarray) -> CachedNeighbours:
        """Return the neighbours of the points that are kept (n,), among these, by their new numbers."""
        ids = self.ids[kept]
        stays = (ids >= 0) & kept[ids]
        numbers = np.where(stays, (np.cumsum(kept) - 1)[ids], -1).astype(np.int32)
        return CachedNeighbours(numbers, np.where(stays, self.cosines[kept], np.float32(-np.inf)))


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
    labels = csr_arrays(Y)
    blocks = [csr_matrix((0, Y.shape[1]), dtype=np.float32)]
    for first in range(0, X.shape[0], block_rows):
        block = slice(first, first + block_rows)
        rows, own = X[block], Y[block]
        ids, cosines = neighbours.find(block, threads)
        voters = ids, voter_weights(np.ascontiguousarray(cosines), "similarity", FEATURE_SHARPNESS)
        candidates = generate(rows, labels, no_voters(rows.shape[0]), voters, centroids, size, threads, own)
        blocks.append(candidates.negatives(candidates.are_correct(own), Y.shape[1]))
    return csr_matrix(sparse.vstack(blocks, format="csr"))

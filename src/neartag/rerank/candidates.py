"""Candidates of a point: labels that its neighbours by embedding, those by features, or the labels' means speak for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse import csr_matrix

from neartag.core.threads import run_pieces
from neartag.linalg import csr
from neartag.linalg.rows import Rows, csr_arrays
from neartag.rerank import candidate_kernels
from neartag.rerank.label_centroids import Means
from neartag.search.inverted_index import MOST_WORK, PRUNE_LOOSELY, FeatureIndex
from neartag.search.weights import FEATURE_SHARPNESS, voter_weights

# Candidates from each of the three: so many for each label that a point has on average, and no fewer than that.
PER_LABEL, FEWEST = 6, 20
# Neighbours by features asked for hard negatives, points that are searched for them at least, rows by which the work of
# that is told, and points at once.
NEIGHBOURS, SEARCHED, LOOKED_AT, BLOCK = 20, 20_000, 1000, 8192
# What no vote and no similarity count as, before logarithms.
VOTE, SIMILARITY = 1e-3, 1e-2

Voters = tuple[np.ndarray, np.ndarray]  # row numbers, −1: nobody, and shares (m, voters)
Lists = tuple[np.ndarray, np.ndarray]  # row numbers, −1: nobody, and cosines (m, count)


@dataclass
class Candidates:
    """Labels that some points may have, and what speaks for each."""

    labels: np.ndarray  # (m, room) int32, in no order, −1 where there is none
    parts: np.ndarray  # (m, room, 3) float32: votes by embedding and by features, cosine to the label's mean

    @property
    def there(self) -> np.ndarray:
        """Where there is a candidate (m, room)."""
        return self.labels >= 0

    def ordered(self) -> Candidates:
        """Return the same, each row in the order of its labels: sums then do not depend on how they were found."""
        order = np.argsort(np.where(self.there, self.labels, np.iinfo(np.int32).max), axis=1, kind="stable")
        labels = np.take_along_axis(self.labels, order, axis=1)
        return Candidates(labels, np.take_along_axis(self.parts, order[..., None], axis=1))

    def described(self, margins: np.ndarray, frequency: np.ndarray) -> np.ndarray:
        """Return the mixture's parts (candidates, 5): margin, votes, mean and frequency, row after row."""
        there = self.there
        out = np.empty((int(np.count_nonzero(there)), 5), np.float32)
        told = self.parts[there]
        out[:, 0] = margins[there]
        out[:, 1:3] = np.log(told[:, :2] + np.float32(VOTE))
        out[:, 3] = np.log(np.maximum(told[:, 2], 0) + np.float32(SIMILARITY))
        out[:, 4] = np.log1p(frequency[self.labels[there]])
        return out

    def right(self, Y: csr_matrix) -> np.ndarray:
        """Return which candidates are among their points' labels Y (m, L), row after row."""
        rows = np.repeat(np.arange(len(self.labels)), self.there.sum(axis=1))
        keys = rows * Y.shape[1] + self.labels[self.there]
        truth = np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr)) * Y.shape[1] + Y.indices
        return np.isin(keys, truth)

    def wrong(self, right: np.ndarray, labels: int) -> csr_matrix:
        """Return where a candidate is wrong (m, L), given which ones are right, row after row."""
        there = self.there
        kept = there.copy()
        kept[there] = ~right
        pointer = csr.pointer(kept.sum(axis=1))
        column = self.labels[kept]
        return csr_matrix((np.ones(len(column), np.float32), column, pointer), shape=(len(there), labels))


def candidates_per_source(Y: csr_matrix) -> int:
    """Return how many candidates to take from each of the three, for labels like these."""
    average = Y.nnz / max(1, Y.shape[0])
    return int(min(Y.shape[1], max(FEWEST, round(PER_LABEL * average))))


def no_voters(m: int) -> Voters:
    """Return no voters for so many points."""
    return np.full((m, 1), -1, np.int32), np.zeros((m, 1))


def generate(
    X: Rows,
    Y: csr_matrix,
    near: Voters,
    alike: Voters,
    means: Means,
    size: int,
    threads: int,
    own: csr_matrix | None = None,
) -> Candidates:
    """Return the candidates of unit rows X: `size` at most by each of the three.

    `near` votes by embedding, `alike` by features, both for their labels in Y. `own` are the points' own labels where
    they were counted into the means, to be left out of them again.
    """
    m, room = X.shape[0], min(3 * size, Y.shape[1])
    labels, told = np.empty((m, room), np.int32), np.empty((m, room, 3), np.float32)
    mine = csr_arrays(own)[:2] if own is not None else (np.zeros(m + 1, np.int64), np.empty(0, np.int32))
    rows = csr_arrays(X if sparse.issparse(X) else csr_matrix(X))
    by_mean = *means.arrays, means.table, means.lengths
    arguments = (*rows, *csr_arrays(Y)[:2], *near, *alike, *by_mean, *mine, size, labels, told)
    run_pieces(lambda start, stop: candidate_kernels.candidates(*arguments, start, stop), m, threads, least=256)
    return Candidates(labels, told)


@dataclass
class NeighbourSearch:
    """Training points, to be searched for each other's neighbours by features.

    Of many only some are searched, where their lists are long: the search of all would cost the square of the points.
    """

    X: Rows  # unit rows (n, d)
    searched: np.ndarray  # rising row numbers
    index: FeatureIndex

    @classmethod
    def of(cls, X: Rows, seed: int) -> NeighbourSearch:
        """Return the points, and which of them are searched."""
        n, index = X.shape[0], FeatureIndex.from_rows(X)
        many = n
        if n > SEARCHED:
            work = index.work(X[:: max(1, n // LOOKED_AT)], NEIGHBOURS + 1, PRUNE_LOOSELY)
            many = min(n, max(SEARCHED, int(n * MOST_WORK / max(1.0, work))))
        if many == n:
            return cls(X, np.arange(n), index)
        searched = np.sort(np.random.default_rng(seed).choice(n, many, replace=False))
        return cls(X, searched, FeatureIndex.from_rows(X[searched]))

    def find(self, block: slice, threads: int) -> Lists:
        """Return the neighbours of some points and their cosines (m, count), the points themselves left out."""
        numbers = np.arange(self.X.shape[0], dtype=np.int32)[block]
        count = min(NEIGHBOURS + 1, len(self.searched))
        ids, cosines = self.index.find(self.X[block], count, threads, PRUNE_LOOSELY)
        ids = np.where(ids >= 0, self.searched[ids], -1).astype(np.int32)
        itself = ids == numbers[:, None]
        ids[itself], cosines[itself] = -1, -np.inf
        return ids, cosines

    def listed(self, threads: int) -> CachedNeighbours:
        """Return the neighbours of all points, found once and kept."""
        return CachedNeighbours(*self.find(slice(None), threads))


@dataclass
class CachedNeighbours:
    """Neighbours of training points that are known already, asked for as `Alike` is."""

    ids: np.ndarray  # (n, count) int32, −1: nobody
    cosines: np.ndarray  # (n, count), −inf: nobody's

    def find(self, block: slice, threads: int) -> Lists:
        """Return those of some points."""
        return self.ids[block], self.cosines[block]

    def among(self, kept: np.ndarray) -> CachedNeighbours:
        """Return those of the points that are kept (n,), by their numbers among these; the others are nobody's."""
        ids = self.ids[kept]
        stays = (ids >= 0) & kept[ids]
        numbers = np.where(stays, (np.cumsum(kept) - 1)[ids], -1).astype(np.int32)
        return CachedNeighbours(numbers, np.where(stays, self.cosines[kept], np.float32(-np.inf)))


def hard_negatives(
    X: Rows, Y: csr_matrix, means: Means, size: int, neighbours: NeighbourSearch | CachedNeighbours, threads: int
) -> csr_matrix:
    """Return where each label is a wrong candidate (n, L) among the training points themselves, unit rows X.

    A point is left out of the means of its labels, and is not among its neighbours by features. Those by embedding are
    not asked: they would cost the square of the points, and bring few labels that the other two do not.
    """
    blocks = [csr_matrix((0, Y.shape[1]), dtype=np.float32)]
    for first in range(0, X.shape[0], BLOCK):
        block = slice(first, first + BLOCK)
        rows, own = X[block], Y[block]
        ids, cosines = neighbours.find(block, threads)
        alike = ids, voter_weights(np.ascontiguousarray(cosines), "similarity", FEATURE_SHARPNESS)
        found = generate(rows, Y, no_voters(rows.shape[0]), alike, means, size, threads, own)
        blocks.append(found.wrong(found.right(own), Y.shape[1]))
    return csr_matrix(sparse.vstack(blocks, format="csr"))

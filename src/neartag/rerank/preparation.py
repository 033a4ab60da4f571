"""What rankers are trained on: label centroids and hard negatives. None of it depends on who votes.

So it is made while the learners are trained, and with it the rankers of some labels at each cost that is tried.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from scipy.sparse import csr_matrix

from neartag.linalg.hybrid_rows import HybridRows
from neartag.linalg.rows import Rows
from neartag.rerank.candidates import candidates_per_source
from neartag.rerank.hard_negatives import CachedNeighbours, NeighbourSearch, find_hard_negatives
from neartag.rerank.label_centroids import LabelCentroids
from neartag.rerank.rankers import Rankers, fit_rankers

# Costs of the rankers' errors that are tried. The first is used where none can be measured.
COSTS = (0.5, 1.0)
# The same where rows have vectors beside their words, for rows of unit length: smaller ones were as good or better on
# held-out fifths of cooking and yso, and are learned sooner.
COSTS_WITH_VECTORS = (0.25, 0.5)
# The costs are tried on one of so many labels: with one of eight the choice changed on a held-out fifth of BibTeX.
LABELS_PER_TRIED = 4
# Up to so many points the rankers are trained again on all of them, those included that the choice was made on.
MAX_POINTS_TO_REFIT_RANKERS = 50_000
# Share of the right candidates that must be found where neighbours by features are not looked for everywhere.
MIN_RECALL = 0.97


@dataclass(frozen=True)
class RerankOptions:
    """What a user may decide. None: it is chosen here."""

    size: int | None = None  # candidates from each of the three sources
    cost: float | None = None  # of the rankers' errors
    min_weight: float = 0.0  # smaller weights of rankers are dropped
    seed: int = 0
    min_recall: float = MIN_RECALL  # of the right candidates, for `nearby_voters` to be taken

    def candidates_for(self, Y: csr_matrix) -> int:
        """Return how many candidates each source brings, for labels like these."""
        return candidates_per_source(Y) if self.size is None else int(min(self.size, Y.shape[1]))


@dataclass
class RankerData:
    """What rankers are trained on."""

    X: Rows  # unit rows (n, d)
    Y: csr_matrix  # (n, L)
    centroids: LabelCentroids
    hard_negatives: csr_matrix  # (n, L)

    @classmethod
    def from_rows(
        cls, X: Rows, Y: csr_matrix, neighbours: CachedNeighbours | NeighbourSearch, size: int, threads: int
    ) -> RankerData:
        """Return these points, unit rows, with their label centroids and hard negatives."""
        centroids = LabelCentroids.from_rows(X, Y, threads)
        return cls(X, Y, centroids, find_hard_negatives(X, Y, centroids, size, neighbours, threads))

    def fit_rankers(self, cost: float, min_weight: float, threads: int) -> Rankers:
        """Return the rankers of all labels that have a point."""
        return fit_rankers(self.X, self.Y, self.hard_negatives, cost, min_weight, threads)

    def for_labels(self, chosen: np.ndarray) -> RankerData:
        """Return the same with the labels that are chosen (L,); the others have no point."""
        kept = sparse.diags(chosen.astype(np.float32)).tocsr()
        Y, negatives = (csr_matrix(each @ kept) for each in (self.Y, self.hard_negatives))  # stored zeros go
        return replace(self, Y=Y, hard_negatives=negatives)


@dataclass
class Preparation:
    """What `fit_reranker` needs beside the votes."""

    others: RankerData  # of the points not held out
    neighbours: CachedNeighbours | None  # by features, of all points, where the rankers are trained again
    size: int  # candidates from each source
    tried: np.ndarray  # (L,) labels on which the costs are tried; none where there is one cost only
    costs: tuple[float, ...]
    rankers: tuple[Rankers, ...]  # of these labels, for each cost


def prepare_rankers(X: Rows, Y: csr_matrix, held_out: np.ndarray, options: RerankOptions, threads: int) -> Preparation:
    """Return what a reranker of unit rows X (n, d) with labels Y (n, L) needs, some points held out."""
    size = options.candidates_for(Y)
    # Held-out points may not be used yet, not even as neighbours of the others: their labels would be wrong candidates
    # just there, and the rankers would learn to refuse these labels to the very points that they are tried on.
    kept = np.ones(X.shape[0], bool)
    kept[held_out] = False
    neighbours = _cache_neighbours(X, options.seed, threads)
    rows = X[kept]
    of_others = NeighbourSearch.from_rows(rows, options.seed, threads) if neighbours is None else neighbours.keep(kept)
    others = RankerData.from_rows(rows, Y[kept], of_others, size, threads)
    tried = np.zeros(Y.shape[1], bool)
    if options.cost is not None:
        return Preparation(others, neighbours, size, tried, (options.cost,), ())
    tried[np.unique(others.Y.indices)[::LABELS_PER_TRIED]] = True
    some = others.for_labels(tried)
    costs: tuple[float, ...] = COSTS
    if isinstance(X, HybridRows):  # whose rows are longer than 1, which is as if errors cost more
        costs = tuple(cost / (1 + X.vector_weight**2) for cost in COSTS_WITH_VECTORS)
    rankers = tuple(some.fit_rankers(cost, options.min_weight, threads) for cost in costs)
    return Preparation(others, neighbours, size, tried, costs, rankers)


def _cache_neighbours(X: Rows, seed: int, threads: int) -> CachedNeighbours | None:
    """Return the neighbours by features of all points, where these are so few that they are needed twice."""
    if X.shape[0] > MAX_POINTS_TO_REFIT_RANKERS:
        return None
    return NeighbourSearch.from_rows(X, seed, threads).cache(threads)

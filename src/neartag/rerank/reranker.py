"""The reranker: X1 retrieves, sparse linear rankers decide.

The candidates of a point are the best labels by the vote of its neighbours in the embedding, by the vote of its
neighbours by features, and by the labels' centroids. Each label has a ranker, trained against the points where it was a
wrong candidate. A fusion, fitted on held-out points, weighs what ranker, votes and centroid say, and returns a
probability. Rankers see a single word that decides, which votes cannot. Votes know labels with too few points for a
ranker.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from neartag.core.threads import run_ranges
from neartag.linalg.rows import CSRArrays, Rows
from neartag.linalg.single_row import SingleRow
from neartag.rerank import fusion_kernels
from neartag.rerank.candidates import Candidates, generate
from neartag.rerank.fusion import Fusion
from neartag.rerank.label_centroids import LabelCentroids
from neartag.rerank.rankers import Rankers
from neartag.rerank.unranked import score_unranked
from neartag.search.weights import Voters

_EVERY_LABEL = np.empty(0, bool)  # as the kernel takes it


@dataclass
class Reranker:
    """What decides among candidates."""

    size: int  # candidates from each of the three at most
    centroids: LabelCentroids
    rankers: Rankers
    fusion: Fusion  # of margin, votes, similarity, how far the margin is behind, and frequency
    vote_fusion: Fusion  # of the votes alone, for labels that have neither ranker nor centroid
    default_similarity: float  # what the centroid says of right candidates on average, for labels that have none
    default_behind: float = 0.0  # how far their margins are behind on average, for labels that came after training
    new_rankers: Rankers | None = None  # of labels that came after training

    def candidates(
        self,
        X: Rows | SingleRow,
        labels: CSRArrays,
        embedding_voters: Voters,
        feature_voters: Voters,
        frequency: np.ndarray,
        threads: int,
    ) -> Candidates:
        """Return the candidates of unit rows X, by those who vote on them and the labels of these."""
        candidates = generate(X, labels, embedding_voters, feature_voters, self.centroids, self.size, threads)
        candidates.labels[frequency[candidates.labels] == 0] = -1  # their points were all forgotten; −1 stays −1
        return candidates

    def scores(
        self,
        X: Rows | SingleRow,
        candidates: Candidates,
        frequency: np.ndarray,
        threads: int,
        asked: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return the probability of each candidate (m, room), −1 where there is none.

        Of the labels `asked` for (L,), where they are given, the others may have −1 too, which takes less time.
        """
        labels = candidates.labels
        margins = self.rankers.margins(X, labels, threads)
        ranked = None if self._has_all else self.rankers.has(labels)
        if self.new_rankers is not None:
            new = self.new_rankers.has(labels)
            margins = np.where(new, self.new_rankers.margins(X, labels, threads), margins)
            ranked = self.rankers.has(labels) | new
        if asked is None or ranked is not None:  # the place of a label without a ranker is one among all
            asked = _EVERY_LABEL
        out = np.empty(labels.shape)
        defaults = np.float32(self.default_similarity), np.float32(self.default_behind)
        evidence = labels, candidates.evidence, margins, frequency, self.rankers.known, self._without_centroid
        arguments = *evidence, defaults, self.fusion.tables, asked, out
        run_ranges(fusion_kernels.probabilities, len(labels), threads, *arguments)
        if ranked is not None:
            others = candidates.mask & ~ranked
            if others.any():
                out[others] = score_unranked(candidates, out, others, self.vote_fusion, threads)
        return out

    def contributions(self, X: Rows, label: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the features of one row that a label's ranker weighs, and what each adds to its sum; none without one.

        Numbers above zero speak for the label, those below against it.
        """
        for rankers in (self.new_rankers, self.rankers):  # as when candidates are scored: what was learned last counts
            if rankers is not None and rankers.has(np.array([label]))[0]:
                return rankers.contributions(X, label)
        return np.empty(0, np.int32), np.empty(0, np.float32)

    @cached_property
    def _has_all(self) -> bool:
        """Whether every label has a ranker."""
        return len(self.rankers.known) == len(self.centroids.lengths) and bool(self.rankers.known.all())

    @cached_property
    def _without_centroid(self) -> np.ndarray:
        """Which labels have come since the centroids were made, (L,)."""
        return (self.centroids.lengths == 0) & (self.new_rankers is not None)

    def widen(self, labels: int) -> Reranker:
        """Return the reranker for more labels, which have neither centroid nor ranker yet."""
        if labels <= len(self.centroids.lengths):
            return self
        return replace(self, centroids=self.centroids.widen(labels))

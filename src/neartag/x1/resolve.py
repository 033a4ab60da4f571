"""What "auto" stands for: the rules by which settings that are left open are settled, once, before training.

`resolve` returns new settings in which nothing is "auto" but what is chosen on held-out points: how many neighbours
vote and with what share (`selection.py`) and, where a reranker decides, its candidates, its cost, and where neighbours
by features are looked for (`rerank`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from neartag.linalg.hybrid_rows import HybridRows
from neartag.linalg.rows import Rows, is_dense
from neartag.x1.settings import RegressionSettings, SVPSettings, VoteSettings, X1Settings

# Points that one embedding holds without loss of accuracy, and at a cost that still grows no faster than n.
POINTS_PER_CLUSTER = 100_000
# Learners where there are several clusters; accuracy rises fast up to some three, and so does the time.
LEARNERS = 3
# Dimensions of a cluster, and of one of more points than this, where each costs more and brings less.
DIM, LARGE_CLUSTER, DIM_OF_LARGE = 200, 40_000, 100
# Where votes only propose and a reranker decides, more bring nothing; measurements need more of them than words do.
DIM_RERANKED, DIM_RERANKED_DENSE = 64, 100
# Steps of SVP: what comes after the first few changes no figure where a reranker decides.
SVP_STEPS, SVP_STEPS_RERANKED = 10, 6
# λ: unit rows of words want a strong one. Dense measurements are much alike, and what tells them apart needs large
# weights; so many points for each feature make up for that.
L2, L2_DENSE, POINTS_PER_FEATURE = 1.0, 1e-3, 10
# How votes are counted where a reranker decides: what it adds to them depends little on that. Where features are dense
# measurements, neighbours by features and by embedding are much the same.
NEIGHBOURS_RERANKED, FEATURE_SHARE_RERANKED = 40, 0.3
# The same of vectors beside the words.
VECTOR_SHARE_RERANKED = 0.3
# Points held out: this share of them, at most so many; from fewer than so few nothing can be told. Where a reranker is
# learned from them, so many are enough, up to a quarter of the points.
HELD_OUT_SHARE, MAX_HELD_OUT, MIN_HELD_OUT, HELD_OUT_TO_RERANK = 0.1, 2000, 50, 300
MAX_SHARE_TO_RERANK = 1 / 4
MIN_POINTS_TO_RERANK = round(MIN_HELD_OUT / MAX_SHARE_TO_RERANK)
# The paper's numbers (section 3, "Hyper-parameters" and "Results on small data sets"). It names no limit between small
# and large: its small sets have up to 3,993 labels, its large ones 30,938 and more.
PAPER_POINTS_PER_CLUSTER, PAPER_LARGE_LABELS = 6000, 10_000
PAPER_LEARNERS, PAPER_LEARNERS_OF_LARGE = 1, 15
PAPER_DIM, PAPER_DIM_OF_LARGE = 100, 50


@dataclass(frozen=True)
class DataFacts:
    """What the rules ask of the training rows."""

    points: int
    features: int
    dense: bool = False  # whether features are measurements rather than words
    labels: int = 0
    vectors: int = 0  # numbers of a vector beside the words, 0 where there are none

    @classmethod
    def of(cls, rows: Rows, labels: int = 0) -> DataFacts:
        """Return the facts of rows (n, d) with so many labels."""
        vectors = rows.dim if isinstance(rows, HybridRows) else 0
        return cls(int(rows.shape[0]), int(rows.shape[1]), is_dense(rows), labels, vectors)


def resolve(settings: X1Settings, data: DataFacts) -> X1Settings:
    """Return the settings with what is "auto" settled for such data.

    `refine` becomes false where the points are too few for it.
    """
    if settings.rerank.enabled and not held_out_count(data.points, to_rerank=True):
        settings = settings.replace(refine=False)
    learners, clusters = partition_counts(data.points, settings.learners, settings.clusters.count, data.labels)
    reranked = settings.rerank.enabled
    return replace(
        settings,
        learners=learners,
        clusters=replace(settings.clusters, count=clusters),
        svp=_resolve_svp(settings.svp, data, clusters, reranked),
        regression=_resolve_regression(settings.regression, data, clusters),
        vote=_resolve_vote(settings.vote, data, reranked),
        vector_weight=settings.vector_weight if data.vectors else _settle(settings.vector_weight, 1.0),
    )


def partition_counts(n: int, learners: int | str, clusters: int | str, labels: int = 0) -> tuple[int, int]:
    """Return how many learners and clusters there are for n points with so many labels.

    The paper cuts n points into ⌊n/6000⌋ clusters. Measured, accuracy falls with every further cluster as long as one
    embedding can hold the points. One cluster needs one learner: all others would be the same. Several learners get at
    least two clusters, so that they differ.
    """
    if learners == "paper":
        learners = PAPER_LEARNERS_OF_LARGE if is_large(labels) else PAPER_LEARNERS
    if clusters == "paper":
        clusters = max(1, n // PAPER_POINTS_PER_CLUSTER)
    if clusters == "auto":
        clusters = max(1, round(n / POINTS_PER_CLUSTER))
        if learners != "auto" and int(learners) > 1:
            clusters = max(2, clusters)
    if learners == "auto":
        learners = 1 if clusters == 1 else LEARNERS
    return int(learners), int(clusters)


def is_large(labels: int) -> bool:
    """Say whether the paper counts a set with so many labels among the large ones."""
    return labels > PAPER_LARGE_LABELS


def held_out_count(n: int, *, to_rerank: bool = False) -> int:
    """Return how many of n points are held out; 0 where they would be too few to tell anything."""
    count = min(
        MAX_HELD_OUT,
        max(int(HELD_OUT_SHARE * n), min(HELD_OUT_TO_RERANK, int(MAX_SHARE_TO_RERANK * n)) if to_rerank else 0),
    )
    return count if count >= MIN_HELD_OUT else 0


def _resolve_svp(svp: SVPSettings, data: DataFacts, clusters: int, reranked: bool) -> SVPSettings:
    dim = DIM if data.points / clusters <= LARGE_CLUSTER else DIM_OF_LARGE
    if reranked:
        dim = min(dim, DIM_RERANKED_DENSE if data.dense else DIM_RERANKED)
    if svp.dim == "paper":
        svp = replace(svp, dim=PAPER_DIM_OF_LARGE if is_large(data.labels) else PAPER_DIM)
    steps = SVP_STEPS_RERANKED if reranked else SVP_STEPS
    return replace(svp, dim=_settle(svp.dim, dim), max_iter=_settle(svp.max_iter, steps))


def _resolve_regression(regression: RegressionSettings, data: DataFacts, clusters: int) -> RegressionSettings:
    enough = data.points >= POINTS_PER_FEATURE * data.features * clusters
    return replace(regression, l2=_settle(regression.l2, L2_DENSE if data.dense and enough else L2))


def _resolve_vote(vote: VoteSettings, data: DataFacts, reranked: bool) -> VoteSettings:
    if not data.vectors:
        vote = replace(vote, vector_share=_settle(vote.vector_share, 0.0))
    if not reranked:
        return replace(vote, search=_settle(vote.search, "exact"), feature_search=_settle(vote.feature_search, "all"))
    return replace(
        vote,
        neighbours=_settle(vote.neighbours, NEIGHBOURS_RERANKED),
        search=_settle(vote.search, "cells"),
        feature_share=_settle(vote.feature_share, 0.0 if data.dense else FEATURE_SHARE_RERANKED),
        vector_share=_settle(vote.vector_share, VECTOR_SHARE_RERANKED),
    )


def _settle(given: Any, rule: Any) -> Any:
    """Return what was given, or what the rule says where that is "auto"."""
    return rule if given == "auto" else given

"""Retrieval: who votes on each row, found once for the answer, the shares of the votes and the reasons.

Each learner finds the nearest training points by embedding (lines 1 to 3 of Algorithm 2 of the paper); beside these,
where features have a share of the vote, the nearest ones by the features themselves, and by the vectors beside them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from neartag.core.threads import single_threaded_blas
from neartag.linalg.rows import Rows
from neartag.linalg.single_row import SingleRow
from neartag.search.exact import Neighbours
from neartag.search.inverted_index import FeatureIndex, merge_ids
from neartag.search.vector_index import VectorIndex
from neartag.search.weights import FEATURE_SHARPNESS, VECTOR_SHARPNESS, Voters, no_voters, voter_weights
from neartag.x1.learner import Learner
from neartag.x1.settings import VoteSettings, X1Settings

# Where neighbours by features are looked for among those by embedding only, so many of these for each one wanted.
POOL_PER_NEIGHBOUR = 2


@dataclass(frozen=True)
class Retrieved:
    """Unit rows, and who votes on each: every kind of voters with shares that are 1 in all."""

    rows: Rows | SingleRow  # (m, d)
    embedding_voters: Voters
    feature_voters: Voters  # nobody where features have no share of the vote
    threads: int  # that answer them
    vector_voters: Voters | None = None  # by the vectors beside the words; None where there are none


def retrieve(
    rows: Any,  # Rows | SingleRow
    learners: Sequence[Learner],
    index: FeatureIndex | None,
    settings: X1Settings,
    n_points: int,
    prune: float,
    threads: int,
    vectors: VectorIndex | None = None,
) -> Retrieved:
    """Return who votes on unit rows, of n_points: some by each learner, and as many by features where these vote.

    One search by each learner, one of the index, and one of the vectors beside the words where there are such. `prune`
    is the share of a row's length that the first look for neighbours by features may leave out.
    """
    count = n_neighbours(settings.vote, n_points)
    by_features = index is not None and settings.vote.feature_share != 0
    is_nearby = by_features and settings.vote.feature_search == "near"
    n_retrieved = min(POOL_PER_NEIGHBOUR * count, max(n_points, 1)) if is_nearby else count
    lists = find_by_embedding(rows, learners, settings, n_retrieved, threads)
    embedding_voters = weigh_voters(lists, settings.vote, count)
    vector_voters = None
    if vectors is not None:
        vector_voters = weigh_vector_voters(vectors.find(rows.vectors, count, threads), settings.vote)
    if index is None or not by_features:
        return Retrieved(rows, embedding_voters, no_voters(len(embedding_voters[0])), threads, vector_voters)
    pool = merge_ids([ids for ids, _ in lists]) if is_nearby else None
    neighbours = index.find(rows, count, threads, prune, pool)
    feature_voters = weigh_feature_voters(neighbours, settings.vote)
    return Retrieved(rows, embedding_voters, feature_voters, threads, vector_voters)


def n_neighbours(vote: VoteSettings, n_points: int) -> int:
    """Return how many neighbours each search asks for: no more than there are points."""
    return min(int(vote.neighbours), max(n_points, 1))


def find_by_embedding(
    rows: Rows | SingleRow, learners: Sequence[Learner], settings: X1Settings, count: int, threads: int
) -> list[Neighbours]:
    """Return for each learner the nearest training points of unit rows, and how near they are (m, count)."""
    distance, probes = settings.vote.distance, settings.clusters.probes
    exact = settings.vote.search == "exact"
    if isinstance(rows, SingleRow):  # whose products need no BLAS
        return [learner.find(rows, distance, probes, count, exact=exact) for learner in learners]
    with single_threaded_blas():
        return [learner.find(rows, distance, probes, count, threads, exact=exact) for learner in learners]


def weigh_voters(lists: Sequence[Neighbours], vote: VoteSettings, count: int) -> Voters:
    """Return who votes by embedding: the first `count` neighbours of each learner, and their shares."""
    shares = [voter_weights(first_columns(near, count), vote.weight, vote.sharpness) / len(lists) for _, near in lists]
    if len(lists) == 1:
        return first_columns(lists[0][0], count), shares[0]
    return np.hstack([ids[:, :count] for ids, _ in lists]), np.hstack(shares)


def weigh_feature_voters(neighbours: Neighbours, vote: VoteSettings) -> Voters:
    """Return who votes by features, and their shares, from the neighbours by them and their cosines."""
    ids, cosines = neighbours
    return ids, voter_weights(cosines, vote.weight, FEATURE_SHARPNESS)


def weigh_vector_voters(neighbours: Neighbours, vote: VoteSettings) -> Voters:
    """Return who votes by vectors, and their shares, from the neighbours by them and their cosines."""
    ids, cosines = neighbours
    return ids, voter_weights(cosines, vote.weight, VECTOR_SHARPNESS)


def first_columns(lists: np.ndarray, count: int) -> np.ndarray:
    """Return the first so many of each row."""
    return np.ascontiguousarray(lists[:, :count])

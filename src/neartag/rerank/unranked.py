"""Scores of labels that have no ranker: what their votes are worth, or the place that the votes give them."""

from __future__ import annotations

import numpy as np

from neartag.rerank.candidates import Candidates
from neartag.rerank.fusion import Fusion
from neartag.rerank.fusion_kernels import NO_VOTE


def score_unranked(
    candidates: Candidates, scores: np.ndarray, unranked: np.ndarray, vote_fusion: Fusion, threads: int
) -> np.ndarray:
    """Return the probabilities of the unranked candidates (m, room), in the order of `scores[unranked]`.

    `scores` (m, room) has the probabilities of the others. The vote fusion says how often a label with such votes was
    right in training. That is too little for a new label of one point: a label of many points with as small a vote is
    mostly wrong. So a label is given at least the probability that belongs to its place among the votes.
    """
    votes = np.ascontiguousarray(np.log(candidates.evidence[unranked][:, _vote_kinds(candidates)] + NO_VOTE))
    by_votes = 1 / (1 + np.exp(-vote_fusion.log_odds(votes, threads)))
    return np.maximum(by_votes, _probability_at_place(candidates, scores, unranked))


def _probability_at_place(candidates: Candidates, scores: np.ndarray, unranked: np.ndarray) -> np.ndarray:
    """Return the probability at the place that each unranked candidate has among the votes of its row.

    The ranked candidates of a row are sorted twice: by their votes and by their probabilities. Between two places both
    are read as a line. Nothing is above the first place, and no vote is worth nothing.
    """
    rows, columns = np.nonzero(unranked)
    every = _join_votes(candidates)  # (m, room)
    ranked = (candidates.mask & ~unranked)[rows]  # (asked, room)
    given = every[rows, columns]
    # Falling, between a full vote at the first place's probability and no vote at probability 0.
    votes = _sort_falling(np.where(ranked, every[rows], 0.0))
    chances = _sort_falling(np.where(ranked, scores[rows], 0.0))
    votes = np.pad(votes, ((0, 0), (1, 1)), constant_values=((0, 0), (1.0, 0.0)))
    chances = np.pad(chances, ((0, 0), (1, 1)), mode="edge")
    chances[:, -1] = 0.0
    each, place = np.arange(len(rows)), (votes[:, 1:-1] > given[:, None]).sum(axis=1)  # how many have more votes
    above, below = votes[each, place], votes[each, place + 1]
    share = np.clip((given - below) / np.maximum(above - below, np.finfo(float).tiny), 0.0, 1.0)
    return chances[each, place + 1] + share * (chances[each, place] - chances[each, place + 1])


def _join_votes(candidates: Candidates) -> np.ndarray:
    """Return the mean of the votes (m, room); those by features, or vectors, count in rows on which somebody votes so.

    The vote by embedding always counts.
    """
    votes, count = candidates.evidence[..., 0].astype(np.float64), np.ones((len(candidates.labels), 1))
    for kind in _vote_kinds(candidates)[1:]:
        own = candidates.evidence[..., kind].astype(np.float64)
        votes, count = votes + own, count + (own > 0).any(axis=1, keepdims=True)
    return votes / count


def _vote_kinds(candidates: Candidates) -> list[int]:
    """Return which numbers of the evidence are votes: by embedding, by features, and by vectors where there are any."""
    return [0, 1] if candidates.evidence.shape[2] == 3 else [0, 1, 3]


def _sort_falling(values: np.ndarray) -> np.ndarray:
    return -np.sort(-values, axis=1)

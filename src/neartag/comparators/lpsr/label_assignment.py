"""Which labels a part of the points is assigned, for the base scorer's best few of them to be right (step 3 of LPSR).

The relaxed objective and where it differs from the paper's are in `lpsr`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix

from neartag.comparators.lpsr import kernels
from neartag.comparators.lpsr.label_scorer import LabelScorer
from neartag.linalg import csr
from neartag.linalg.rows import Rows, select_columns

# Steps of the ascent; the largest change of a share in the first, and after how many steps it is half as much; how
# steep the sigmoid is. With these, sets of 4 in 8 labels came within 1% of the best one's hits, the most frequent
# labels within 8%.
ASCENT_STEPS, FIRST_STEP, SLOWING, STEEPNESS = 40, 0.3, 20, 4.0
# Scores held at once while they are sorted.
BLOCK_SCORES = 2**20


@dataclass(frozen=True)
class Rankings:
    """Candidate labels of some points, best first and down to the last right one."""

    pointer: np.ndarray  # (points + 1,) int64
    order: np.ndarray  # int32, places among the candidates
    hit: np.ndarray  # bool, whether the point has that label
    candidates: int


def rank_labels(
    rows: Rows, Y: csr_matrix, scorer: LabelScorer, candidates: np.ndarray, block_scores: int = BLOCK_SCORES
) -> Rankings:
    """Return how the scorer ranks candidate labels, in rising order, for each of the rows; Y has no others."""
    count = len(candidates)
    height = max(1, block_scores // max(1, count))
    inside = select_columns(Y, candidates)  # (points, candidates)
    lengths, orders, hits = [], [], []
    for first in range(0, rows.shape[0], height):
        block = slice(first, first + height)
        scores = scorer.of_labels(rows[block], candidates)  # (block, candidates)
        order = np.argsort(-scores, axis=1, kind="stable").astype(np.int32)
        hit = np.take_along_axis(inside[block].toarray() > 0, order, axis=1)
        last = np.where(hit.any(axis=1), count - hit[:, ::-1].argmax(axis=1), 0)
        needed = np.arange(count) < last[:, None]
        lengths.append(last)
        orders.append(order[needed])
        hits.append(hit[needed])
    pointer = csr.pointer(np.concatenate(lengths)).astype(np.int64)
    return Rankings(pointer, np.concatenate(orders), np.concatenate(hits), count)


def assign(ranked: Rankings, budget: int, at: int) -> np.ndarray:
    """Return which candidates a part is assigned, at most `budget` of them: places in rising order."""
    if ranked.candidates <= budget:
        return np.arange(ranked.candidates)
    frequency = np.bincount(ranked.order[ranked.hit], minlength=ranked.candidates)
    best = _largest_places(frequency, budget)
    most = hits_within(ranked, best, at)
    shares = np.full(ranked.candidates, budget / ranked.candidates)
    gradient = np.empty(ranked.candidates)
    for step in range(ASCENT_STEPS):
        kernels.assignment_gradient(ranked.pointer, ranked.order, ranked.hit, shares, at, STEEPNESS, gradient)
        size = np.abs(gradient - np.median(gradient)).max()  # the sum is kept, so that what all gain is no gain
        if size == 0:
            break
        shares = project_to_sum(shares + FIRST_STEP / (1 + step / SLOWING) * gradient / size, budget)
        chosen = _largest_places(shares, budget)
        hits = hits_within(ranked, chosen, at)
        if hits > most:
            best, most = chosen, hits
    return np.sort(best)


def hits_within(ranked: Rankings, chosen: np.ndarray, at: int) -> int:
    """Return how many right labels are among the best `at` of the chosen ones."""
    member = np.zeros(ranked.candidates, bool)
    member[chosen] = True
    return int(kernels.hits_within(ranked.pointer, ranked.order, ranked.hit, member, at))


def project_to_sum(shares: np.ndarray, total: float) -> np.ndarray:
    """Return the nearest numbers from 0 to 1 with this sum, which must be possible."""
    low, high = float(shares.min()) - 1, float(shares.max())
    for _ in range(60):  # halves what is taken from each to nothing
        middle = (low + high) / 2
        if np.clip(shares - middle, 0, 1).sum() > total:
            low = middle
        else:
            high = middle
    return np.clip(shares - high, 0, 1)


def _largest_places(values: np.ndarray, count: int) -> np.ndarray:
    """Return the places of the largest values, ties to the lower place."""
    return np.argsort(-values, kind="stable")[:count]


def nearness_to_top(ranked: Rankings) -> np.ndarray:
    """Return for each point the mean of 1 / rank of its right labels, 0 where it has none: (points,)."""
    lengths = np.diff(ranked.pointer)
    owner = np.repeat(np.arange(len(lengths)), lengths)
    rank = np.arange(1, len(ranked.order) + 1) - ranked.pointer[owner]
    total = np.bincount(owner[ranked.hit], 1 / rank[ranked.hit], minlength=len(lengths))
    return total / np.maximum(np.bincount(owner[ranked.hit], minlength=len(lengths)), 1)

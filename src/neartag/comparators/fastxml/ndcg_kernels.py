"""The kernels of FastXML that look at labels: points parted by nDCG, and what the labels of a leaf are."""

from __future__ import annotations

import numpy as np

from neartag.comparators.fastxml.logistic_kernels import PLACE, SIDES, WIDE
from neartag.core import kernel_types as types
from neartag.core.jit import COUNT, FLOAT, ID, IDS, POINTER, kernel, read

# The label rows' indptr and indices, each point's 1 / (its best DCG), and what each rank counts.
LABELS = types.Tuple((POINTER, IDS, read(WIDE), read(WIDE)))
LIST = types.Tuple((ID[::1], FLOAT[::1]))  # ids and values
# The labels of a node's points, numbered anew: where each point's begin, their numbers, and how many labels there are.
OWN_LABELS = types.Tuple((COUNT[::1], PLACE[::1], COUNT))

# The sides of a node have converged when a round adds no larger share of the objective.
_NDCG_TOLERANCE, _NDCG_ROUNDS = 1e-4, 100


@kernel(OWN_LABELS(POINTER, IDS, IDS, ID[::1]))
def number_labels(indptr, indices, points, place):
    """Return the points' labels, numbered anew in their order; `place` (labels,) is −1 everywhere, and is left so."""
    m, entries, count = points.shape[0], 0, 0
    for i in range(m):
        entries += indptr[points[i] + 1] - indptr[points[i]]
    known = np.empty(min(entries, place.shape[0]), np.int32)
    for i in range(m):
        for p in range(indptr[points[i]], indptr[points[i] + 1]):
            if place[indices[p]] < 0:
                place[indices[p]] = 0
                known[count] = indices[p]
                count += 1
    known = np.sort(known[:count])  # so that of equal labels the more frequent comes first
    for label in range(count):
        place[known[label]] = label
    begin, own = np.zeros(m + 1, np.int64), np.empty(entries, np.uint32)
    for i in range(m):
        begin[i + 1] = begin[i]
        for p in range(indptr[points[i]], indptr[points[i] + 1]):
            own[begin[i + 1]] = place[indices[p]]
            begin[i + 1] += 1
    for label in range(count):
        place[known[label]] = -1
    return begin, own, count


@kernel(types.void(OWN_LABELS, IDS, read(WIDE), read(WIDE), SIDES, WIDE[::1], WIDE[::1]))
def rank_labels(labels, points, ideal, discount, sides, plus, minus):
    """Put what each label counts in the best ranking of each side into plus and minus (labels,)."""
    begin, own, count = labels
    plus[:] = 0.0
    minus[:] = 0.0
    for i in range(points.shape[0]):
        score, mine = plus if sides[i] > 0 else minus, own[begin[i] : begin[i + 1]]
        for k in range(mine.shape[0]):
            score[mine[k]] -= ideal[points[i]]
    best_plus, best_minus = np.argsort(plus, kind="mergesort"), np.argsort(minus, kind="mergesort")
    for rank in range(count):
        plus[best_plus[rank]] = discount[rank]
        minus[best_minus[rank]] = discount[rank]


@kernel(WIDE(LABELS, IDS, WIDE, read(WIDE), ID[::1], types.int8[::1]))
def part_by_ndcg(y, points, weight, offset, place, sides):
    """Move the points (m,) to the sides (m,), ±1, whose ranking suits their labels best; returns the objective a point.

    In turns: a side's ranking sorts labels by what they bring to the nDCG of its points, and each point goes where
    weight · nDCG is larger, that of the plus side lowered by the point's `offset`. Ties stay. `place` (labels,) is −1
    everywhere, and is left so.
    """
    indptr, indices, ideal, discount = y
    labels = number_labels(indptr, indices, points, place)
    begin, own, count = labels
    plus, minus = np.empty(count), np.empty(count)
    before, total = -np.inf, 0.0
    for _ in range(_NDCG_ROUNDS):
        rank_labels(labels, points, ideal, discount, sides, plus, minus)
        total = 0.0
        for i in range(points.shape[0]):
            gain, other, mine = 0.0, 0.0, own[begin[i] : begin[i + 1]]
            for k in range(mine.shape[0]):
                gain += plus[mine[k]]
                other += minus[mine[k]]
            gain = weight * ideal[points[i]] * gain - offset[i]
            other = weight * ideal[points[i]] * other
            if gain != other:
                sides[i] = 1 if gain > other else -1
            total += max(gain, other)
        if total - before <= _NDCG_TOLERANCE * abs(total):
            break
        before = total
    return total / points.shape[0]


@kernel(types.boolean(POINTER, IDS, IDS))
def same_labels(indptr, indices, points):
    """Say whether all points have the same labels: parting them could not change what is predicted."""
    wanted = indices[indptr[points[0]] : indptr[points[0] + 1]]
    for i in range(1, points.shape[0]):
        own = indices[indptr[points[i]] : indptr[points[i] + 1]]
        if own.shape[0] != wanted.shape[0]:
            return False
        for k in range(own.shape[0]):
            if own[k] != wanted[k]:
                return False
    return True


@kernel(LIST(POINTER, IDS, IDS, COUNT, ID[::1]))
def label_shares(indptr, indices, points, most, place):
    """Return the `most` commonest labels of the points in rising order, and the share of the points that has each.

    `place` (labels,) is −1 everywhere, and is left so.
    """
    entries, count = 0, 0
    for i in range(points.shape[0]):
        entries += indptr[points[i] + 1] - indptr[points[i]]
    touched = np.empty(min(entries, place.shape[0]), np.int32)
    for i in range(points.shape[0]):
        for p in range(indptr[points[i]], indptr[points[i] + 1]):
            if place[indices[p]] < 0:
                place[indices[p]] = 0
                touched[count] = indices[p]
                count += 1
            place[indices[p]] += 1
    labels, shares = np.sort(touched[:count]), np.empty(count, np.float32)
    for slot in range(count):
        shares[slot] = place[labels[slot]] / points.shape[0]
        place[labels[slot]] = -1
    if count > most:
        kept = np.sort(np.argsort(-shares, kind="mergesort")[:most])
        labels, shares = labels[kept], shares[kept]
    return labels, shares

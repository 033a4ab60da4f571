"""The kernels that grow a tree of FastXML: a node's columns and separator, and all nodes."""

from __future__ import annotations

import numpy as np

from neartag.comparators.fastxml.logistic_kernels import (
    COLUMNS,
    COSTS,
    PLACE,
    SIDES,
    WIDE,
    add_column,
    count_plus,
    l1_logistic,
)
from neartag.comparators.fastxml.ndcg_kernels import LABELS, LIST, label_shares, part_by_ndcg, same_labels
from neartag.core import kernel_types as types
from neartag.core.jit import COUNT, FLOAT, ID, IDS, kernel
from neartag.linalg.random_kernels import STATE, WORD, next_word

FEATURES = COLUMNS  # the feature rows as CSR: indptr, indices, data
# Room for a node's columns: the features touched, by feature its bounds and its place; then the features kept, rising,
# and these columns as CSC.
ROOM = types.Tuple((ID[::1], WIDE[:, ::1], COUNT[::1], ID[::1], COUNT[::1], PLACE[::1], FLOAT[::1]))
# Each node's first child; indptr, indices and data of the nodes' weights, then of their label shares.
TREE = types.Tuple((ID[::1], COUNT[::1], ID[::1], FLOAT[::1], COUNT[::1], ID[::1], FLOAT[::1]))

# A separator has converged at liblinear's own tolerance; nearly all do in ten steps, and on dense rows, where hundreds
# would be needed, more of them changed predictions by less than another seed does.
_TOLERANCE, _STEPS = 0.01, 10


@kernel(COUNT(FEATURES, IDS, SIDES, COSTS, ROOM))
def gather_columns(x, points, sides, costs, room):
    """Put the points' columns as CSC into the room given, those of zero weight left out; returns how many columns.

    A column's slope at any w lies between what it is with every point of one side wrong and of the other side right; if
    that is never more than 1, the penalty's own slope, its best weight is zero. Most columns of small nodes are such.
    The features' places are 0 everywhere, and are left so.
    """
    indptr, indices, data = x
    touched, bounds, place, features, pointer, rows, values = room
    many, width = 0, 0
    for i in range(points.shape[0]):
        first, last = indptr[points[i]], indptr[points[i] + 1]
        own, entries = indices[first:last], data[first:last]
        cost = costs[0] if sides[i] > 0 else costs[1]
        for k in range(own.shape[0]):
            feature = own[k]
            if place[feature] == 0:
                bounds[feature, 0], bounds[feature, 1] = 0.0, 0.0
                touched[many] = feature
                many += 1
            place[feature] += 1
            upwards = (sides[i] > 0) != (entries[k] > 0.0)
            bounds[feature, np.uint32(upwards)] += cost * abs(entries[k])
    for slot in range(many):
        feature = touched[slot]
        if bounds[feature, 0] > 1.0 or bounds[feature, 1] > 1.0:
            features[width] = feature
            width += 1
        else:
            place[feature] = -1
    features[:width] = np.sort(features[:width])
    pointer[0] = 0
    for slot in range(width):
        pointer[slot + 1] = pointer[slot] + place[features[slot]]
        place[features[slot]] = pointer[slot]
    for i in range(points.shape[0]):
        first, last = indptr[points[i]], indptr[points[i] + 1]
        own, entries = indices[first:last], data[first:last]
        for k in range(own.shape[0]):
            position = place[own[k]]
            if position >= 0:
                rows[position], values[position] = i, entries[k]
                place[own[k]] = position + 1
    for slot in range(many):
        place[touched[slot]] = 0
    return width


@kernel(COUNT(FEATURES, LABELS, IDS, WIDE, WIDE, COUNT, ID[::1], ROOM, STATE, WIDE[::1], types.int8[::1]))
def split(x, y, points, cost, weight, rounds, place, room, random, weights, sides):
    """Learn a node: its weights over the room's features and, by them, each point's side; returns how many features.

    0 where no separator was found that leaves points on both sides.
    """
    m, width = points.shape[0], 0
    offset, reach = np.zeros(m), np.empty(m)
    for i in range(m):
        sides[i] = 1 if next_word(random) >> np.uint64(63) else -1
    for _ in range(rounds):
        part_by_ndcg(y, points, weight, offset, place, sides)
        plus = count_plus(sides)
        if plus == 0 or plus == m:
            return 0
        # Both sides weigh the same in all, or the larger one would get every point where they are hard to tell apart.
        costs = cost * m / plus, cost * m / (m - plus)
        width = gather_columns(x, points, sides, costs, room)
        _, _, _, _, pointer, rows, values = room
        columns, separator = (pointer, rows, values), weights[:width]
        l1_logistic(columns, sides, costs, _TOLERANCE, _STEPS, separator, reach, random)
        # Points go where the weights as they are stored will lead them, to the last bit.
        reach[:] = 0.0
        for j in range(width):
            separator[j] = np.float32(separator[j])
            if separator[j] != 0.0:
                add_column(columns, j, separator[j], reach)
        for i in range(m):
            sides[i] = 1 if reach[i] > 0.0 else -1
            both = np.log1p(np.exp(-abs(reach[i])))
            offset[i] = costs[0] * (max(0.0, -reach[i]) + both) - costs[1] * (max(0.0, reach[i]) + both)
        plus = count_plus(sides)
        if plus == 0 or plus == m:
            return 0
    return width


@kernel(types.void(SIDES, ID[::1]))
def _part(sides, points):
    """Put the points of the minus side before those of the plus side, each in their order."""
    plus, kept, moved = np.empty(points.shape[0], np.int32), 0, 0
    for i in range(points.shape[0]):
        if sides[i] > 0:
            plus[moved] = points[i]
            moved += 1
        else:
            points[kept] = points[i]
            kept += 1
    points[kept:] = plus[:moved]


@kernel(LIST(LIST, COUNT, COUNT))
def _with_room(entries, used, more):
    """Return a list of ids and values with room for more entries than those used, itself where it has that."""
    ids, values = entries
    if used + more <= ids.shape[0]:
        return entries
    larger = max(used + more, 2 * ids.shape[0])
    new_ids, new_values = np.empty(larger, np.int32), np.empty(larger, np.float32)
    new_ids[:used] = ids[:used]
    new_values[:used] = values[:used]
    return new_ids, new_values


@kernel(TREE(FEATURES, LABELS, COUNT, WIDE, WIDE, COUNT, COUNT, COUNT, WORD))
def grow_tree(x, y, columns, cost, weight, rounds, max_leaf, labels_per_leaf, seed):
    """Return a tree over the points: its nodes' first children (0: a leaf), weights and label shares.

    The second child, to which points of the plus side go, is the node after the first. Children come after parents.
    """
    y_indptr, y_indices, ideal, discount = y
    n, entries = ideal.shape[0], x[1].shape[0]
    room = (
        np.empty(columns, np.int32),
        np.empty((columns, 2)),
        np.zeros(columns, np.int64),
        np.empty(columns, np.int32),
        np.empty(columns + 1, np.int64),
        np.empty(entries, np.uint32),
        np.empty(entries, np.float32),
    )
    features, weights, sides = room[3], np.empty(columns), np.empty(n, np.int8)
    place, random = np.full(discount.shape[0], -1, np.int32), np.full(1, seed, np.uint64)
    points = np.arange(n).astype(np.int32)  # a node has points[first:last]
    first, last = np.zeros(2 * n, np.int32), np.full(2 * n, n, np.int32)
    child, w_indptr, s_indptr = np.zeros(2 * n, np.int32), np.zeros(2 * n + 1, np.int64), np.zeros(2 * n + 1, np.int64)
    w_list = np.empty(1024, np.int32), np.empty(1024, np.float32)
    s_list = np.empty(1024, np.int32), np.empty(1024, np.float32)
    nodes, node = 1, 0
    while node < nodes:
        own = points[first[node] : last[node]]
        m, width, w_used, s_used = own.shape[0], 0, w_indptr[node], s_indptr[node]
        if m > max_leaf and not same_labels(y_indptr, y_indices, own):
            width = split(x, y, own, cost, weight, rounds, place, room, random, weights, sides[:m])
        if width > 0:
            w_list = _with_room(w_list, w_used, width)
            for j in range(width):
                if weights[j] != 0.0:
                    w_list[0][w_used], w_list[1][w_used] = features[j], weights[j]
                    w_used += 1
            _part(sides[:m], own)
            middle = last[node] - count_plus(sides[:m])
            child[node] = nodes
            first[nodes], last[nodes] = first[node], middle
            first[nodes + 1], last[nodes + 1] = middle, last[node]
            nodes += 2
        else:
            labels, shares = label_shares(y_indptr, y_indices, own, labels_per_leaf, place)
            s_list = _with_room(s_list, s_used, labels.shape[0])
            s_list[0][s_used : s_used + labels.shape[0]] = labels
            s_list[1][s_used : s_used + labels.shape[0]] = shares
            s_used += labels.shape[0]
        node += 1
        w_indptr[node], s_indptr[node] = w_used, s_used
    w_used, s_used = w_indptr[nodes], s_indptr[nodes]
    return (
        child[:nodes].copy(),
        w_indptr[: nodes + 1].copy(),
        w_list[0][:w_used].copy(),
        w_list[1][:w_used].copy(),
        s_indptr[: nodes + 1].copy(),
        s_list[0][:s_used].copy(),
        s_list[1][:s_used].copy(),
    )

"""The numba kernels of candidates: who they are, what speaks for them, and the best of them.

As in `kernels`, each works on the rows start…stop, releases the GIL and is held in a test against plain numpy lines.
"""

from __future__ import annotations

import numpy as np
from numba import types

from neartag.core.jit import COUNT, FLOAT, ID, IDS, MATRIX, POINTER, SPARSE, VALUES, kernel, read
from neartag.linalg.product_kernels import first_not_below, row_times_dense
from neartag.search.topk_kernels import place_label

DOUBLE = types.float64
VOTERS = read(ID, 2)
WEIGHTS = read(DOUBLE, 2)  # (m, voters)


@kernel(types.boolean(FLOAT, ID, FLOAT, ID))
def _is_worse(value, label, other, other_label):
    """Say whether a label comes after another: a lower value, or an equal one and a higher id."""
    return value < other or (value == other and label > other_label)


@kernel(types.void(FLOAT, ID, COUNT, COUNT, ID[::1], FLOAT[::1]))
def _sink(value, label, slot, filled, best, values):
    """Put a label into a heap whose root is the worst, from a slot that is free, downwards."""
    while True:
        child = 2 * slot + 1
        if child >= filled:
            break
        if child + 1 < filled and _is_worse(values[child + 1], best[child + 1], values[child], best[child]):
            child += 1
        if _is_worse(value, label, values[child], best[child]):
            break
        values[slot], best[slot] = values[child], best[child]
        slot = child
    values[slot], best[slot] = value, label


@kernel(types.int64(COUNT, FLOAT[::1], ID[::1], COUNT, ID[::1], FLOAT[::1], types.boolean[::1], ID[::1], COUNT))
def _offer(wanted, score, touched, count, best, values, taken, chosen, many):
    """Add the `wanted` best of the touched labels to the `many` chosen ones; returns how many are chosen then.

    Ties go to the lower id. `best` and `values` are scratch of `wanted` entries or more; `taken` marks the chosen ones.
    """
    filled = 0
    for t in range(count):
        label = touched[t]
        value = score[label]
        if value <= 0.0:
            continue
        if filled < wanted:
            values[filled], best[filled] = value, label
            filled += 1
            if filled == wanted and t + 1 < count:  # from here on somebody must give way: a heap knows who
                for slot in range(wanted // 2 - 1, -1, -1):
                    _sink(values[slot], best[slot], slot, filled, best, values)
        elif _is_worse(values[0], best[0], value, label):
            _sink(value, label, 0, filled, best, values)
    for place in range(filled):
        label = best[place]
        if not taken[label]:
            taken[label] = True
            chosen[many] = label
            many += 1
    return many


@kernel(types.int64(POINTER, IDS, VOTERS, WEIGHTS, COUNT, FLOAT[::1], types.boolean[::1], ID[::1]))
def _votes(indptr, indices, voters, weights, i, score, noted, touched):
    """Sum the votes on row i into `score`; returns how many labels have any, noted, and listed in `touched`."""
    count = 0
    for v in range(voters.shape[1]):
        row, weight = voters[i, v], weights[i, v]
        if row < 0 or weight <= 0.0:
            continue
        for p in range(indptr[row], indptr[row + 1]):
            label = indices[p]
            if not noted[label]:
                noted[label] = True
                touched[count] = label
                count += 1
            score[label] += weight
    return count


@kernel(types.int64(*SPARSE, *SPARSE, COUNT, FLOAT[::1], types.boolean[::1], ID[::1]))
def _similarities(indptr, indices, data, c_indptr, c_indices, c_data, i, score, noted, touched):
    """Sum the products of row i with the labels' means into `score`; the rest as in `_votes`."""
    # Written out as there: as a function of its own the noting takes twice as long.
    count = 0
    for p in range(indptr[i], indptr[i + 1]):
        feature, value = indices[p], data[p]
        for q in range(c_indptr[feature], c_indptr[feature + 1]):
            label = c_indices[q]
            if not noted[label]:
                noted[label] = True
                touched[count] = label
                count += 1
            score[label] += value * c_data[q]
    return count


@kernel(types.boolean(IDS, COUNT, COUNT, ID))
def _has(indices, start, stop, wanted):
    """Say whether a number is among rising ones."""
    place = first_not_below(indices, start, stop, wanted)
    return place < stop and indices[place] == wanted


@kernel(
    types.void(
        *SPARSE,  # the points' features
        POINTER,
        IDS,  # the labels of training points
        VOTERS,
        WEIGHTS,  # who votes by embedding
        VOTERS,
        WEIGHTS,  # who votes by features
        *SPARSE,  # features → labels: the mean feature vectors, of unit length
        MATRIX,  # the same as an array (d, L), or (0, 0)
        VALUES,  # (L,) the lengths that the sums had before
        POINTER,
        IDS,  # each point's own labels, to be left out of their means; empty rows: none
        COUNT,
        ID[:, ::1],
        FLOAT[:, :, ::1],
        COUNT,
        COUNT,
    )
)
def candidates(
    indptr,
    indices,
    data,
    y_indptr,
    y_indices,
    near,
    near_weights,
    alike,
    alike_weights,
    c_indptr,
    c_indices,
    c_data,
    table,
    lengths,
    own_indptr,
    own_indices,
    wanted,
    out_labels,
    out_parts,
    start,
    stop,
):
    """The labels that either vote or the means put among their `wanted` best, and what each of the three says of them.

    out_labels (m, room) is filled from the left, −1 behind; out_parts (m, room, 3).
    """
    labels, room = lengths.shape[0], out_labels.shape[1]
    first, second, third = np.zeros(labels, np.float32), np.zeros(labels, np.float32), np.zeros(labels, np.float32)
    touched, noted = np.empty((3, labels), np.int32), np.zeros((3, labels), np.bool_)
    best, values = np.empty(wanted, np.int32), np.empty(wanted, np.float32)
    chosen, taken = np.empty(3 * wanted, np.int32), np.zeros(labels, np.bool_)
    if table.shape[0] > 0:
        touched[2] = np.arange(labels)
    for i in range(start, stop):
        by_near = _votes(y_indptr, y_indices, near, near_weights, i, first, noted[0], touched[0])
        by_alike = _votes(y_indptr, y_indices, alike, alike_weights, i, second, noted[1], touched[1])
        if table.shape[0] > 0:
            by_mean = labels
            row_times_dense(indptr, indices, data, i, table, third)
        else:
            by_mean = _similarities(indptr, indices, data, c_indptr, c_indices, c_data, i, third, noted[2], touched[2])
        for p in range(own_indptr[i], own_indptr[i + 1]):  # the point leaves the sums that it is in
            label = own_indices[p]
            kept = np.float32(0.0)  # its part of the entries that are kept of the sum
            for q in range(indptr[i], indptr[i + 1]):
                if _has(c_indices, c_indptr[indices[q]], c_indptr[indices[q] + 1], label):
                    kept += data[q] * data[q]
            inner = third[label] * lengths[label]
            rest = lengths[label] * lengths[label] - 2 * inner + kept
            third[label] = max((inner - kept) / np.sqrt(rest), 0.0) if rest > 1e-3 else 0.0
        many = _offer(wanted, first, touched[0], by_near, best, values, taken, chosen, 0)
        many = _offer(wanted, second, touched[1], by_alike, best, values, taken, chosen, many)
        many = _offer(wanted, third, touched[2], by_mean, best, values, taken, chosen, many)
        for c in range(room):
            if c < many:
                label = chosen[c]
                out_labels[i, c] = label
                out_parts[i, c, 0] = first[label]
                out_parts[i, c, 1] = second[label]
                out_parts[i, c, 2] = third[label]
                taken[label] = False
            else:
                out_labels[i, c] = -1
                out_parts[i, c, :] = 0.0
        for t in range(by_near):
            first[touched[0, t]], noted[0, touched[0, t]] = 0.0, False
        for t in range(by_alike):
            second[touched[1, t]], noted[1, touched[1, t]] = 0.0, False
        for t in range(by_mean):
            third[touched[2, t]], noted[2, touched[2, t]] = 0.0, False


@kernel(types.void(VOTERS, read(DOUBLE, 2), POINTER, ID[:, ::1], DOUBLE[:, ::1], COUNT, COUNT))
def best_candidates(labels, scores, frequency, out_labels, out_scores, start, stop):
    """The best candidates of each row, best first; ties to the more frequent label, then to the lower id."""
    for i in range(start, stop):
        filled = 0
        for c in range(labels.shape[1]):
            if labels[i, c] >= 0:
                filled = place_label(labels[i, c], scores[i, c], frequency, filled, out_labels[i], out_scores[i])
        out_labels[i, filled:] = -1
        out_scores[i, filled:] = 0.0

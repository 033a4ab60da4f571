"""The numba kernels of rankers: what they say of candidates, and how they are trained.

As in `kernels`, each works on the rows start…stop, releases the GIL and is held in a test against plain numpy lines.
"""

from __future__ import annotations

import numpy as np
from numba import types

from neartag.core.jit import COUNT, FLOAT, ID, IDS, MATRIX, POINTER, SPARSE, VALUES, kernel, read
from neartag.linalg.product_kernels import first_not_below, row_times_dense

# What a step of a search costs, against going through one weight, and what a search costs before its first.
SEARCH_STEP, SEARCH_START = 2.0, 4.0

DOUBLE = types.float64
VOTERS = read(ID, 2)


@kernel(types.boolean(COUNT, COUNT))
def _is_searched(features, weights):
    """Say whether a few features are looked up among a label's weights rather than all weights gone through."""
    return features * (SEARCH_STEP * np.log2(weights + 1.0) + SEARCH_START) < weights


@kernel(types.void(*SPARSE, *SPARSE, VALUES, COUNT, VOTERS, FLOAT[:, ::1], COUNT, COUNT))
def margins_by_label(indptr, indices, data, w_indptr, w_indices, w_data, bias, d, labels, out, start, stop):
    """What the rankers say of each row's candidates: w·x + b, from weights (L, d) a row a label; 0 where none is."""
    point = np.zeros(d, np.float32)
    for i in range(start, stop):
        for p in range(indptr[i], indptr[i + 1]):
            point[indices[p]] = data[p]
        for c in range(labels.shape[1]):
            label = labels[i, c]
            if label < 0 or label >= bias.shape[0]:
                out[i, c] = 0.0
                continue
            first, last = w_indptr[label], w_indptr[label + 1]
            total = np.float32(0.0)
            if _is_searched(indptr[i + 1] - indptr[i], last - first):
                for p in range(indptr[i], indptr[i + 1]):
                    place = first_not_below(w_indices, first, last, indices[p])
                    if place < last and w_indices[place] == indices[p]:
                        total += w_data[place] * data[p]
            else:
                for p in range(first, last):
                    total += w_data[p] * point[w_indices[p]]
            out[i, c] = bias[label] + total  # last, as in the other forms: they agree to the last bit
        for p in range(indptr[i], indptr[i + 1]):
            point[indices[p]] = 0.0


@kernel(types.void(*SPARSE, *SPARSE, VALUES, VOTERS, FLOAT[:, ::1], COUNT, COUNT))
def margins_by_feature(indptr, indices, data, w_indptr, w_indices, w_data, bias, labels, out, start, stop):
    """The same from weights (d, L), a row a feature."""
    score = np.zeros(bias.shape[0], np.float32)
    for i in range(start, stop):
        for p in range(indptr[i], indptr[i + 1]):
            feature, value = indices[p], data[p]
            for q in range(w_indptr[feature], w_indptr[feature + 1]):
                score[w_indices[q]] += value * w_data[q]
        for c in range(labels.shape[1]):
            label = labels[i, c]
            out[i, c] = bias[label] + score[label] if 0 <= label < bias.shape[0] else 0.0
        for p in range(indptr[i], indptr[i + 1]):
            feature = indices[p]
            for q in range(w_indptr[feature], w_indptr[feature + 1]):
                score[w_indices[q]] = 0.0


@kernel(types.void(*SPARSE, MATRIX, VALUES, VOTERS, FLOAT[:, ::1], COUNT, COUNT))
def margins_by_table(indptr, indices, data, table, bias, labels, out, start, stop):
    """The same from weights (d, L) as an array."""
    score = np.empty(bias.shape[0], np.float32)
    for i in range(start, stop):
        row_times_dense(indptr, indices, data, i, table, score)
        for c in range(labels.shape[1]):
            label = labels[i, c]
            out[i, c] = bias[label] + score[label] if 0 <= label < bias.shape[0] else 0.0


@kernel(
    types.int64(
        *SPARSE, read(DOUBLE), POINTER, IDS, POINTER, DOUBLE, DOUBLE, COUNT, FLOAT, COUNT,
        FLOAT[::1], COUNT[::1], ID[::1], FLOAT[::1], COUNT, COUNT,
    )
)  # fmt: skip
def dual_descent(
    indptr,
    indices,
    data,
    squares,
    pointer,
    rows,
    positives,
    cost,
    tolerance,
    rounds,
    least,
    d,
    out_bias,
    out_counts,
    out_indices,
    out_data,
    start,
    stop,
):
    """Solve min ½‖w‖² + cost · Σ max(0, 1 − y·w·x)² for each label, dual coordinate by dual coordinate.

    A label's points are rows[pointer[l]:pointer[l + 1]], the `positives[l]` first ones have it; x has a 1 for the bias
    behind. Points that stay satisfied are put aside until the others have settled. Weights of `least` or more are
    written one label after the other into out_indices and out_data; returns how many.
    """
    w = np.zeros(d)
    written = 0
    soft = 0.5 / cost
    for label in range(start, stop):
        begin = pointer[label]
        count, having = pointer[label + 1] - begin, positives[label]
        alpha = np.zeros(count)
        order = np.arange(count)
        bias = 0.0
        active, bound = count, np.inf
        state = np.uint64(count * 7919 + 88172645463325252)  # nothing of the other labels
        for _ in range(rounds):
            highest, lowest = -np.inf, np.inf
            for place in range(active):  # a new order in each round
                state ^= state << np.uint64(13)
                state ^= state >> np.uint64(7)
                state ^= state << np.uint64(17)
                other = place + np.int64(state % np.uint64(active - place))
                order[place], order[other] = order[other], order[place]
            place = 0
            while place < active:
                at = order[place]
                i = rows[begin + at]
                y = 1.0 if at < having else -1.0
                gradient = bias
                for p in range(indptr[i], indptr[i + 1]):
                    gradient += w[indices[p]] * data[p]
                gradient = gradient * y - 1.0 + alpha[at] * soft
                projected = gradient
                if alpha[at] == 0.0:
                    if gradient > bound:
                        active -= 1
                        order[place], order[active] = order[active], order[place]
                        continue
                    projected = min(gradient, 0.0)
                highest, lowest = max(highest, projected), min(lowest, projected)
                if abs(projected) > 1e-12:
                    before = alpha[at]
                    alpha[at] = max(before - gradient / (squares[i] + 1.0 + soft), 0.0)
                    change = (alpha[at] - before) * y
                    for p in range(indptr[i], indptr[i + 1]):
                        w[indices[p]] += change * data[p]
                    bias += change
                place += 1
            if highest - lowest <= tolerance:
                if active == count:
                    break
                active, bound = count, np.inf
            else:
                bound = highest if highest > 0.0 else np.inf
        before = written
        for at in range(count):
            i = rows[begin + at]
            for p in range(indptr[i], indptr[i + 1]):
                feature = indices[p]
                value = w[feature]
                w[feature] = 0.0  # met again it is zero, and so written once
                if value != 0.0 and abs(value) >= least:
                    out_indices[written] = feature
                    out_data[written] = value
                    written += 1
        out_counts[label] = written - before
        out_bias[label] = bias
    return written

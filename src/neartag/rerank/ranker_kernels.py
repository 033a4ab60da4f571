"""The numba kernels of rankers: what they say of candidates, and how they are trained.

Each works on the rows, or labels, start…stop, releases the GIL and is compiled once for the types named. A test holds
each against plain numpy lines.
"""

from __future__ import annotations

import numpy as np

from neartag.core import kernel_types as types
from neartag.core.jit import COUNT, CSR, DOUBLE, FLOAT, ID, IDS, MATRIX, POINTER, VALUES, kernel, read
from neartag.linalg.coded_row_kernels import CODES
from neartag.linalg.product_kernels import first_not_below, row_times_dense

# What a step of a search costs, against going through one weight, and what a search costs before its first.
SEARCH_STEP, SEARCH_START = 2.0, 4.0
# A projected gradient that is no larger moves nothing.
MIN_GRADIENT = 1e-12

LABELS = read(ID, 2)  # candidates (m, room)


@kernel(types.boolean(COUNT, COUNT))
def _is_searched(features, weights):
    """Say whether a few features are looked up among a label's weights rather than all weights gone through."""
    return features * (SEARCH_STEP * np.log2(weights + 1.0) + SEARCH_START) < weights


@kernel(types.void(CSR, CSR, VALUES, COUNT, LABELS, FLOAT[:, ::1], COUNT, COUNT))
def margins_by_label(rows, weights, bias, d, labels, out, start, stop):
    """What the rankers say of each row's candidates: w·x + b, from weights (L, d) a row a label; 0 where none is."""
    indptr, indices, data = rows
    w_indptr, w_indices, w_data = weights
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
                    total += w_data[p] * point[np.uint32(w_indices[p])]
            out[i, c] = bias[label] + total  # last, as in the other forms: they agree to the last bit
        for p in range(indptr[i], indptr[i + 1]):
            point[indices[p]] = 0.0


@kernel(types.void(CSR, CSR, VALUES, COUNT, types.Tuple((POINTER, POINTER)), FLOAT[:, ::1], COUNT, COUNT))
def margins_of_many(rows, weights, bias, d, places, out, start, stop):
    """The same for many rows, one label after another: its weights are laid out once for all rows that it may be of.

    `places` are (pointer, cells): the label l is the candidate of the cells[pointer[l]:pointer[l + 1]] of `out`, which
    are counted row by row. Works on the labels start…stop; other cells stay as they are.
    """
    indptr, indices, data = rows
    w_indptr, w_indices, w_data = weights
    pointer, cells = places
    room = out.shape[1]
    laid_out = np.zeros(d, np.float32)
    for label in range(start, stop):
        if pointer[label] == pointer[label + 1]:
            continue
        for p in range(w_indptr[label], w_indptr[label + 1]):
            laid_out[np.uint32(w_indices[p])] = w_data[p]
        for q in range(pointer[label], pointer[label + 1]):
            i = cells[q] // room
            total = np.float32(0.0)
            for p in range(indptr[i], indptr[i + 1]):
                total += laid_out[np.uint32(indices[p])] * data[p]
            out[i, cells[q] - i * room] = bias[label] + total
        for p in range(w_indptr[label], w_indptr[label + 1]):
            laid_out[np.uint32(w_indices[p])] = 0.0


@kernel(types.void(CSR, CSR, VALUES, LABELS, FLOAT[:, ::1], COUNT, COUNT))
def margins_by_feature(rows, weights, bias, labels, out, start, stop):
    """The same from weights (d, L), a row a feature."""
    indptr, indices, data = rows
    w_indptr, w_indices, w_data = weights
    score = np.zeros(bias.shape[0], np.float32)
    for i in range(start, stop):
        for p in range(indptr[i], indptr[i + 1]):
            feature, value = indices[p], data[p]
            for q in range(w_indptr[feature], w_indptr[feature + 1]):
                score[np.uint32(w_indices[q])] += value * w_data[q]
        for c in range(labels.shape[1]):
            label = labels[i, c]
            out[i, c] = bias[label] + score[label] if 0 <= label < bias.shape[0] else 0.0
        for p in range(indptr[i], indptr[i + 1]):
            feature = indices[p]
            for q in range(w_indptr[feature], w_indptr[feature + 1]):
                score[np.uint32(w_indices[q])] = 0.0


@kernel(types.void(CSR, MATRIX, VALUES, LABELS, FLOAT[:, ::1], COUNT, COUNT))
def margins_by_table(rows, table, bias, labels, out, start, stop):
    """The same from weights (d, L) as an array."""
    score = np.empty(bias.shape[0], np.float32)
    for i in range(start, stop):
        row_times_dense(rows, i, table, score)
        for c in range(labels.shape[1]):
            label = labels[i, c]
            out[i, c] = bias[label] + score[label] if 0 <= label < bias.shape[0] else 0.0


@kernel(types.uint64(COUNT[::1], COUNT, types.uint64))
def _shuffle(order, active, state):
    """Put the first `active` numbers into a new order (xorshift); returns the generator's state."""
    for place in range(active):
        state ^= state << np.uint64(13)
        state ^= state >> np.uint64(7)
        state ^= state << np.uint64(17)
        other = place + np.int64(state % np.uint64(active - place))
        order[place], order[other] = order[other], order[place]
    return state


# A label's points, the first ones having it, and how many of these there are.
PROBLEM = types.Tuple((IDS, COUNT))


# The codes of vectors beside the words (n, e), (n, 0) where there are none, and what each row is multiplied by (n,).
VECTORS = types.Tuple((CODES, VALUES))


@kernel(FLOAT(CODES, COUNT, FLOAT[::1]), fastmath=True)
def _times_dense(codes, i, weights):
    """codes[i] · weights, many numbers at a time."""
    total = np.float32(0.0)
    for j in range(weights.shape[0]):
        total += np.float32(codes[i, j]) * weights[j]
    return total


@kernel(types.void(CODES, COUNT, FLOAT, FLOAT[::1]), fastmath=True)
def _add_dense(codes, i, factor, weights):
    """weights += factor · codes[i]."""
    for j in range(weights.shape[0]):
        weights[j] += factor * np.float32(codes[i, j])


@kernel(
    types.Tuple((DOUBLE, COUNT, DOUBLE, DOUBLE))(
        *(CSR, VECTORS, read(DOUBLE), PROBLEM, DOUBLE, DOUBLE[::1], FLOAT[::1]),
        *(DOUBLE[::1], DOUBLE, COUNT[::1], COUNT, DOUBLE),
    )
)
def _descend(rows, vectors, squares, problem, soft, w, dense_w, alpha, bias, order, active, bound):
    """One round over the active points of a label, dual coordinate by dual coordinate; weights and alpha are changed.

    Points that stay satisfied, their gradient above `bound`, are put aside. Returns the bias, how many points are still
    active, and the largest and the smallest projected gradient.
    """
    indptr, indices, data = rows
    codes, scales = vectors
    points, positives = problem
    highest, lowest, place = -np.inf, np.inf, 0
    while place < active:
        at = order[place]
        i = points[at]
        y = 1.0 if at < positives else -1.0
        gradient = bias
        for p in range(indptr[i], indptr[i + 1]):
            gradient += w[np.uint32(indices[p])] * data[p]  # without a sign, numba need not ask for it
        if dense_w.shape[0] > 0:
            gradient += scales[i] * _times_dense(codes, i, dense_w)
        gradient = gradient * y - 1.0 + alpha[at] * soft
        projected = gradient
        if alpha[at] == 0.0:
            if gradient > bound:
                active -= 1
                order[place], order[active] = order[active], order[place]
                continue
            projected = min(gradient, 0.0)
        highest, lowest = max(highest, projected), min(lowest, projected)
        if abs(projected) > MIN_GRADIENT:
            before = alpha[at]
            alpha[at] = max(before - gradient / (squares[i] + 1.0 + soft), 0.0)
            change = (alpha[at] - before) * y
            for p in range(indptr[i], indptr[i + 1]):
                w[np.uint32(indices[p])] += change * data[p]
            if dense_w.shape[0] > 0:
                _add_dense(codes, i, np.float32(change) * scales[i], dense_w)
            bias += change
        place += 1
    return bias, active, highest, lowest


@kernel(DOUBLE(CSR, VECTORS, read(DOUBLE), PROBLEM, DOUBLE, DOUBLE, COUNT, DOUBLE[::1], FLOAT[::1]))
def _solve(rows, vectors, squares, problem, cost, tolerance, rounds, w, dense_w):
    """Solve one label's problem: w (d,) and dense_w (e,) are zeros, and are filled; returns the bias."""
    count = len(problem[0])
    alpha, order = np.zeros(count), np.arange(count)
    bias, active, bound, soft = 0.0, count, np.inf, 0.5 / cost
    state = np.uint64(count * 7919 + 88172645463325252)  # nothing of the other labels
    for _ in range(rounds):
        state = _shuffle(order, active, state)
        bias, active, highest, lowest = _descend(
            rows, vectors, squares, problem, soft, w, dense_w, alpha, bias, order, active, bound
        )
        if highest - lowest <= tolerance:
            if active == count:
                break
            active, bound = count, np.inf
        else:
            bound = highest if highest > 0.0 else np.inf
    return bias


@kernel(COUNT(CSR, IDS, FLOAT, DOUBLE[::1], COUNT, ID[::1], FLOAT[::1]))
def _write_weights(rows, points, min_weight, w, written, out_indices, out_data):
    """Write the weights of `min_weight` or more behind those written, and set w to zeros; returns how many then are."""
    indptr, indices, _ = rows
    for i in points:
        for p in range(indptr[i], indptr[i + 1]):
            feature = indices[p]
            value = w[feature]
            w[feature] = 0.0  # met again it is zero, and so written once
            if value != 0.0 and abs(value) >= min_weight:
                out_indices[written] = feature
                out_data[written] = value
                written += 1
    return written


@kernel(
    types.int64(
        *(CSR, VECTORS, read(DOUBLE), COUNT, types.Tuple((POINTER, IDS, POINTER))),
        *(types.Tuple((DOUBLE, DOUBLE, COUNT, FLOAT)),),
        *(types.Tuple((FLOAT[::1], COUNT[::1], ID[::1], FLOAT[::1], FLOAT[:, ::1])), COUNT, COUNT),
    )
)
def dual_descent(rows, vectors, squares, d, problems, options, out, start, stop):
    """Solve min ½‖w‖² + cost · Σ max(0, 1 − y·w·x)² for each label, dual coordinate by dual coordinate.

    `problems` are (pointer, points, positives): a label's points are points[pointer[l]:pointer[l + 1]], the
    positives[l] first ones have it; x has a 1 for the bias behind. `options` are (cost, tolerance, rounds, min_weight),
    `out` is (bias, counts, indices, data, dense): weights are written one label after the other; returns how many.
    Those of the vectors are added to the rows of `dense` (L, e).
    """
    pointer, points, positives = problems
    cost, tolerance, rounds, min_weight = options
    out_bias, out_counts, out_indices, out_data, out_dense = out
    w, written = np.zeros(d), 0
    for label in range(start, stop):
        own = points[pointer[label] : pointer[label + 1]]
        problem = own, positives[label]
        out_bias[label] = _solve(rows, vectors, squares, problem, cost, tolerance, rounds, w, out_dense[label])
        before = written
        written = _write_weights(rows, own, min_weight, w, written, out_indices, out_data)
        out_counts[label] = written - before
    return written

"""The numba kernels that train rankers: dual coordinate descent, one label after the other.

Each works on the labels start…stop, releases the GIL and is compiled once for the types named. A test holds them
against plain numpy lines.
"""

from __future__ import annotations

import numpy as np

from neartag.core import kernel_types as types
from neartag.core.jit import COUNT, CSR, DOUBLE, FLOAT, ID, IDS, POINTER, VALUES, kernel, read
from neartag.linalg.coded_row_kernels import CODES

# A projected gradient that is no larger moves nothing.
MIN_GRADIENT = 1e-12
# A label's features are numbered anew, and its rows copied, where rows have at least so many features d, so that its
# weights may lie farther apart than a core's own cache reaches, and the copy has no more than so many entries. With the
# feature that each number stands for, and with the weights, that is at most 10 MB: 20 bytes for each entry.
MIN_SCATTERED, MAX_COPIED = 65_536, 500_000


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
# The words of a label's points: the entries from begins[i] up to ends[i] are those of its point i.
WORDS = types.Tuple((POINTER, POINTER, IDS, VALUES))


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
        *(WORDS, VECTORS, read(DOUBLE), PROBLEM, DOUBLE, DOUBLE[::1], FLOAT[::1]),
        *(DOUBLE[::1], DOUBLE, COUNT[::1], COUNT, DOUBLE),
    )
)
def _descend(words, vectors, squares, problem, soft, w, dense_w, alpha, bias, order, active, bound):
    """One round over the active points of a label, dual coordinate by dual coordinate; weights and alpha are changed.

    Points that stay satisfied, their gradient above `bound`, are put aside. Returns the bias, how many points are still
    active, and the largest and the smallest projected gradient.
    """
    begins, ends, indices, data = words
    codes, scales = vectors
    points, positives = problem
    highest, lowest, place = -np.inf, np.inf, 0
    while place < active:
        at = order[place]
        i = points[at]
        y = 1.0 if at < positives else -1.0
        gradient = bias
        for p in range(begins[at], ends[at]):
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
            for p in range(begins[at], ends[at]):
                w[np.uint32(indices[p])] += change * data[p]
            if dense_w.shape[0] > 0:
                _add_dense(codes, i, np.float32(change) * scales[i], dense_w)
            bias += change
        place += 1
    return bias, active, highest, lowest


@kernel(DOUBLE(WORDS, VECTORS, read(DOUBLE), PROBLEM, DOUBLE, DOUBLE, COUNT, DOUBLE[::1], FLOAT[::1]))
def _solve(words, vectors, squares, problem, cost, tolerance, rounds, w, dense_w):
    """Solve one label's problem: w and dense_w (e,) are zeros, and are filled; returns the bias."""
    count = len(problem[0])
    alpha, order = np.zeros(count), np.arange(count)
    bias, active, bound, soft = 0.0, count, np.inf, 0.5 / cost
    state = np.uint64(count * 7919 + 88172645463325252)  # nothing of the other labels
    for _ in range(rounds):
        state = _shuffle(order, active, state)
        bias, active, highest, lowest = _descend(
            words, vectors, squares, problem, soft, w, dense_w, alpha, bias, order, active, bound
        )
        if highest - lowest <= tolerance:
            if active == count:
                break
            active, bound = count, np.inf
        else:
            bound = highest if highest > 0.0 else np.inf
    return bias


@kernel(COUNT(CSR, IDS, ID[::1], ID[::1], FLOAT[::1], ID[::1]))
def _copy_words(rows, points, numbers, copied, values, features):
    """Copy a label's rows, its features numbered from 0 in the order they are met; returns how many it has.

    `numbers` (d,) are zeros before and after; `features` are filled with what each number stands for.
    """
    indptr, indices, data = rows
    many, place = 0, 0
    for i in points:
        for p in range(indptr[i], indptr[i + 1]):
            feature = np.uint32(indices[p])
            if numbers[feature] == 0:
                features[many] = feature
                many += 1
                numbers[feature] = many
            copied[place] = numbers[feature] - 1
            values[place] = data[p]
            place += 1
    for number in range(many):
        numbers[features[number]] = 0
    return many


@kernel(COUNT(IDS, FLOAT, DOUBLE[::1], COUNT, ID[::1], FLOAT[::1]))
def _write_weights(features, min_weight, w, written, out_indices, out_data):
    """Write the features' weights of `min_weight` or more behind those written; returns how many then are."""
    for number in range(features.shape[0]):
        if w[number] != 0.0 and abs(w[number]) >= min_weight:
            out_indices[written] = features[number]
            out_data[written] = w[number]
            written += 1
    return written


@kernel(COUNT(CSR, IDS, FLOAT, DOUBLE[::1], COUNT, ID[::1], FLOAT[::1]))
def _take_weights(rows, points, min_weight, w, written, out_indices, out_data):
    """The same for weights of all features (d,), which are set to zeros."""
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
        *(types.Tuple((DOUBLE, DOUBLE, COUNT, FLOAT)), types.Tuple((COUNT, COUNT))),
        *(types.Tuple((FLOAT[::1], COUNT[::1], ID[::1], FLOAT[::1], FLOAT[:, ::1])), COUNT, COUNT),
    )
)
def dual_descent(rows, vectors, squares, d, problems, options, limits, out, start, stop):
    """Solve min ½‖w‖² + cost · Σ max(0, 1 − y·w·x)² for each label, dual coordinate by dual coordinate.

    `problems` are (pointer, points, positives): a label's points are points[pointer[l]:pointer[l + 1]], the
    positives[l] first ones have it; x has a 1 for the bias behind. `options` are (cost, tolerance, rounds, min_weight),
    `limits` (MIN_SCATTERED, MAX_COPIED), `out` is (bias, counts, indices, data, dense): weights are written one label
    after the other; returns how many. Those of the vectors are added to the rows of `dense` (L, e).
    """
    indptr, indices, data = rows
    pointer, points, positives = problems
    cost, tolerance, rounds, min_weight = options
    min_scattered, max_copied = limits
    out_bias, out_counts, out_indices, out_data, out_dense = out
    is_scattered = d >= min_scattered
    w, numbers, written = np.zeros(d), np.zeros(d if is_scattered else 0, np.int32), 0
    for label in range(start, stop):
        own = points[pointer[label] : pointer[label + 1]]
        problem = own, positives[label]
        begins, ends = np.empty(len(own), np.int64), np.empty(len(own), np.int64)
        entries = 0
        for at in range(len(own)):
            begins[at], ends[at] = indptr[own[at]], indptr[own[at] + 1]
            entries += ends[at] - begins[at]
        before = written
        if is_scattered and entries <= max_copied:
            copied, values = np.empty(entries, np.int32), np.empty(entries, np.float32)
            features = np.empty(entries, np.int32)
            many = _copy_words(rows, own, numbers, copied, values, features)
            last = 0
            for at in range(len(own)):
                last, begins[at] = last + ends[at] - begins[at], last
                ends[at] = last
            words, own_w = (begins, ends, copied, values), np.zeros(many)
            out_bias[label] = _solve(words, vectors, squares, problem, cost, tolerance, rounds, own_w, out_dense[label])
            written = _write_weights(features[:many], min_weight, own_w, written, out_indices, out_data)
        else:
            words_in_place = begins, ends, indices, data
            out_bias[label] = _solve(
                words_in_place, vectors, squares, problem, cost, tolerance, rounds, w, out_dense[label]
            )
            written = _take_weights(rows, own, min_weight, w, written, out_indices, out_data)
        out_counts[label] = written - before
    return written

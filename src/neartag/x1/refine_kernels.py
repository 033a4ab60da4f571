"""The numba kernels of refinement: candidates, rankers and the mixture of what they say.

As in `kernels`, each works on the rows start…stop, releases the GIL and is held in a test against plain numpy lines.
"""

from __future__ import annotations

import numpy as np
from numba import types

from neartag.jit import COUNT, FLOAT, ID, IDS, POINTER, SPARSE, VALUES, kernel, read

_VECTOR = {"nnan", "nsz", "reassoc", "contract"}
DOUBLE = types.float64
WEIGHTS = read(DOUBLE, 2)  # (m, voters)
VOTERS = read(ID, 2)
FLAGS = read(types.boolean)


@kernel(types.int64(COUNT, FLOAT[::1], ID[::1], COUNT, ID[::1], FLOAT[::1], ID[::1], COUNT))
def _offer(wanted, score, touched, count, best, values, chosen, many):  # noqa: ANN001
    """Add the `wanted` best of the touched labels to the `many` chosen ones; returns how many are chosen then.

    Ties go to the lower id. `best` and `values` are scratch of `wanted` entries or more.
    """
    filled = 0
    for t in range(count):
        label = touched[t]
        value = score[label]
        if value <= 0.0:
            continue
        if filled == wanted:
            last = wanted - 1
            if value < values[last] or (value == values[last] and label > best[last]):
                continue
        slot = filled if filled < wanted else wanted - 1
        while slot > 0 and (values[slot - 1] < value or (values[slot - 1] == value and best[slot - 1] > label)):
            values[slot] = values[slot - 1]
            best[slot] = best[slot - 1]
            slot -= 1
        values[slot] = value
        best[slot] = label
        filled = min(filled + 1, wanted)
    for place in range(filled):
        label = best[place]
        known = False
        for c in range(many):
            if chosen[c] == label:
                known = True
                break
        if not known:
            chosen[many] = label
            many += 1
    return many


@kernel(types.int64(POINTER, IDS, VOTERS, WEIGHTS, COUNT, FLOAT[::1], types.boolean[::1], ID[::1]))
def _votes(indptr, indices, voters, weights, i, score, noted, touched):  # noqa: ANN001
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


@kernel(types.boolean(IDS, COUNT, COUNT, ID))
def _has(indices, start, stop, wanted):  # noqa: ANN001
    """Say whether a number is among rising ones."""
    while start < stop:
        middle = (start + stop) // 2
        if indices[middle] < wanted:
            start = middle + 1
        elif indices[middle] > wanted:
            stop = middle
        else:
            return True
    return False


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
def candidates(  # noqa: ANN201
    indptr,  # noqa: ANN001
    indices,  # noqa: ANN001
    data,  # noqa: ANN001
    y_indptr,  # noqa: ANN001
    y_indices,  # noqa: ANN001
    near,  # noqa: ANN001
    near_weights,  # noqa: ANN001
    alike,  # noqa: ANN001
    alike_weights,  # noqa: ANN001
    c_indptr,  # noqa: ANN001
    c_indices,  # noqa: ANN001
    c_data,  # noqa: ANN001
    lengths,  # noqa: ANN001
    own_indptr,  # noqa: ANN001
    own_indices,  # noqa: ANN001
    wanted,  # noqa: ANN001
    out_labels,  # noqa: ANN001
    out_parts,  # noqa: ANN001
    start,  # noqa: ANN001
    stop,  # noqa: ANN001
):
    """The labels that either vote or the means put among their `wanted` best, and what each of the three says of them.

    out_labels (m, room) is filled from the left, −1 behind; out_parts (m, room, 3).
    """
    labels, room = lengths.shape[0], out_labels.shape[1]
    first, second, third = np.zeros(labels, np.float32), np.zeros(labels, np.float32), np.zeros(labels, np.float32)
    touched, noted = np.empty((3, labels), np.int32), np.zeros((3, labels), np.bool_)
    best, values = np.empty(wanted, np.int32), np.empty(wanted, np.float32)
    chosen = np.empty(3 * wanted, np.int32)
    for i in range(start, stop):
        by_near = _votes(y_indptr, y_indices, near, near_weights, i, first, noted[0], touched[0])
        by_alike = _votes(y_indptr, y_indices, alike, alike_weights, i, second, noted[1], touched[1])
        by_mean = 0
        for p in range(indptr[i], indptr[i + 1]):
            feature, value = indices[p], data[p]
            for q in range(c_indptr[feature], c_indptr[feature + 1]):
                label = c_indices[q]
                if not noted[2, label]:
                    noted[2, label] = True
                    touched[2, by_mean] = label
                    by_mean += 1
                third[label] += value * c_data[q]
        for p in range(own_indptr[i], own_indptr[i + 1]):  # the point leaves the sums that it is in
            label = own_indices[p]
            kept = np.float32(0.0)  # its part of the entries that are kept of the sum
            for q in range(indptr[i], indptr[i + 1]):
                if _has(c_indices, c_indptr[indices[q]], c_indptr[indices[q] + 1], label):
                    kept += data[q] * data[q]
            inner = third[label] * lengths[label]
            rest = lengths[label] * lengths[label] - 2 * inner + kept
            third[label] = max((inner - kept) / np.sqrt(rest), 0.0) if rest > 1e-3 else 0.0
        many = _offer(wanted, first, touched[0], by_near, best, values, chosen, 0)
        many = _offer(wanted, second, touched[1], by_alike, best, values, chosen, many)
        many = _offer(wanted, third, touched[2], by_mean, best, values, chosen, many)
        for c in range(room):
            if c < many:
                label = chosen[c]
                out_labels[i, c] = label
                out_parts[i, c, 0] = first[label]
                out_parts[i, c, 1] = second[label]
                out_parts[i, c, 2] = third[label]
            else:
                out_labels[i, c] = -1
                out_parts[i, c, :] = 0.0
        for t in range(by_near):
            first[touched[0, t]], noted[0, touched[0, t]] = 0.0, False
        for t in range(by_alike):
            second[touched[1, t]], noted[1, touched[1, t]] = 0.0, False
        for t in range(by_mean):
            third[touched[2, t]], noted[2, touched[2, t]] = 0.0, False


@kernel(types.void(*SPARSE, *SPARSE, VALUES, COUNT, VOTERS, FLOAT[:, ::1], COUNT, COUNT))
def margins_by_label(indptr, indices, data, w_indptr, w_indices, w_data, bias, d, labels, out, start, stop):  # noqa: ANN001, ANN201
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
            total = bias[label]
            for p in range(w_indptr[label], w_indptr[label + 1]):
                total += w_data[p] * point[w_indices[p]]
            out[i, c] = total
        for p in range(indptr[i], indptr[i + 1]):
            point[indices[p]] = 0.0


@kernel(types.void(*SPARSE, *SPARSE, VALUES, VOTERS, FLOAT[:, ::1], COUNT, COUNT))
def margins_by_feature(indptr, indices, data, w_indptr, w_indices, w_data, bias, labels, out, start, stop):  # noqa: ANN001, ANN201
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


@kernel(
    types.int64(
        *SPARSE, read(DOUBLE), POINTER, IDS, POINTER, DOUBLE, DOUBLE, COUNT, FLOAT, COUNT,
        FLOAT[::1], COUNT[::1], ID[::1], FLOAT[::1], COUNT, COUNT,
    )
)  # fmt: skip
def dual_descent(  # noqa: ANN201
    indptr,  # noqa: ANN001
    indices,  # noqa: ANN001
    data,  # noqa: ANN001
    squares,  # noqa: ANN001
    pointer,  # noqa: ANN001
    rows,  # noqa: ANN001
    positives,  # noqa: ANN001
    cost,  # noqa: ANN001
    tolerance,  # noqa: ANN001
    rounds,  # noqa: ANN001
    least,  # noqa: ANN001
    d,  # noqa: ANN001
    out_bias,  # noqa: ANN001
    out_counts,  # noqa: ANN001
    out_indices,  # noqa: ANN001
    out_data,  # noqa: ANN001
    start,  # noqa: ANN001
    stop,  # noqa: ANN001
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


@kernel(types.Tuple((COUNT, DOUBLE))(DOUBLE, read(DOUBLE)))
def _between(value, knots):  # noqa: ANN001
    """The knot below a value and how far it is on the way to the next one, from 0 to 1."""
    last = knots.shape[0] - 1
    if value <= knots[0]:
        return 0, 0.0
    if value >= knots[last]:
        return last - 1, 1.0
    place = 0
    while value >= knots[place + 1]:
        place += 1
    return place, (value - knots[place]) / (knots[place + 1] - knots[place])


@kernel(types.void(VALUES, read(DOUBLE, 2), read(DOUBLE, 2), ID[::1], DOUBLE[::1]))
def _terms(parts, fine, coarse, places, shares):  # noqa: ANN001
    """The mixture's terms that a candidate touches, and with what share: see `mixture.Mixture`."""
    count, knots, corners = parts.shape[0], fine.shape[1], coarse.shape[1]
    term = 0
    for j in range(count):
        place, share = _between(parts[j], fine[j])
        places[term], shares[term] = j * knots + place, 1 - share
        places[term + 1], shares[term + 1] = j * knots + place + 1, share
        term += 2
    column, along = _between(parts[count - 1], coarse[count - 1])
    for j in range(count - 1):
        row, down = _between(parts[j], coarse[j])
        corner = count * knots + (j * corners + row) * corners + column
        places[term], shares[term] = corner, (1 - down) * (1 - along)
        places[term + 1], shares[term + 1] = corner + 1, (1 - down) * along
        places[term + 2], shares[term + 2] = corner + corners, down * (1 - along)
        places[term + 3], shares[term + 3] = corner + corners + 1, down * along
        term += 4


@kernel(types.void(read(FLOAT, 2), read(DOUBLE, 2), read(DOUBLE, 2), read(DOUBLE), DOUBLE[::1], COUNT, COUNT))
def mixed(parts, fine, coarse, weights, out, start, stop):  # noqa: ANN001, ANN201
    """The log-odds of each row of parts: the weights of the terms it touches, summed, and the constant behind them."""
    terms = 2 * parts.shape[1] + 4 * (parts.shape[1] - 1)
    places, shares = np.empty(terms, np.int32), np.empty(terms)
    for i in range(start, stop):
        _terms(parts[i], fine, coarse, places, shares)
        total = weights[weights.shape[0] - 1]
        for t in range(terms):
            total += weights[places[t]] * shares[t]
        out[i] = total


@kernel(
    types.void(
        read(FLOAT, 2), FLAGS, read(DOUBLE, 2), read(DOUBLE, 2), read(DOUBLE), DOUBLE[::1], DOUBLE[:, ::1], COUNT, COUNT
    )
)
def normal_equations(parts, right, fine, coarse, weights, gradient, hessian, start, stop):  # noqa: ANN001, ANN201
    """Add the gradient and the Hessian, its lower triangle, of the rows' logistic loss at these weights.

    The last entry of the gradient, the place of the constant, gets the loss itself: the constant is not learned.
    """
    terms = 2 * parts.shape[1] + 4 * (parts.shape[1] - 1)
    places, shares = np.empty(terms, np.int32), np.empty(terms)
    last = weights.shape[0] - 1
    for i in range(start, stop):
        _terms(parts[i], fine, coarse, places, shares)
        total = weights[last]
        for t in range(terms):
            total += weights[places[t]] * shares[t]
        signed = -total if right[i] else total
        gradient[last] += max(signed, 0.0) + np.log1p(np.exp(-abs(signed)))
        chance = 1 / (1 + np.exp(-total))
        slope = chance - 1.0 if right[i] else chance
        curve = chance * (1 - chance)
        for t in range(terms):
            if shares[t] == 0.0:
                continue
            gradient[places[t]] += slope * shares[t]
            scaled = curve * shares[t]
            for u in range(t + 1):  # terms are in rising order
                hessian[places[t], places[u]] += scaled * shares[u]


@kernel(types.void(VOTERS, read(DOUBLE, 2), POINTER, ID[:, ::1], DOUBLE[:, ::1], COUNT, COUNT))
def best_candidates(labels, scores, frequency, out_labels, out_scores, start, stop):  # noqa: ANN001, ANN201
    """The best candidates of each row, best first; ties to the more frequent label, then to the lower id."""
    wanted = out_labels.shape[1]
    for i in range(start, stop):
        filled = 0
        for c in range(labels.shape[1]):
            label, value = labels[i, c], scores[i, c]
            if label < 0:
                continue
            slot = filled
            while slot > 0:
                ahead, other = out_scores[i, slot - 1], out_labels[i, slot - 1]
                tied = value == ahead
                often = frequency[label] > frequency[other]
                if not (
                    value > ahead or (tied and (often or (frequency[label] == frequency[other] and label < other)))
                ):
                    break
                if slot < wanted:
                    out_scores[i, slot] = ahead
                    out_labels[i, slot] = other
                slot -= 1
            if slot < wanted:
                out_scores[i, slot] = value
                out_labels[i, slot] = label
                filled = min(filled + 1, wanted)
        for slot in range(filled, wanted):
            out_labels[i, slot] = -1
            out_scores[i, slot] = 0.0

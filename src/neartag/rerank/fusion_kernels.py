"""The numba kernels of the fusion: its terms, its log-odds, and the sums of a step of Newton's.

Each works on the rows start…stop, releases the GIL and is compiled once for the types named. A test holds each against
plain numpy lines.
"""

from __future__ import annotations

import numpy as np

from neartag.core import kernel_types as types
from neartag.core.jit import COUNT, DOUBLE, FLOAT, ID, POINTER, VALUES, kernel, read

# What no vote and no similarity count as, before logarithms.
NO_VOTE, NO_SIMILARITY = np.float32(1e-3), np.float32(1e-2)

FLAGS = read(types.boolean)
# Knots, heights and slopes of `fusion.Fusion.tables`; of the last feature fine knots, heights and coarse knots.
TABLES = types.Tuple((read(DOUBLE, 2), read(DOUBLE, 3), read(DOUBLE, 3), read(DOUBLE), read(DOUBLE), read(DOUBLE)))
KNOTS = types.Tuple((read(DOUBLE, 2), read(DOUBLE, 2)))  # fine and coarse, a row a feature
TERMS = types.Tuple((read(ID, 2), read(DOUBLE, 2), POINTER))  # places and shares (m, terms), and how many each row has


@kernel(types.Tuple((COUNT, DOUBLE))(DOUBLE, read(DOUBLE)))
def _locate(value, knots):
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


@kernel(types.void(VALUES, KNOTS, ID[::1], DOUBLE[::1]))
def _terms(features, knots, places, shares):
    """The fusion's terms that a candidate touches, and with what share: see `fusion.Fusion`."""
    fine, coarse = knots
    count, width, corners = features.shape[0], fine.shape[1], coarse.shape[1]
    term = 0
    for j in range(count):
        place, share = _locate(features[j], fine[j])
        places[term], shares[term] = j * width + place, 1 - share
        places[term + 1], shares[term + 1] = j * width + place + 1, share
        term += 2
    column, along = _locate(features[count - 1], coarse[count - 1])
    for j in range(count - 1):
        row, down = _locate(features[j], coarse[j])
        corner = count * width + (j * corners + row) * corners + column
        places[term], shares[term] = corner, (1 - down) * (1 - along)
        places[term + 1], shares[term + 1] = corner + 1, (1 - down) * along
        places[term + 2], shares[term + 2] = corner + corners, down * (1 - along)
        places[term + 3], shares[term + 3] = corner + corners + 1, down * along
        term += 4


@kernel(DOUBLE(VALUES, TABLES))
def _log_odds(features, tables):
    """The log-odds of a candidate from its features."""
    knots, heights, slopes, fine, levels, coarse = tables
    last = features.shape[0] - 1
    place, share = _locate(features[last], fine)
    total = levels[place] + share * (levels[place + 1] - levels[place])
    column, along = _locate(features[last], coarse)
    for j in range(last):
        value = max(np.float64(features[j]), knots[j, 0])
        place = 0
        for k in range(1, knots.shape[1]):  # without a way out in between: compared several at a time
            place += value >= knots[j, k]
        beyond = value - knots[j, place]
        low = heights[j, place, column] + beyond * slopes[j, place, column]
        high = heights[j, place, column + 1] + beyond * slopes[j, place, column + 1]
        total += low + along * (high - low)
    return total


@kernel(types.void(read(FLOAT, 2), TABLES, DOUBLE[::1], COUNT, COUNT))
def log_odds(features, tables, out, start, stop):
    """The log-odds of each row of features."""
    for i in range(start, stop):
        out[i] = _log_odds(features[i], tables)


@kernel(
    types.void(
        *(read(ID, 2), read(FLOAT, 3), read(FLOAT, 2), POINTER, FLAGS, FLAGS, types.UniTuple(FLOAT, 2), TABLES, FLAGS),
        *(DOUBLE[:, ::1], COUNT, COUNT),
    )
)
def probabilities(
    labels, evidence, margins, frequency, ranked, without_centroid, defaults, tables, asked, out, start, stop
):
    """How likely each row's candidates are right (m, room), −1 where there is none, from what speaks for them.

    Of `asked` (L,), unless it is empty, the others get −1 too: only their margins count, for those beside them.

    As `candidates.Candidates.fusion_features` and `log_odds`, without writing the features down. `defaults` are the
    similarity of labels without a centroid, and how far labels without a ranker from training are behind. A fusion of
    five features, of an earlier version, does not ask how far.
    """
    last = tables[0].shape[0]
    features = np.empty(last + 1, np.float32)
    silent = np.log(NO_VOTE)  # most candidates have no vote of one kind
    for i in range(start, stop):
        largest = np.float32(-np.inf)
        for c in range(labels.shape[1]):
            label = labels[i, c]
            if 0 <= label < ranked.shape[0] and ranked[label]:
                largest = max(largest, margins[i, c])
        for c in range(labels.shape[1]):
            label, told = labels[i, c], evidence[i, c]
            if label < 0 or (asked.shape[0] > 0 and not asked[label]):
                out[i, c] = -1.0
                continue
            features[0] = margins[i, c]
            features[1] = np.log(told[0] + NO_VOTE) if told[0] > 0.0 else silent
            features[2] = np.log(told[1] + NO_VOTE) if told[1] > 0.0 else silent
            if without_centroid[label]:
                features[3] = defaults[0]
            else:
                features[3] = np.log(max(told[2], np.float32(0.0)) + NO_SIMILARITY)
            if last == 5:
                compared = label < ranked.shape[0] and ranked[label]
                features[4] = margins[i, c] - largest if compared else defaults[1]
            features[last] = np.log(np.float32(1 + frequency[label]))
            out[i, c] = 1.0 / (1.0 + np.exp(-_log_odds(features, tables)))


@kernel(types.void(read(FLOAT, 2), KNOTS, ID[:, ::1], DOUBLE[:, ::1], COUNT[::1], COUNT, COUNT))
def write_terms(features, knots, places, shares, counts, start, stop):
    """The terms that each row of features touches (m, terms), in rising order; most shares are zero, and left out."""
    for i in range(start, stop):
        _terms(features[i], knots, places[i], shares[i])
        filled = 0
        for t in range(places.shape[1]):
            if shares[i, t] != 0.0:
                places[i, filled], shares[i, filled] = places[i, t], shares[i, t]
                filled += 1
        counts[i] = filled


@kernel(types.void(TERMS, FLAGS, read(DOUBLE), DOUBLE[::1], DOUBLE[:, ::1], COUNT, COUNT))
def normal_equations(terms, correct, weights, gradient, hessian, start, stop):
    """Add the gradient and the Hessian, its lower triangle, of the rows' logistic loss at these weights.

    Without room for the Hessian (0 rows) the gradient alone.
    The last entry of the gradient, the place of the constant, gets the loss itself: the constant is not learned.
    """
    all_places, all_shares, counts = terms
    last = weights.shape[0] - 1
    for i in range(start, stop):
        places, shares = all_places[i], all_shares[i]
        total = weights[last]
        for t in range(counts[i]):
            total += weights[np.uint32(places[t])] * shares[t]
        small = np.exp(-abs(total))
        signed = -total if correct[i] else total
        gradient[last] += max(signed, 0.0) + np.log1p(small)
        chance = (1.0 if total > 0.0 else small) / (1.0 + small)
        slope = chance - 1.0 if correct[i] else chance
        for t in range(counts[i]):
            gradient[np.uint32(places[t])] += slope * shares[t]
        if hessian.shape[0] == 0:
            continue
        curve = chance * (1 - chance)
        for t in range(counts[i]):
            row, scaled = hessian[places[t]], curve * shares[t]
            for u in range(t + 1):  # terms are in rising order
                row[np.uint32(places[u])] += scaled * shares[u]

"""The numba kernels of the mixture: its terms, its log-odds, and the sums of a step of Newton's.

As in `kernels`, each works on the rows start…stop, releases the GIL and is held in a test against plain numpy lines.
"""

from __future__ import annotations

import numpy as np
from numba import types

from neartag.core.jit import COUNT, FLOAT, ID, POINTER, VALUES, kernel, read

DOUBLE = types.float64
FLAGS = read(types.boolean)
FOLDED = (read(DOUBLE, 2), read(DOUBLE, 3), read(DOUBLE, 3), read(DOUBLE), read(DOUBLE), read(DOUBLE))


@kernel(types.Tuple((COUNT, DOUBLE))(DOUBLE, read(DOUBLE)))
def _between(value, knots):
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
def _terms(parts, fine, coarse, places, shares):
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


@kernel(DOUBLE(VALUES, *FOLDED))
def _log_odds(parts, knots, heights, slopes, fine, levels, coarse):
    """The log-odds of a candidate from its parts and the functions of `mixture.Mixture.folded`."""
    last = parts.shape[0] - 1
    place, share = _between(parts[last], fine)
    total = levels[place] + share * (levels[place + 1] - levels[place])
    column, along = _between(parts[last], coarse)
    for j in range(last):
        value = max(np.float64(parts[j]), knots[j, 0])
        place = 0
        for k in range(1, knots.shape[1]):  # without a way out in between: compared several at a time
            place += value >= knots[j, k]
        beyond = value - knots[j, place]
        low = heights[j, place, column] + beyond * slopes[j, place, column]
        high = heights[j, place, column + 1] + beyond * slopes[j, place, column + 1]
        total += low + along * (high - low)
    return total


@kernel(types.void(read(FLOAT, 2), *FOLDED, DOUBLE[::1], COUNT, COUNT))
def mixed(parts, knots, heights, slopes, fine, levels, coarse, out, start, stop):
    """The log-odds of each row of parts."""
    for i in range(start, stop):
        out[i] = _log_odds(parts[i], knots, heights, slopes, fine, levels, coarse)


@kernel(
    types.void(
        read(ID, 2),
        read(FLOAT, 3),
        read(FLOAT, 2),
        POINTER,
        FLAGS,
        FLOAT,
        FLOAT,
        FLOAT,
        *FOLDED,
        DOUBLE[:, ::1],
        COUNT,
        COUNT,
    )
)
def probabilities(
    labels,
    told,
    margins,
    frequency,
    without_mean,
    usual,
    no_vote,
    no_similarity,
    knots,
    heights,
    slopes,
    fine,
    levels,
    coarse,
    out,
    start,
    stop,
):
    """How likely each row's candidates are right (m, room), −1 where there is none, from what is told of them.

    As `candidates.Candidates.described` and `mixed`, without writing the parts down; labels without a mean are given
    what it `usual`ly says.
    """
    parts = np.empty(5, np.float32)
    silent = np.log(no_vote)  # most candidates have no vote of one kind
    for i in range(start, stop):
        for c in range(labels.shape[1]):
            label = labels[i, c]
            if label < 0:
                out[i, c] = -1.0
                continue
            parts[0] = margins[i, c]
            parts[1] = np.log(told[i, c, 0] + no_vote) if told[i, c, 0] > 0.0 else silent
            parts[2] = np.log(told[i, c, 1] + no_vote) if told[i, c, 1] > 0.0 else silent
            parts[3] = usual if without_mean[label] else np.log(max(told[i, c, 2], np.float32(0.0)) + no_similarity)
            parts[4] = np.log(np.float32(1 + frequency[label]))
            out[i, c] = 1.0 / (1.0 + np.exp(-_log_odds(parts, knots, heights, slopes, fine, levels, coarse)))


@kernel(
    types.void(
        read(FLOAT, 2), FLAGS, read(DOUBLE, 2), read(DOUBLE, 2), read(DOUBLE), DOUBLE[::1], DOUBLE[:, ::1], COUNT, COUNT
    )
)
def normal_equations(parts, right, fine, coarse, weights, gradient, hessian, start, stop):
    """Add the gradient and the Hessian, its lower triangle, of the rows' logistic loss at these weights.

    Without room for the Hessian (0 rows) the gradient alone.
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
            if hessian.shape[0] == 0:
                continue
            scaled = curve * shares[t]
            for u in range(t + 1):  # terms are in rising order
                hessian[places[t], places[u]] += scaled * shares[u]

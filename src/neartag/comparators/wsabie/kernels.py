"""The numba kernels of WSABIE's training: steps of stochastic gradients on the WARP loss, one pair after another."""

from __future__ import annotations

import numpy as np

from neartag.core import kernel_types as types
from neartag.core.jit import COUNT, FLOAT, ID, IDS, POINTER, SPARSE, VALUES, kernel
from neartag.linalg.random_kernels import STATE, draw_below

TABLE = FLOAT[:, ::1]
# The feature rows as CSR, and whether they are dense: their indices are then 0…d−1 once, for all rows.
ROWS = types.Tuple((*SPARSE, types.boolean))
# Pairs of a point and a label: the point of each pair, and the labels of all points, whose order is that of the pairs.
PAIRS = types.Tuple((IDS, POINTER, IDS))
BOUNDS = types.Tuple((COUNT, FLOAT, FLOAT))  # draws at most, which are fewer than the labels; the margin; the norm
RATES = types.UniTuple(FLOAT, 2)  # of the first pair, and of the one after the last
EMBEDDING = types.UniTuple(TABLE, 2)  # V (d, D), W (L, D)
SQUARES = types.UniTuple(FLOAT[::1], 2)  # sums of squares for each row of both; empty: plain steps


@kernel(FLOAT(FLOAT[::1], FLOAT[::1]), fastmath=True)
def _dot(left, right):
    total = np.float32(0.0)
    for c in range(left.shape[0]):
        total += left[c] * right[c]
    return total


@kernel(types.void(FLOAT[::1], FLOAT, FLOAT[::1], FLOAT), fastmath=True)
def _add_within(row, factor, direction, max_norm):
    """row += factor · direction, then back onto the ball of that radius where it has left it."""
    square = np.float32(0.0)
    for c in range(row.shape[0]):
        value = row[c] + factor * direction[c]
        row[c] = value
        square += value * value
    if square > max_norm * max_norm:
        shrink = max_norm / np.sqrt(square)
        for c in range(row.shape[0]):
            row[c] *= shrink


@kernel(FLOAT(FLOAT, FLOAT, FLOAT[::1], COUNT))
def _step(rate, square, squares, place):
    """The step for a row whose gradient has this mean square: AdaGrad's, or `rate` itself where nothing is summed."""
    if squares.shape[0] == 0:
        return rate
    squares[place] += square
    return np.float32(rate / np.sqrt(squares[place])) if squares[place] > 0 else np.float32(0.0)


@kernel(types.void(ROWS, COUNT, TABLE, FLOAT[::1]), fastmath=True)
def _embed(rows, point, V, z):
    """z = Vᵀ x of a point."""
    indptr, indices, data, shared = rows
    begin, end = indptr[point], indptr[point + 1]
    back = begin if shared else np.int64(0)
    z[:] = 0.0
    for p in range(begin, end):
        value, row = data[p], V[indices[p - back]]
        for c in range(z.shape[0]):
            z[c] += value * row[c]


@kernel(types.Tuple((COUNT, FLOAT, COUNT))(FLOAT[::1], TABLE, COUNT, FLOAT, COUNT, IDS, STATE), fastmath=True)
def _find_wrong(z, W, point, least, max_draws, marked, random):
    """Draw wrong labels until one scores above `least`; returns it, −1: none, by how much it does, and the draws."""
    draws = 0
    while draws < max_draws:
        other = draw_below(random, W.shape[0])
        if marked[other] == point:  # its own labels do not count as draws
            continue
        draws += 1
        excess = _dot(z, W[other]) - least
        if excess > 0.0:
            return other, excess, draws
    return np.int64(-1), np.float32(0.0), draws


@kernel(
    types.UniTuple(types.float64, 2)(ROWS, PAIRS, POINTER, VALUES, BOUNDS, RATES, EMBEDDING, SQUARES, ID[::1], STATE),
    fastmath=True,
)
def warp_steps(rows, pairs, order, weights, bounds, rates, embedding, squares, marked, random):
    """Change V (d, D) and W (L, D) by a step for each pair of `order`; returns the mean loss and the share of steps.

    weights[r] is the loss of rank r. The rate falls evenly from the first pair to the last. `marked` (L,) holds −1 at
    first; it and `random` (1,) go on.
    """
    indptr, indices, data, shared = rows
    points, y_indptr, y_indices = pairs
    max_draws, margin, max_norm = bounds
    (rate, last_rate), (V, W), (V_squares, W_squares) = rates, embedding, squares
    count, width = W.shape
    z, apart = np.empty(width, np.float32), np.empty(width, np.float32)
    loss, steps = 0.0, 0
    for turn in range(order.shape[0]):
        pair = order[turn]
        point, label = points[pair], np.int64(y_indices[pair])
        if y_indptr[point + 1] - y_indptr[point] == count:
            continue
        for q in range(y_indptr[point], y_indptr[point + 1]):
            marked[y_indices[q]] = point
        _embed(rows, point, V, z)
        least = _dot(z, W[label]) - margin
        wrong, excess, draws = _find_wrong(z, W, point, least, max_draws, marked, random)
        if wrong < 0:
            continue
        weight = weights[(count - 1) // draws]
        loss += weight * excess
        steps += 1
        now = rate + (last_rate - rate) * np.float32(turn / order.shape[0])
        square = np.float32(0.0)
        for c in range(width):
            apart[c] = W[label, c] - W[wrong, c]
            square += apart[c] * apart[c]
        square *= weight * weight / width
        mean_square = weight * weight * _dot(z, z) / width
        _add_within(W[label], weight * _step(now, mean_square, W_squares, label), z, max_norm)
        _add_within(W[wrong], -weight * _step(now, mean_square, W_squares, wrong), z, max_norm)
        begin, end = indptr[point], indptr[point + 1]
        back = begin if shared else np.int64(0)
        for p in range(begin, end):
            value, feature = data[p], np.int64(indices[p - back])
            if value != 0.0:
                factor = weight * value * _step(now, square * value * value, V_squares, feature)
                _add_within(V[feature], factor, apart, max_norm)
    made = max(1, order.shape[0])
    return loss / made, steps / made

"""The numba kernels of WSABIE's training: steps of stochastic gradients on the WARP loss, one pair after another."""

from __future__ import annotations

import numpy as np
from numba import types

from neartag.core.jit import COUNT, FLOAT, ID, IDS, POINTER, SPARSE, VALUES, kernel
from neartag.linalg.random_kernels import STATE, draw_below


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


@kernel(
    types.UniTuple(types.float64, 2)(
        *SPARSE,
        types.boolean,
        IDS,
        POINTER,
        IDS,
        POINTER,
        VALUES,
        COUNT,
        FLOAT,
        FLOAT,
        FLOAT,
        FLOAT,
        FLOAT[:, ::1],
        FLOAT[:, ::1],
        FLOAT[::1],
        FLOAT[::1],
        ID[::1],
        STATE,
    ),
    fastmath=True,
)
def warp_steps(
    indptr,
    indices,
    data,
    shared,
    points,
    y_indptr,
    y_indices,
    order,
    weights,
    max_draws,
    margin,
    max_norm,
    rate,
    last_rate,
    V,
    W,
    V_squares,
    W_squares,
    marked,
    random,
):
    """Change V (d, D) and W (L, D) by a step for each pair of `order`; returns the mean loss and the share of steps.

    A pair p is the point points[p] and its label y_indices[p]. `shared`: the rows are dense, and `indices` is 0…d−1 for
    all of them. weights[r] is the loss of rank r; `max_draws` is below L. The rate falls evenly from the first pair to
    the last. Empty squares mean plain steps. `marked` (L,) holds −1 at first; it and `random` (1,) go on.
    """
    count, width = W.shape
    z, apart = np.empty(width, np.float32), np.empty(width, np.float32)
    loss, steps = 0.0, 0
    for turn in range(order.shape[0]):
        pair = order[turn]
        point, label = points[pair], np.int64(y_indices[pair])
        own = y_indptr[point + 1] - y_indptr[point]
        if own == count:
            continue
        for q in range(y_indptr[point], y_indptr[point + 1]):
            marked[y_indices[q]] = point
        begin, end = indptr[point], indptr[point + 1]
        back = begin if shared else np.int64(0)
        z[:] = 0.0
        for p in range(begin, end):
            value, row = data[p], V[indices[p - back]]
            for c in range(width):
                z[c] += value * row[c]
        least = _dot(z, W[label]) - margin
        wrong, excess, draws = np.int64(-1), np.float32(0.0), 0
        while wrong < 0 and draws < max_draws:
            other = draw_below(random, count)
            if marked[other] == point:  # its own labels do not count as draws
                continue
            draws += 1
            excess = _dot(z, W[other]) - least
            if excess > 0.0:
                wrong = other
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
        for p in range(begin, end):
            value, feature = data[p], np.int64(indices[p - back])
            if value != 0.0:
                factor = weight * value * _step(now, square * value * value, V_squares, feature)
                _add_within(V[feature], factor, apart, max_norm)
    pairs = max(1, order.shape[0])
    return loss / pairs, steps / pairs

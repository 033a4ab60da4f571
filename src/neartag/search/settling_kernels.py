"""The kernels that settle who is nearest: products that are the same to the last bit, however the search was made.

Each releases the GIL and is compiled once for the types named. A test holds each against the plain numpy lines that it
equals.
"""

from __future__ import annotations

import numpy as np

from neartag.core import kernel_types as types
from neartag.core.jit import COUNT, DOUBLE, FLOAT, ID, MATRIX, VALUES, kernel, read
from neartag.search.topk_kernels import insert


@kernel(DOUBLE(VALUES, VALUES))
def product(left, right):
    """The inner product of two points, summed in one order and in float64."""
    total = 0.0
    for j in range(left.shape[0]):
        total += np.float64(left[j]) * np.float64(right[j])
    return total


@kernel(FLOAT(VALUES, MATRIX, VALUES, COUNT))
def _similarity(query, points, offset, row):
    """The product of a query with a point, less the point's offset where there are offsets."""
    value = product(query, points[row])
    if offset.shape[0] > 0:
        value -= np.float64(offset[row])
    return np.float32(value)


@kernel(
    types.void(
        *(MATRIX, MATRIX, VALUES, read(ID, 2), read(FLOAT, 2), DOUBLE, DOUBLE),
        *(ID[:, ::1], FLOAT[:, ::1], types.boolean[::1], COUNT, COUNT),
    )
)
def settle(queries, points, offset, ids, values, slope, base, out_ids, out_values, unsure, start, stop):
    """The best of the points that were found for each query, best first, ties to the lower point.

    What was found is right up to rounding, slope · ‖query‖ + base. A query is unsure where rounding may have kept a
    point from being found that belongs among the best.
    """
    last, wanted = ids.shape[1] - 1, out_ids.shape[1]
    for i in range(start, stop):
        for slot in range(wanted):
            out_ids[i, slot], out_values[i, slot] = -1, -np.inf
        filled = 0
        for slot in range(last + 1):
            row = ids[i, slot]
            if row < 0:
                break
            filled = insert(_similarity(queries[i], points, offset, row), row, filled, out_ids[i], out_values[i])
        rounding = slope * np.sqrt(product(queries[i], queries[i])) + base
        unsure[i] = ids[i, last] >= 0 and values[i, last] + rounding >= out_values[i, wanted - 1]


@kernel(types.void(VALUES, MATRIX, VALUES, FLOAT[:, ::1]))
def similarities(query, points, offset, out):
    """The products of a query with all points, less their offsets, into out[0]."""
    for row in range(points.shape[0]):
        out[0, row] = _similarity(query, points, offset, row)

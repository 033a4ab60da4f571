"""The numba kernels of products of one row: with a table of weights, and of a table with one vector.

Each releases the GIL and is compiled once for the types named. A test holds each against the plain numpy line that it
equals.
"""

from __future__ import annotations

import numpy as np
from numba import types

from neartag.core.jit import COUNT, CSR, FLOAT, ID, IDS, MATRIX, VALUES, kernel


@kernel(COUNT(IDS, COUNT, COUNT, ID))
def first_not_below(numbers, start, stop, wanted):
    """Where the first of the rising numbers start…stop is that is not below the wanted one; stop where all are."""
    while start < stop:
        middle = (start + stop) // 2
        if numbers[middle] < wanted:
            start = middle + 1
        else:
            stop = middle
    return start


@kernel(types.void(CSR, COUNT, MATRIX, FLOAT[::1]))
def row_times_dense(rows, i, weights, out):
    """out = rows[i] @ weights for one row in CSR; summed entry by entry, so to the last bit as from lists."""
    indptr, indices, data = rows
    out[:] = 0.0
    width, position, end = out.shape[0], indptr[i], indptr[i + 1]
    # Four entries at a time: `out` is then read and written a quarter as often.
    while position + 4 <= end:
        a0, a1, a2, a3 = data[position], data[position + 1], data[position + 2], data[position + 3]
        j0, j1, j2, j3 = indices[position], indices[position + 1], indices[position + 2], indices[position + 3]
        for c in range(width):
            out[c] = out[c] + a0 * weights[j0, c] + a1 * weights[j1, c] + a2 * weights[j2, c] + a3 * weights[j3, c]
        position += 4
    while position < end:
        a0, j0 = data[position], indices[position]
        for c in range(width):
            out[c] += a0 * weights[j0, c]
        position += 1


@kernel(types.void(MATRIX, VALUES, FLOAT[::1], COUNT, COUNT), fastmath=True)
def dense_times_vector(matrix, vector, out, start, stop):
    """out[start:stop] = matrix[start:stop] @ vector."""
    width, i = vector.shape[0], start
    while i + 4 <= stop:  # four sums at once, so that none waits for itself
        a, b, c, d = np.float32(0.0), np.float32(0.0), np.float32(0.0), np.float32(0.0)
        for j in range(width):
            a += matrix[i, j] * vector[j]
            b += matrix[i + 1, j] * vector[j]
            c += matrix[i + 2, j] * vector[j]
            d += matrix[i + 3, j] * vector[j]
        out[i], out[i + 1], out[i + 2], out[i + 3] = a, b, c, d
        i += 4
    while i < stop:
        a = np.float32(0.0)
        for j in range(width):
            a += matrix[i, j] * vector[j]
        out[i] = a
        i += 1

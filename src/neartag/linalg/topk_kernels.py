"""The numba kernels of searching dense rows, and the lists of the best that every search keeps.

As in `kernels`, each works on the rows start…stop, releases the GIL, is compiled once for the types named, and is held
in a test against the plain numpy lines that it equals.
"""

from __future__ import annotations

import numpy as np
from numba import types

from neartag.core.jit import COUNT, CSR, FLOAT, ID, IDS, MATRIX, VALUES, kernel

# Entries looked over at once for anything that belongs among the best: a maximum is taken many at a time.
GLANCE = 64


@kernel(types.int64(FLOAT, ID, COUNT, ID[::1], FLOAT[::1]))
def insert(value, row, filled, ids, values):
    """Put a row into a list of the best, best first, ties to the lower row; returns how many the list then has."""
    wanted = ids.shape[0]
    slot = filled
    while slot > 0 and (values[slot - 1] < value or (values[slot - 1] == value and ids[slot - 1] > row)):
        if slot < wanted:
            values[slot] = values[slot - 1]
            ids[slot] = ids[slot - 1]
        slot -= 1
    if slot == wanted:
        return filled
    values[slot] = value
    ids[slot] = row
    return min(filled + 1, wanted)


@kernel(FLOAT(VALUES, COUNT, COUNT), fastmath=True)
def largest(values, start, stop):
    """The largest of some values, infinities among them."""
    best = values[start]
    for j in range(start + 1, stop):
        best = max(best, values[j])
    return best


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


@kernel(types.void(VALUES, COUNT, COUNT, ID[::1], FLOAT[::1]))
def _take(row, width, first, ids, values):
    """Put what belongs there of a row's first `width` entries, numbered from `first`, into a list of the best."""
    wanted, filled = ids.shape[0], 0
    while filled < wanted and ids[filled] >= 0:
        filled += 1
    for begin in range(0, width, GLANCE):
        end = min(begin + GLANCE, width)
        if filled == wanted and largest(row, begin, end) < values[wanted - 1]:
            continue
        for j in range(begin, end):
            if filled < wanted or row[j] >= values[wanted - 1]:
                filled = insert(row[j], first + j, filled, ids, values)


@kernel(types.void(MATRIX, COUNT, ID[:, ::1], FLOAT[:, ::1], COUNT, COUNT))
def row_top(similarities, first, out_ids, out_values, start, stop):
    """The largest entries of each row, best first, ties to the lower column; −1 and −inf where the row is shorter.

    The columns are numbered from `first`; 0 begins anew, and a larger one goes on with what an earlier call found in
    the columns before.
    """
    for i in range(start, stop):
        if first == 0:
            out_ids[i] = -1
            out_values[i] = -np.inf
        _take(similarities[i], similarities.shape[1], first, out_ids[i], out_values[i])


@kernel(types.void(CSR, COUNT, MATRIX, FLOAT[::1]))
def embed_row(rows, i, weights, out):
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

"""The numba kernels of searching dense rows, and the lists of the best that every search keeps.

As in `kernels`, each works on the rows start…stop, releases the GIL, is compiled once for the types named, and is held
in a test against the plain numpy lines that it equals.
"""

from __future__ import annotations

import numpy as np
from numba import types

from neartag.jit import COUNT, FLOAT, ID, IDS, MATRIX, POINTER, SPARSE, VALUES, kernel

# Entries looked over at once for anything that belongs among the best: a maximum is taken many at a time.
GLANCE = 64
# What lets the compiler take a maximum or a sum many at a time, infinities allowed.
_VECTOR = {"nnan", "nsz", "reassoc", "contract"}


@kernel(types.int64(FLOAT, ID, COUNT, ID[::1], FLOAT[::1]))
def insert(value, row, filled, ids, values):  # noqa: ANN001, ANN201
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


@kernel(FLOAT(VALUES, COUNT, COUNT), fastmath=_VECTOR)
def largest(values, start, stop):  # noqa: ANN001, ANN201
    """The largest of some values, infinities among them."""
    best = values[start]
    for j in range(start + 1, stop):
        best = max(best, values[j])
    return best


@kernel(COUNT(IDS, COUNT, COUNT, ID))
def first_not_below(numbers, start, stop, wanted):  # noqa: ANN001, ANN201
    """Where the first of the rising numbers start…stop is that is not below the wanted one; stop where all are."""
    while start < stop:
        middle = (start + stop) // 2
        if numbers[middle] < wanted:
            start = middle + 1
        else:
            stop = middle
    return start


@kernel(types.void(VALUES, COUNT, COUNT, ID[::1], FLOAT[::1]))
def _take(row, width, first, ids, values):  # noqa: ANN001
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
def row_top(similarities, first, out_ids, out_values, start, stop):  # noqa: ANN001, ANN201
    """The largest entries of each row, best first, ties to the lower column; −1 and −inf where the row is shorter.

    The columns are numbered from `first`; 0 begins anew, and a larger one goes on with what an earlier call found in
    the columns before.
    """
    for i in range(start, stop):
        if first == 0:
            out_ids[i] = -1
            out_values[i] = -np.inf
        _take(similarities[i], similarities.shape[1], first, out_ids[i], out_values[i])


@kernel(types.void(*SPARSE, COUNT, MATRIX, FLOAT[::1]), fastmath=_VECTOR)
def embed_row(indptr, indices, data, i, weights, out):  # noqa: ANN001, ANN201
    """out = S[i] @ weights for one row of a CSR matrix."""
    out[:] = 0.0
    for p in range(indptr[i], indptr[i + 1]):
        feature, value = indices[p], data[p]
        for c in range(out.shape[0]):
            out[c] += value * weights[feature, c]


@kernel(types.void(MATRIX, VALUES, FLOAT[::1], COUNT, COUNT), fastmath=_VECTOR)
def dense_times_vector(matrix, vector, out, start, stop):  # noqa: ANN001, ANN201
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


@kernel(types.void(VALUES, MATRIX, VALUES, IDS, POINTER, ID[::1], FLOAT[::1]))
def cell_top(query, points, offset, cells, pointer, ids, values):  # noqa: ANN001, ANN201
    """The points of some cells with the largest product, less their offsets, with a query.

    The points of cell c are pointer[c]…pointer[c + 1]. Best first, ties to the lower point; −1 and −inf where there are
    fewer. `offset` is empty where there is none.
    """
    ids[:] = -1
    values[:] = -np.inf
    for cell in cells:
        first, last = pointer[cell], pointer[cell + 1]
        products = np.empty(last - first, np.float32)
        dense_times_vector(points[first:last], query, products, 0, last - first)
        if offset.shape[0] > 0:
            products -= offset[first:last]
        _take(products, last - first, first, ids, values)


@kernel(types.void(MATRIX, POINTER, COUNT, ID[:, ::1], FLOAT[:, ::1]))
def listed_row_top(similarities, rows, first, out_ids, out_values):  # noqa: ANN001, ANN201
    """Put what belongs there of each row's entries, numbered from `first`, into the lists of the best of rows[i]."""
    for i in range(rows.shape[0]):
        _take(similarities[i], similarities.shape[1], first, out_ids[rows[i]], out_values[rows[i]])

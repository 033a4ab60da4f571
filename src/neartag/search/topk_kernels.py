"""The numba kernels of lists of the best: the largest entries of a row, and the labels with the highest scores.

Each works on the rows start…stop, releases the GIL and is compiled once for the types named. A test holds each against
the plain numpy lines that it equals.
"""

from __future__ import annotations

import numpy as np

from neartag.core import kernel_types as types
from neartag.core.jit import COUNT, CSR, DOUBLE, FLOAT, ID, MATRIX, POINTER, VALUES, kernel

# So many entries are looked over at once for one that belongs among the best: the maximum of many is quick.
SCAN_WIDTH = 64


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


@kernel(types.void(VALUES, COUNT, COUNT, ID[::1], FLOAT[::1]))
def _take(row, width, first, ids, values):
    """Put what belongs there of a row's first `width` entries, numbered from `first`, into a list of the best."""
    wanted, filled = ids.shape[0], 0
    while filled < wanted and ids[filled] >= 0:
        filled += 1
    for begin in range(0, width, SCAN_WIDTH):
        end = min(begin + SCAN_WIDTH, width)
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


@kernel(types.void(CSR, ID[:, ::1], FLOAT[:, ::1], COUNT, COUNT))
def sparse_row_top(matrix, out_ids, out_values, start, stop):
    """The largest stored entries of each row, best first, ties to the lower column; −1 and −inf where it has fewer."""
    indptr, indices, data = matrix
    k = out_ids.shape[1]
    for i in range(start, stop):
        filled = 0
        for p in range(indptr[i], indptr[i + 1]):
            if filled < k or data[p] > out_values[i, filled - 1]:
                filled = insert(data[p], indices[p], filled, out_ids[i], out_values[i])
        for place in range(filled, k):
            out_ids[i, place] = -1
            out_values[i, place] = -np.inf


@kernel(types.int64(ID, DOUBLE, POINTER, COUNT, ID[::1], DOUBLE[::1]))
def place_label(label, value, frequency, filled, ids, scores):
    """Put a label into a list of the best; ties to the more frequent, then to the lower id. Returns how many it has."""
    wanted = ids.shape[0]
    slot = filled
    while slot > 0:
        other, ahead = ids[slot - 1], scores[slot - 1]
        often, as_often = frequency[label] > frequency[other], frequency[label] == frequency[other]
        if not (value > ahead or (value == ahead and (often or (as_often and label < other)))):
            break
        if slot < wanted:
            scores[slot] = ahead
            ids[slot] = other
        slot -= 1
    if slot == wanted:
        return filled
    scores[slot] = value
    ids[slot] = label
    return min(filled + 1, wanted)

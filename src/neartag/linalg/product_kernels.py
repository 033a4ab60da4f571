"""The kernels of products: sparse rows by dense or sparse weights, a dense matrix by a vector, SᵀS of sparse rows.

Each kernel works on the rows start…stop and releases Python's lock, so that threads can share the rows. Inputs are
read-only types, so that the arrays of a memory-mapped model can be given as they are. A test holds each kernel against
the plain numpy line that it equals.
"""

from __future__ import annotations

import numpy as np

from neartag.core import kernel_types as types
from neartag.core.jit import COUNT, CSR, FLOAT, ID, IDS, MATRIX, VALUES, kernel


@kernel(COUNT(IDS, COUNT, COUNT, ID))
def first_not_below(numbers, start, stop, wanted):
    """Return where the first of the sorted numbers[start:stop] is that is not below the wanted one; stop if none is."""
    while start < stop:
        middle = (start + stop) // 2
        if numbers[middle] < wanted:
            start = middle + 1
        else:
            stop = middle
    return start


@kernel(types.void(CSR, COUNT, MATRIX, FLOAT[::1]))
def row_times_dense(rows, i, weights, out):
    """out = rows[i] @ weights for one row in CSR, summed entry by entry: to the last bit as `sparse_times_sparse`."""
    indptr, indices, data = rows
    for j in range(out.shape[0]):
        out[j] = 0.0
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


@kernel(types.void(CSR, MATRIX, FLOAT[:, ::1], COUNT, COUNT))
def sparse_times_dense(rows, dense, out, start, stop):
    """out[start:stop] = rows[start:stop] @ dense, rows in CSR."""
    for i in range(start, stop):
        row_times_dense(rows, i, dense, out[i])


@kernel(types.void(CSR, CSR, FLOAT[:, ::1], COUNT, COUNT))
def sparse_times_sparse(rows, weights, out, start, stop):
    """out[start:stop] = (rows @ weights)[start:stop] as a dense block, both in CSR."""
    indptr, indices, data = rows
    w_indptr, w_indices, w_data = weights
    for i in range(start, stop):
        for c in range(out.shape[1]):
            out[i, c] = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            value, row = data[p], indices[p]
            for q in range(w_indptr[row], w_indptr[row + 1]):
                out[i, w_indices[q]] += value * w_data[q]


@kernel([types.void(CSR, CSR, each[:, ::1], COUNT, COUNT) for each in (types.float32, types.float64)])
def gram(columns, rows, out, start, stop):
    """Lower triangle of (Sᵀ S)[start:stop] into `out`: S by its columns, Sᵀ in CSR, and by its rows, S in sorted CSR.

    Sums are in float64, whatever type `out` has.
    """
    c_indptr, c_indices, c_data = columns
    indptr, indices, data = rows
    sums = np.zeros(out.shape[1], np.float64)
    for f in range(start, stop):
        for p in range(c_indptr[f], c_indptr[f + 1]):
            row, value = c_indices[p], np.float64(c_data[p])
            for q in range(indptr[row], indptr[row + 1]):
                if indices[q] > f:
                    break
                sums[indices[q]] += value * data[q]
        for c in range(f + 1):
            out[f, c] = sums[c]
            sums[c] = 0.0


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

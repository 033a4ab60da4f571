"""The numba kernels of training, and nothing else; those of searches are in `search`.

Each works on the rows start…stop, releases the GIL, is compiled once for the types named and
kept in numba's cache on disk. Inputs are declared read-only so that memory-mapped models can be
handed in as they are. A test holds each kernel against the plain numpy line that it equals.
"""

from __future__ import annotations

import numpy as np
from numba import types

from neartag.core.jit import COUNT, CSR, FLOAT, MATRIX, kernel
from neartag.linalg.product_kernels import row_times_dense


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

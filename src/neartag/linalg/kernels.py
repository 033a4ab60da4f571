"""The numba kernels of training, and nothing else; those of prediction are in `search_kernels`.

Each works on the rows start…stop, releases the GIL, is compiled once for the types named and
kept in numba's cache on disk. Inputs are declared read-only so that memory-mapped models can be
handed in as they are. A test holds each kernel against the plain numpy line that it equals.
"""

from __future__ import annotations

import numpy as np
from numba import types

from neartag.core.jit import FLOAT, IDS, MATRIX, POINTER, VALUES, kernel
from neartag.linalg.topk_kernels import embed_row


@kernel(types.void(POINTER, IDS, VALUES, MATRIX, FLOAT[:, ::1], types.int64, types.int64))
def sparse_times_dense(indptr, indices, data, dense, out, start, stop):
    """out[start:stop] = S[start:stop] @ dense, S in CSR."""
    for i in range(start, stop):
        embed_row(indptr, indices, data, i, dense, out[i])


@kernel(types.void(POINTER, IDS, VALUES, POINTER, IDS, VALUES, FLOAT[:, ::1], types.int64, types.int64))
def sparse_times_sparse(indptr, indices, data, w_indptr, w_indices, w_data, out, start, stop):
    """out[start:stop] = (S @ W)[start:stop] as a dense block, S and W in CSR."""
    for i in range(start, stop):
        for c in range(out.shape[1]):
            out[i, c] = 0.0
        for position in range(indptr[i], indptr[i + 1]):
            value, row = data[position], indices[position]
            for q in range(w_indptr[row], w_indptr[row + 1]):
                out[i, w_indices[q]] += value * w_data[q]


_products = (POINTER, IDS, VALUES, POINTER, IDS, VALUES)


@kernel([types.void(*_products, each[:, ::1], types.int64, types.int64) for each in (types.float32, types.float64)])
def gram(t_indptr, t_indices, t_data, indptr, indices, data, out, start, stop):
    """Lower triangle of (Sᵀ S)[start:stop] into `out`, given S and its transpose, both in CSR with sorted rows.

    Summed in float64 whatever is kept.
    """
    sums = np.zeros(out.shape[1], np.float64)
    for f in range(start, stop):
        for p in range(t_indptr[f], t_indptr[f + 1]):
            row, value = t_indices[p], np.float64(t_data[p])
            for q in range(indptr[row], indptr[row + 1]):
                if indices[q] > f:
                    break
                sums[indices[q]] += value * data[q]
        for c in range(f + 1):
            out[f, c] = sums[c]
            sums[c] = 0.0

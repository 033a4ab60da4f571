"""The numba kernel of SVP: the residual on Ω, times the vectors, in one pass."""

from __future__ import annotations

import numpy as np

from neartag.core import kernel_types as types
from neartag.core.jit import COUNT, CSR, FLOAT, MATRIX, VALUES, kernel


@kernel(
    types.float64(CSR, types.Tuple((MATRIX, VALUES)), FLOAT[::1], FLOAT[:, ::1], COUNT, COUNT),
    fastmath=True,
)
def residual_times(graph, factors, residual, out, start, stop):
    """out = R @ U, and residual = R unless it has no room, for R = P_Ω(G − U Σ Uᵀ); returns ‖R‖² of the rows.

    `graph` is G on Ω in CSR, `factors` are U and the diagonal of Σ. Each row of U is fetched once for both products:
    to fetch it is what takes long.
    """
    indptr, indices, target = graph
    vectors, values = factors
    width = vectors.shape[1]
    total = 0.0
    keep = residual.shape[0] > 0
    own = np.empty(width, np.float32)
    for i in range(start, stop):
        for c in range(width):
            out[i, c] = 0.0
            own[c] = vectors[i, c] * values[c]
        position, end = indptr[i], indptr[i + 1]
        while position + 4 <= end:
            j0, j1, j2, j3 = indices[position], indices[position + 1], indices[position + 2], indices[position + 3]
            r0, r1, r2, r3 = target[position], target[position + 1], target[position + 2], target[position + 3]
            a0, a1, a2, a3 = np.float32(0.0), np.float32(0.0), np.float32(0.0), np.float32(0.0)
            for c in range(width):
                a0 += own[c] * vectors[j0, c]
                a1 += own[c] * vectors[j1, c]
                a2 += own[c] * vectors[j2, c]
                a3 += own[c] * vectors[j3, c]
            r0, r1, r2, r3 = r0 - a0, r1 - a1, r2 - a2, r3 - a3
            total += r0 * r0 + r1 * r1 + r2 * r2 + r3 * r3
            for c in range(width):
                out[i, c] += r0 * vectors[j0, c] + r1 * vectors[j1, c] + r2 * vectors[j2, c] + r3 * vectors[j3, c]
            if keep:
                residual[position], residual[position + 1] = r0, r1
                residual[position + 2], residual[position + 3] = r2, r3
            position += 4
        while position < end:
            j0, r0, a0 = indices[position], target[position], np.float32(0.0)
            for c in range(width):
                a0 += own[c] * vectors[j0, c]
            r0 = r0 - a0
            total += r0 * r0
            for c in range(width):
                out[i, c] += r0 * vectors[j0, c]
            if keep:
                residual[position] = r0
            position += 1
    return total

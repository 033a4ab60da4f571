"""The numba kernels of LPSR: scores of some labels of each point, and the objective that labels are assigned by.

As in `neartag.linalg.product_kernels`, each is compiled once for the types named and releases the GIL; a test holds
each against the plain numpy lines that it equals.
"""

from __future__ import annotations

import numpy as np

from neartag.core import kernel_types as types
from neartag.core.jit import COUNT, CSR, FLOAT, IDS, POINTER, kernel, read

HITS = read(types.boolean)
SHARES = read(types.float64)


@kernel(types.void(CSR, CSR, POINTER, IDS, COUNT, FLOAT[::1], COUNT, COUNT))
def pattern_products(rows, table, p_indptr, p_indices, width, out, start, stop):
    """out[q] = ⟨rows[i], table[p_indices[q]]⟩ for each entry q of a pattern's rows; rows and table in sorted CSR.

    A table's row is gone through, or searched for each of the point's features, whichever takes fewer steps: a point
    then costs its features times its labels, whatever the table holds. Either way terms are summed in the same order.
    """
    (indptr, indices, data), (t_indptr, t_indices, t_data) = rows, table
    spread = np.zeros(width, np.float32)
    for i in range(start, stop):
        first, last = indptr[i], indptr[i + 1]
        for p in range(first, last):
            spread[indices[p]] = data[p]
        for q in range(p_indptr[i], p_indptr[i + 1]):
            low, high = t_indptr[p_indices[q]], t_indptr[p_indices[q] + 1]
            steps, size = 1, high - low
            while size > 1:
                size >>= 1
                steps += 1
            total = 0.0
            if high - low <= steps * (last - first):
                for p in range(low, high):
                    total += np.float64(spread[t_indices[p]]) * t_data[p]
            else:
                for p in range(first, last):
                    top = high
                    while low < top:
                        middle = (low + top) >> 1
                        if t_indices[middle] < indices[p]:
                            low = middle + 1
                        else:
                            top = middle
                    if low < high and t_indices[low] == indices[p]:
                        total += np.float64(data[p]) * t_data[low]
            out[q] = total
        for p in range(first, last):
            spread[indices[p]] = 0.0


@kernel(types.void(POINTER, IDS, HITS, SHARES, COUNT, types.float64, types.float64[::1]))
def assignment_gradient(pointer, order, hit, shares, at, steepness, gradient):
    """Gradient of Σ shares[y]·(1 − σ(steepness·(ahead − at + ½))) over all hits y, ahead = Σ shares of those before y.

    `order` has each point's labels, best first, and `hit` says which of them are right.
    """
    gradient[:] = 0.0
    longest = 0
    for t in range(pointer.shape[0] - 1):
        longest = max(longest, pointer[t + 1] - pointer[t])
    below = np.empty(longest, np.float64)  # how far each hit is within the best `at`, from 0 to 1
    for t in range(pointer.shape[0] - 1):
        first, last = pointer[t], pointer[t + 1]
        ahead = 0.0
        for p in range(first, last):
            if hit[p]:
                below[p - first] = 1 / (1 + np.exp(steepness * (ahead - at + 0.5)))
            ahead += shares[order[p]]
        behind = 0.0  # what the hits behind lose by a label's share
        for p in range(last - 1, first - 1, -1):
            label = order[p]
            gradient[label] -= behind
            if hit[p]:
                inside = below[p - first]
                gradient[label] += inside
                behind += shares[label] * steepness * inside * (1 - inside)


@kernel(COUNT(POINTER, IDS, HITS, HITS, COUNT))
def hits_within(pointer, order, hit, chosen, at):
    """How many hits are among the first `at` chosen labels of their point."""
    hits = 0
    for t in range(pointer.shape[0] - 1):
        ahead = 0
        for p in range(pointer[t], pointer[t + 1]):
            if chosen[order[p]]:
                hits += hit[p]
                ahead += 1
                if ahead == at:
                    break
    return hits

"""The kernels that predict with trees: the leaves that rows come to, and the mean of what these leaves hold."""

from __future__ import annotations

import numpy as np

from neartag.core import kernel_types as types
from neartag.core.jit import COUNT, CSR, FLOAT, ID, IDS, POINTER, kernel, read

LEAVES = read(ID, 2)


@kernel(types.void(CSR, IDS, CSR, COUNT, IDS, ID[:, ::1], COUNT, COUNT))
def find_leaves(rows, child, weights, columns, roots, out, start, stop):
    """out[i, t] = the leaf of tree t that row i comes to: from each node to its first child, or the next if ⟨w, x⟩ > 0.

    Sums are made in the order of training, so that training points come to the leaves that they were counted in.
    """
    (indptr, indices, data), (w_indptr, w_indices, w_data) = rows, weights
    row = np.zeros(columns, np.float32)
    for i in range(start, stop):
        for p in range(indptr[i], indptr[i + 1]):
            row[indices[p]] = data[p]
        for t in range(roots.shape[0]):
            node = roots[t]
            while child[node] > 0:
                reach = 0.0
                for p in range(w_indptr[node], w_indptr[node + 1]):
                    reach += np.float64(w_data[p]) * row[w_indices[p]]
                node = child[node] + (reach > 0.0)
            out[i, t] = node
        for p in range(indptr[i], indptr[i + 1]):
            row[indices[p]] = 0.0


@kernel(types.void(LEAVES, CSR, COUNT, COUNT[::1], COUNT, COUNT))
def count_labels(leaves, shares, labels, out, start, stop):
    """out[i] = how many labels the leaves of row i have together; each leaf's are a row of a CSR matrix."""
    indptr, indices, _ = shares
    seen = np.full(labels, -1, np.int64)
    for i in range(start, stop):
        count = 0
        for t in range(leaves.shape[1]):
            for p in range(indptr[leaves[i, t]], indptr[leaves[i, t] + 1]):
                if seen[indices[p]] != i:
                    seen[indices[p]] = i
                    count += 1
        out[i] = count


@kernel(types.void(LEAVES, CSR, COUNT, POINTER, ID[::1], FLOAT[::1], COUNT, COUNT))
def mean_shares(leaves, shares, labels, pointer, ids, values, start, stop):
    """Fill CSR rows (pointer, ids, values) with the means over each row's leaves of shares above 0, labels rising."""
    indptr, indices, data = shares
    total = np.zeros(labels, np.float32)
    for i in range(start, stop):
        position = pointer[i]
        for t in range(leaves.shape[1]):
            for p in range(indptr[leaves[i, t]], indptr[leaves[i, t] + 1]):
                label = indices[p]
                if total[label] == 0.0:
                    ids[position] = label
                    position += 1
                total[label] += data[p]
        ids[pointer[i] : position] = np.sort(ids[pointer[i] : position])
        for p in range(pointer[i], position):
            values[p] = total[ids[p]] / np.float32(leaves.shape[1])
            total[ids[p]] = 0.0

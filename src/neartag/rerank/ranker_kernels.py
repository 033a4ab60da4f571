"""The numba kernels of rankers: what they say of candidates. How they are trained stands in `descent_kernels`.

Each works on the rows, or labels, start…stop, releases the GIL and is compiled once for the types named. A test holds
each against plain numpy lines.
"""

from __future__ import annotations

import numpy as np

from neartag.core import kernel_types as types
from neartag.core.jit import COUNT, CSR, FLOAT, ID, MATRIX, POINTER, VALUES, kernel, read
from neartag.linalg.product_kernels import first_not_below, row_times_dense

# What a step of a search costs, against going through one weight, and what a search costs before its first.
SEARCH_STEP, SEARCH_START = 2.0, 4.0

LABELS = read(ID, 2)  # candidates (m, room)


@kernel(types.boolean(COUNT, COUNT))
def _is_searched(features, weights):
    """Say whether a few features are looked up among a label's weights rather than all weights gone through."""
    return features * (SEARCH_STEP * np.log2(weights + 1.0) + SEARCH_START) < weights


@kernel(types.void(CSR, CSR, VALUES, COUNT, LABELS, FLOAT[:, ::1], COUNT, COUNT))
def margins_by_label(rows, weights, bias, d, labels, out, start, stop):
    """What the rankers say of each row's candidates: w·x + b, from weights (L, d) a row a label; 0 where none is."""
    indptr, indices, data = rows
    w_indptr, w_indices, w_data = weights
    point = np.zeros(d, np.float32)
    for i in range(start, stop):
        for p in range(indptr[i], indptr[i + 1]):
            point[indices[p]] = data[p]
        for c in range(labels.shape[1]):
            label = labels[i, c]
            if label < 0 or label >= bias.shape[0]:
                out[i, c] = 0.0
                continue
            first, last = w_indptr[label], w_indptr[label + 1]
            total = np.float32(0.0)
            if _is_searched(indptr[i + 1] - indptr[i], last - first):
                for p in range(indptr[i], indptr[i + 1]):
                    place = first_not_below(w_indices, first, last, indices[p])
                    if place < last and w_indices[place] == indices[p]:
                        total += w_data[place] * data[p]
            else:
                for p in range(first, last):
                    total += w_data[p] * point[np.uint32(w_indices[p])]
            out[i, c] = bias[label] + total  # last, as in the other forms: they agree to the last bit
        for p in range(indptr[i], indptr[i + 1]):
            point[indices[p]] = 0.0


@kernel(types.void(CSR, CSR, VALUES, COUNT, types.Tuple((POINTER, POINTER)), FLOAT[:, ::1], COUNT, COUNT))
def margins_of_many(rows, weights, bias, d, places, out, start, stop):
    """The same for many rows, one label after another: its weights are laid out once for all rows that it may be of.

    `places` are (pointer, cells): the label l is the candidate of the cells[pointer[l]:pointer[l + 1]] of `out`, which
    are counted row by row. Works on the labels start…stop; other cells stay as they are.
    """
    indptr, indices, data = rows
    w_indptr, w_indices, w_data = weights
    pointer, cells = places
    room = out.shape[1]
    laid_out = np.zeros(d, np.float32)
    for label in range(start, stop):
        if pointer[label] == pointer[label + 1]:
            continue
        for p in range(w_indptr[label], w_indptr[label + 1]):
            laid_out[np.uint32(w_indices[p])] = w_data[p]
        for q in range(pointer[label], pointer[label + 1]):
            i = cells[q] // room
            total = np.float32(0.0)
            for p in range(indptr[i], indptr[i + 1]):
                total += laid_out[np.uint32(indices[p])] * data[p]
            out[i, cells[q] - i * room] = bias[label] + total
        for p in range(w_indptr[label], w_indptr[label + 1]):
            laid_out[np.uint32(w_indices[p])] = 0.0


@kernel(types.void(CSR, CSR, VALUES, LABELS, FLOAT[:, ::1], COUNT, COUNT))
def margins_by_feature(rows, weights, bias, labels, out, start, stop):
    """The same from weights (d, L), a row a feature."""
    indptr, indices, data = rows
    w_indptr, w_indices, w_data = weights
    score = np.zeros(bias.shape[0], np.float32)
    for i in range(start, stop):
        for p in range(indptr[i], indptr[i + 1]):
            feature, value = indices[p], data[p]
            for q in range(w_indptr[feature], w_indptr[feature + 1]):
                score[np.uint32(w_indices[q])] += value * w_data[q]
        for c in range(labels.shape[1]):
            label = labels[i, c]
            out[i, c] = bias[label] + score[label] if 0 <= label < bias.shape[0] else 0.0
        for p in range(indptr[i], indptr[i + 1]):
            feature = indices[p]
            for q in range(w_indptr[feature], w_indptr[feature + 1]):
                score[np.uint32(w_indices[q])] = 0.0


@kernel(types.void(CSR, MATRIX, VALUES, LABELS, FLOAT[:, ::1], COUNT, COUNT))
def margins_by_table(rows, table, bias, labels, out, start, stop):
    """The same from weights (d, L) as an array."""
    score = np.empty(bias.shape[0], np.float32)
    for i in range(start, stop):
        row_times_dense(rows, i, table, score)
        for c in range(labels.shape[1]):
            label = labels[i, c]
            out[i, c] = bias[label] + score[label] if 0 <= label < bias.shape[0] else 0.0

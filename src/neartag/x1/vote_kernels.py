"""The numba kernels of the vote: the labels with the most, and how much some labels have.

Each works on the rows start…stop, releases the GIL and is compiled once for the types named. A test holds each against
the plain numpy lines that it equals.
"""

from __future__ import annotations

from neartag.core import kernel_types as types
from neartag.core.jit import COUNT, CSR, DOUBLE, ID, POINTER, kernel, read
from neartag.search.topk_kernels import place_label
from neartag.search.weight_kernels import VOTERS


@kernel(types.void(CSR, VOTERS, POINTER, types.Tuple((DOUBLE[::1], ID[::1])), ID[:, ::1], DOUBLE[:, ::1], COUNT, COUNT))
def vote_top(labels, voters, frequency, scratch, out_ids, out_scores, start, stop):
    """Sum each voter's weight over its labels and keep the best; ties to the more frequent label, then the lower id.

    Voters are row numbers of the label matrix (−1: none), and their weights. −1 with score 0 where fewer labels have
    votes. Labels of a frequency below 0 are left out. Of the scratch, scores (L,) are zeros, and are left so; touched
    (L,) may hold anything.
    """
    indptr, indices, _ = labels
    ids, weights = voters
    score, touched = scratch
    for i in range(start, stop):
        count = 0
        for v in range(ids.shape[1]):
            row, weight = ids[i, v], weights[i, v]
            if row < 0 or weight <= 0.0:
                continue
            for p in range(indptr[row], indptr[row + 1]):
                label = indices[p]
                if score[label] == 0.0:
                    touched[count] = label
                    count += 1
                score[label] += weight
        filled = 0
        for t in range(count):
            label = touched[t]
            value = score[label]
            score[label] = 0.0
            if frequency[label] >= 0:
                filled = place_label(label, value, frequency, filled, out_ids[i], out_scores[i])
        out_ids[i, filled:] = -1
        out_scores[i, filled:] = 0.0


@kernel(types.void(CSR, VOTERS, read(ID, 2), DOUBLE[::1], DOUBLE[:, ::1], COUNT, COUNT))
def label_shares(labels, voters, asked, score, out, start, stop):
    """The summed weight of those voters of each row that have the labels asked for (m, k); 0 for −1.

    `score` (L,) is zeros, and is left so.
    """
    indptr, indices, _ = labels
    ids, weights = voters
    for i in range(start, stop):
        for v in range(ids.shape[1]):
            if ids[i, v] >= 0:
                for p in range(indptr[ids[i, v]], indptr[ids[i, v] + 1]):
                    score[indices[p]] += weights[i, v]
        for c in range(asked.shape[1]):
            out[i, c] = score[asked[i, c]] if asked[i, c] >= 0 else 0.0
        for v in range(ids.shape[1]):
            if ids[i, v] >= 0:
                for p in range(indptr[ids[i, v]], indptr[ids[i, v] + 1]):
                    score[indices[p]] = 0.0

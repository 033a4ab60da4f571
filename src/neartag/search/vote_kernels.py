"""The numba kernels of the vote: what each neighbour's vote is worth, and the labels with the most.

As in `kernels`, each works on the rows start…stop, releases the GIL, is compiled once for the types named, and is held
in a test against the plain numpy lines that it equals.
"""

from __future__ import annotations

import numpy as np
from numba import types

from neartag.core.jit import COUNT, ID, IDS, MATRIX, POINTER, kernel, read


@kernel(types.void(MATRIX, types.float64, types.float64[:, ::1], COUNT, COUNT))
def shares(near, sharpness, out, start, stop):
    """out = exp(sharpness · (near − the row's largest)), rows summing to 1; −inf marks nobody, with share 0."""
    for i in range(start, stop):
        best, total = -np.inf, 0.0
        for v in range(near.shape[1]):
            best = max(best, np.float64(near[i, v]))
        for v in range(near.shape[1]):
            # Relative to the nearest, which changes no share: however sharp the weights, they do not all vanish.
            out[i, v] = np.exp(sharpness * (near[i, v] - best)) if near[i, v] > -np.inf else 0.0
            total += out[i, v]
        for v in range(near.shape[1]):
            out[i, v] /= total if total > 0.0 else 1.0


@kernel(types.int64(ID, types.float64, POINTER, COUNT, ID[::1], types.float64[::1]))
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


@kernel(
    types.void(
        POINTER,
        IDS,
        read(ID, 2),
        read(types.float64, 2),
        read(COUNT),
        types.float64[::1],
        ID[::1],
        ID[:, ::1],
        types.float64[:, ::1],
        COUNT,
        COUNT,
    )
)
def vote_top(indptr, indices, voters, weights, frequency, score, touched, out_ids, out_scores, start, stop):
    """Sum each voter's weight over its labels and keep the best; ties to the more frequent label, then the lower id.

    `voters` are row numbers of the label matrix (−1: none). −1 with score 0 where fewer labels have votes. `score` (L,)
    is zeros, and left so; `touched` (L,) may hold anything.
    """
    wanted = out_ids.shape[1]
    for i in range(start, stop):
        count = 0
        for v in range(voters.shape[1]):
            row, weight = voters[i, v], weights[i, v]
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
            filled = place_label(label, value, frequency, filled, out_ids[i], out_scores[i])
        for slot in range(filled, wanted):
            out_ids[i, slot] = -1
            out_scores[i, slot] = 0.0

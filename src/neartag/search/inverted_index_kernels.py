"""The numba kernels of searching sparse rows by lists of the rows that have each feature.

As in `kernels`, each works on the rows start…stop, releases the GIL, is compiled once for the types named, and is held
in a test against the plain numpy lines that it equals.
"""

from __future__ import annotations

import numpy as np
from numba import types

from neartag.core.jit import COUNT, FLOAT, ID, IDS, POINTER, SPARSE, VALUES, kernel, read
from neartag.linalg.topk_kernels import GLANCE, insert, largest


@kernel(FLOAT(FLOAT, COUNT))
def _worth(value, length):
    """How much a feature weighs for the work that a list of this length makes."""
    return np.float32(value * value / max(length, 1))


@kernel(types.Tuple((COUNT, FLOAT))(IDS, VALUES, POINTER, types.float64, COUNT))
def _first_look(indices, data, t_indptr, skip, rescoring):
    """How many entries of lists a first look at a point takes, and what a feature that is looked at is worth at least.

    −1: nothing is left out, since that would not save half of the work.
    """
    work, square = 0, 0.0
    for p in range(len(indices)):
        work += t_indptr[indices[p] + 1] - t_indptr[indices[p]]
        square += data[p] * data[p]
    if skip <= 0.0 or work <= 2 * rescoring or square <= 0.0:
        return work, np.float32(-1.0)
    worth = np.empty(len(indices), np.float32)
    for p in range(len(indices)):
        worth[p] = _worth(data[p], t_indptr[indices[p] + 1] - t_indptr[indices[p]])
    room, least = skip * skip * square, np.float32(-1.0)
    order = np.argsort(worth)
    for place in range(len(order)):
        room -= data[order[place]] * data[order[place]]
        if room < 0.0:
            least = worth[order[place]]
            break
    left = 0
    for p in range(len(indices)):
        if worth[p] >= least:
            left += t_indptr[indices[p] + 1] - t_indptr[indices[p]]
    if least < 0.0 or 2 * (left + rescoring) > work:
        return work, np.float32(-1.0)
    return left, least


@kernel(types.int64(IDS, VALUES, IDS, POINTER, IDS, VALUES, FLOAT[::1], ID[::1], FLOAT[::1]))
def _score_listed(indices, data, listed, r_indptr, r_indices, r_data, query, ids, values):
    """Put the listed rows, −1: none, into a list of the best by their product with a point; returns how many it has.

    Products of zero do not count. `query` (d,) is zeros, and is left so.
    """
    for p in range(len(indices)):
        query[indices[p]] = data[p]
    filled = 0
    for t in range(len(listed)):
        row = listed[t]
        if row < 0:
            continue
        total = np.float32(0.0)
        for p in range(r_indptr[row], r_indptr[row + 1]):
            total += query[r_indices[p]] * r_data[p]
        if total != 0.0:
            filled = insert(total, row, filled, ids, values)
    for p in range(len(indices)):
        query[indices[p]] = 0.0
    return filled


@kernel(types.void(*SPARSE, *SPARSE, read(ID, 2), FLOAT[::1], ID[:, ::1], FLOAT[:, ::1], COUNT, COUNT))
def listed_top(indptr, indices, data, r_indptr, r_indices, r_data, listed, query, out_ids, out_values, start, stop):
    """The largest products of each row of Q with the rows of P that are listed for it (m, many), −1: none.

    As in `sparse_top`, which looks at all rows.
    """
    for i in range(start, stop):
        begin, end = indptr[i], indptr[i + 1]
        out_ids[i] = -1
        out_values[i] = -np.inf
        _score_listed(
            indices[begin:end],
            data[begin:end],
            listed[i],
            r_indptr,
            r_indices,
            r_data,
            query,
            out_ids[i],
            out_values[i],
        )


@kernel(types.int64(*SPARSE, POINTER, types.float64, COUNT))
def search_work(indptr, indices, data, t_indptr, skip, rescoring):
    """How many entries `sparse_top` would look at for all rows of Q, of lists and of rows that are scored in full."""
    total = 0
    for i in range(len(indptr) - 1):
        part = slice(indptr[i], indptr[i + 1])
        taken, least = _first_look(indices[part], data[part], t_indptr, skip, rescoring)
        total += taken + (rescoring if least >= 0.0 else 0)
    return total


@kernel(
    types.void(
        *SPARSE,
        *SPARSE,
        *SPARSE,
        FLOAT,
        COUNT,
        FLOAT[::1],
        ID[::1],
        FLOAT[::1],
        ID[:, ::1],
        FLOAT[:, ::1],
        COUNT,
        COUNT,
    )
)
def sparse_top(
    indptr,
    indices,
    data,
    t_indptr,
    t_indices,
    t_data,
    r_indptr,
    r_indices,
    r_data,
    skip,
    candidates,
    score,
    touched,
    query,
    out_ids,
    out_values,
    start,
    stop,
):
    """The largest entries of each row of Q @ Pᵀ, given Q, Pᵀ (d, n) and P in CSR; entries that are zero never count.

    Best first, ties to the lower row of P; −1 and −inf where fewer rows share a feature. Features that are in many rows
    of P and weigh little in a row of Q are most of the work and little of the result: where leaving out those that
    together have at most the share `skip` of the row's length saves more than half of it, the best `candidates` by the
    other features are found first, and only these are scored in full. With skip 0 nothing is left out.

    `score` (n,) and `query` (d,) are zeros, and are left so; `touched` (n,) may hold anything. The caller makes them:
    of zeroed memory the system gives out only the pages that are touched, which matters where a single row is asked.
    """
    n, wanted = r_indptr.shape[0] - 1, out_ids.shape[1]
    listed_ids = np.empty(candidates, np.int32)
    listed = np.empty(candidates, np.float32)
    rescoring = candidates * (r_indptr[n] // max(n, 1))
    for i in range(start, stop):
        begin, end = indptr[i], indptr[i + 1]
        taken, least = _first_look(indices[begin:end], data[begin:end], t_indptr, skip, rescoring)
        pruned = least >= 0.0
        found_ids = listed_ids if pruned else out_ids[i]
        found = listed if pruned else out_values[i]
        room_for = found_ids.shape[0]
        filled = 0
        if 4 * taken >= n:  # most rows share something: cheaper to look at all than to note which
            for p in range(begin, end):
                feature, value = indices[p], data[p]
                first, last = t_indptr[feature], t_indptr[feature + 1]
                if pruned and _worth(value, last - first) < least:
                    continue
                for q in range(first, last):
                    score[t_indices[q]] += value * t_data[q]
            for low in range(0, n, GLANCE):
                high = min(low + GLANCE, n)
                if filled == room_for and largest(score, low, high) <= found[room_for - 1]:
                    continue
                for row in range(low, high):
                    if score[row] != 0.0:
                        filled = insert(score[row], row, filled, found_ids, found)
            score[:] = 0.0
        else:
            count = 0
            for p in range(begin, end):
                feature, value = indices[p], data[p]
                first, last = t_indptr[feature], t_indptr[feature + 1]
                if pruned and _worth(value, last - first) < least:
                    continue
                for q in range(first, last):
                    row = t_indices[q]
                    # At most a quarter of n are noted, even where a score of zero lets a row be noted again.
                    if score[row] == 0.0:
                        touched[count] = row
                        count += 1
                    score[row] += value * t_data[q]
            for t in range(count):
                value = score[touched[t]]
                score[touched[t]] = 0.0  # a row noted twice, its score having been zero between, then counts once
                if value != 0.0:
                    filled = insert(value, touched[t], filled, found_ids, found)
        if pruned:
            point = indices[begin:end], data[begin:end]
            filled = _score_listed(
                *point, listed_ids[:filled], r_indptr, r_indices, r_data, query, out_ids[i], out_values[i]
            )
        for slot in range(filled, wanted):
            out_values[i, slot] = -np.inf
            out_ids[i, slot] = -1


@kernel(types.void(*SPARSE, ID[:, ::1], FLOAT[:, ::1], COUNT, COUNT))
def sparse_row_top(indptr, indices, data, out_ids, out_values, start, stop):
    """The largest stored entries of each row, best first, ties to the lower column; −1 and −inf where it has fewer."""
    k = out_ids.shape[1]
    for i in range(start, stop):
        filled = 0
        for p in range(indptr[i], indptr[i + 1]):
            if filled < k or data[p] > out_values[i, filled - 1]:
                filled = insert(data[p], indices[p], filled, out_ids[i], out_values[i])
        for place in range(filled, k):
            out_ids[i, place] = -1
            out_values[i, place] = -np.inf


@kernel(types.void(*SPARSE, *SPARSE, COUNT, FLOAT[::1], ID[::1], POINTER))
def append_columns(indptr, indices, data, new_indptr, new_indices, new_data, width, out_data, out_indices, out_indptr):
    """Fill the CSR matrix [A B] from A, `width` columns wide, and B, of as many rows; its row pointers are given."""
    for row in range(len(indptr) - 1):
        place = out_indptr[row]
        for p in range(indptr[row], indptr[row + 1]):
            out_indices[place] = indices[p]
            out_data[place] = data[p]
            place += 1
        for p in range(new_indptr[row], new_indptr[row + 1]):
            out_indices[place] = new_indices[p] + width
            out_data[place] = new_data[p]
            place += 1

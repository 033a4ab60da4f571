"""The numba kernels of an inverted index: for each feature the rows that have it, summed up for each query.

Each works on the rows start…stop, releases the GIL and is compiled once for the types named. A test holds each against
the plain numpy lines that it equals.
"""

from __future__ import annotations

import numpy as np

from neartag.core import kernel_types as types
from neartag.core.jit import COUNT, CSR, FLOAT, ID, IDS, POINTER, VALUES, kernel, read
from neartag.linalg.sort_kernels import sort_numbers
from neartag.search.topk_kernels import SCAN_WIDTH, insert, largest

ROW = types.Tuple((IDS, VALUES))  # the features of one row, and their values
SCORES = FLOAT[::1]
# Of n and d entries each; see `sparse_top`.
SCRATCH = types.Tuple((SCORES, ID[::1], FLOAT[::1]))
# From so many features on, a query laid out as an array is larger than a core's own cache, and a row shares few of its
# features with it. Which ones these may be is asked of a small table first.
MIN_WIDE, SLOTS = 65_536, np.uint32(16_384)


@kernel(FLOAT(FLOAT, COUNT))
def value_per_entry(value, length):
    """How much a feature weighs for the work that a list of this length makes."""
    return np.float32(value * value / max(length, 1))


@kernel(COUNT(IDS, VALUES, POINTER, FLOAT))
def _count_entries(indices, data, pointer, least):
    """How many entries the lists of those features have that are worth at least so much."""
    work = 0
    for p in range(len(indices)):
        length = pointer[indices[p] + 1] - pointer[indices[p]]
        if value_per_entry(data[p], length) >= least:
            work += length
    return work


@kernel(types.Tuple((COUNT, FLOAT))(ROW, POINTER, types.float64, COUNT))
def first_look(point, pointer, prune, rescoring):
    """How many entries of lists a first look at a point takes, and what a feature that is looked at is worth at least.

    −1: nothing is left out, since that would not save half of the work.
    """
    indices, data = point
    work, square = _count_entries(indices, data, pointer, np.float32(-1.0)), 0.0
    for p in range(len(indices)):
        square += data[p] * data[p]
    if prune <= 0.0 or work <= 2 * rescoring or square <= 0.0:
        return work, np.float32(-1.0)
    worth, order = np.empty(len(indices), np.float32), np.empty(len(indices), np.int64)
    bits = worth.view(np.int32)
    for p in range(len(indices)):
        worth[p] = value_per_entry(data[p], pointer[indices[p] + 1] - pointer[indices[p]])
        order[p] = (np.int64(bits[p]) << 32) | p  # no worth is below zero: bits and numbers have the same order
    sort_numbers(order, len(order))
    room, least = prune * prune * square, np.float32(-1.0)
    for place in range(len(order)):
        p = order[place] & 0x7FFFFFFF
        room -= data[p] * data[p]
        if room < 0.0:
            least = worth[p]
            break
    left = _count_entries(indices, data, pointer, least)
    if least < 0.0 or 2 * (left + rescoring) > work:
        return work, np.float32(-1.0)
    return left, least


@kernel(types.int64(ROW, IDS, CSR, FLOAT[::1], ID[::1], FLOAT[::1]))
def _score_in_full(point, candidates, rows, query, ids, values):
    """Put candidate rows, −1: none, into a list of the best by their product with a point; returns how many it has.

    Products of zero do not count. `query` (d,) is zeros, and is left so.
    """
    indices, data = point
    r_indptr, r_indices, r_data = rows
    is_wide = query.shape[0] >= MIN_WIDE
    may_have = np.zeros(SLOTS if is_wide else 0, np.bool_)
    for p in range(len(indices)):
        query[indices[p]] = data[p]
        if is_wide:
            may_have[np.uint32(indices[p]) % SLOTS] = True
    filled = 0
    for t in range(len(candidates)):
        row = candidates[t]
        if row < 0:
            continue
        total = np.float32(0.0)
        if is_wide:
            for p in range(r_indptr[row], r_indptr[row + 1]):
                feature = np.uint32(r_indices[p])
                if may_have[feature % SLOTS]:
                    total += query[feature] * r_data[p]
        else:
            for p in range(r_indptr[row], r_indptr[row + 1]):
                total += query[np.uint32(r_indices[p])] * r_data[p]
        if total != 0.0:
            filled = insert(total, row, filled, ids, values)
    for p in range(len(indices)):
        query[indices[p]] = 0.0
    return filled


@kernel(types.void(CSR, CSR, read(ID, 2), FLOAT[::1], ID[:, ::1], FLOAT[:, ::1], COUNT, COUNT))
def restricted_top(queries, rows, candidates, query, out_ids, out_values, start, stop):
    """The largest products of each row of Q with those rows of P that are its candidates (m, many), −1: none.

    As `sparse_top`, which looks at all rows of P.
    """
    indptr, indices, data = queries
    for i in range(start, stop):
        point = indices[indptr[i] : indptr[i + 1]], data[indptr[i] : indptr[i + 1]]
        out_ids[i] = -1
        out_values[i] = -np.inf
        _score_in_full(point, candidates[i], rows, query, out_ids[i], out_values[i])


@kernel(types.int64(CSR, POINTER, types.float64, COUNT))
def search_work(queries, pointer, prune, rescoring):
    """How many entries `sparse_top` would look at for all rows of Q, of lists and of rows that are scored in full."""
    indptr, indices, data = queries
    total = 0
    for i in range(len(indptr) - 1):
        point = indices[indptr[i] : indptr[i + 1]], data[indptr[i] : indptr[i + 1]]
        work, least = first_look(point, pointer, prune, rescoring)
        total += work + (rescoring if least >= 0.0 else 0)
    return total


@kernel(types.int64(ROW, CSR, FLOAT, SCORES, ID[::1], FLOAT[::1]))
def _top_of_all(point, postings, least, score, ids, values):
    """Put the best rows by the features worth `least` or more into a list, every row being looked at."""
    indices, data = point
    t_indptr, t_indices, t_data = postings
    n, room, filled = score.shape[0], ids.shape[0], 0
    for p in range(len(indices)):
        feature, value = indices[p], data[p]
        first, last = t_indptr[feature], t_indptr[feature + 1]
        if value_per_entry(value, last - first) < least:
            continue
        for q in range(first, last):
            score[np.uint32(t_indices[q])] += value * t_data[q]  # without a sign, numba need not ask for it
    for low in range(0, n, SCAN_WIDTH):
        high = min(low + SCAN_WIDTH, n)
        if filled == room and largest(score, low, high) <= values[room - 1]:
            continue
        for row in range(low, high):
            if score[row] != 0.0:
                filled = insert(score[row], row, filled, ids, values)
    score[:] = 0.0
    return filled


@kernel(types.int64(ROW, CSR, FLOAT, SCORES, ID[::1], ID[::1], FLOAT[::1]))
def _top_of_touched(point, postings, least, score, touched, ids, values):
    """The same, only those rows being looked at that share a feature. These are noted: a quarter of all at most."""
    indices, data = point
    t_indptr, t_indices, t_data = postings
    count, filled = 0, 0
    for p in range(len(indices)):
        feature, value = indices[p], data[p]
        first, last = t_indptr[feature], t_indptr[feature + 1]
        if value_per_entry(value, last - first) < least:
            continue
        for q in range(first, last):
            row = np.uint32(t_indices[q])
            # At most a quarter of n are noted, even where a score of zero lets a row be noted again.
            if score[row] == 0.0:
                touched[count] = row
                count += 1
            score[row] += value * t_data[q]
    for t in range(count):
        value = score[touched[t]]
        score[touched[t]] = 0.0  # a row noted twice, its score having been zero between, then counts once
        if value != 0.0:
            filled = insert(value, touched[t], filled, ids, values)
    return filled


@kernel(types.void(CSR, CSR, CSR, FLOAT, COUNT, SCRATCH, ID[:, ::1], FLOAT[:, ::1], COUNT, COUNT))
def sparse_top(queries, postings, rows, prune, rescored, scratch, out_ids, out_values, start, stop):
    """The largest entries of each row of Q @ Pᵀ, given Q, Pᵀ (d, n) and P in CSR; entries that are zero never count.

    Best first, ties to the lower row of P; −1 and −inf where fewer rows share a feature. Features that are in many rows
    of P and weigh little in a row of Q are most of the work and little of the result: where leaving out those that
    together have at most the share `prune` of the row's length saves more than half of it, the best `rescored` rows by
    the other features are found first, and only these are scored in full. With prune 0 nothing is left out.

    Of the scratch, scores (n,) and query (d,) are zeros, and are left so; touched (n,) may hold anything. The caller
    makes them: of zeroed memory the system gives out only the pages that are touched, which matters for a single row.
    """
    indptr, indices, data = queries
    score, touched, query = scratch
    n = score.shape[0]
    shortlist, shortlisted = np.empty(rescored, np.int32), np.empty(rescored, np.float32)
    rescoring = rescored * (rows[0][n] // max(n, 1))
    for i in range(start, stop):
        point = indices[indptr[i] : indptr[i + 1]], data[indptr[i] : indptr[i + 1]]
        work, least = first_look(point, postings[0], prune, rescoring)
        pruned = least >= 0.0
        ids = shortlist if pruned else out_ids[i]
        values = shortlisted if pruned else out_values[i]
        if 4 * work >= n:  # most rows share something: it is cheaper to look at all than to note which
            filled = _top_of_all(point, postings, least, score, ids, values)
        else:
            filled = _top_of_touched(point, postings, least, score, touched, ids, values)
        if pruned:
            filled = _score_in_full(point, shortlist[:filled], rows, query, out_ids[i], out_values[i])
        for slot in range(filled, out_ids.shape[1]):
            out_ids[i, slot], out_values[i, slot] = -1, -np.inf


@kernel(types.void(CSR, CSR, COUNT, FLOAT[::1], ID[::1], POINTER))
def append_columns(matrix, new, width, out_data, out_indices, out_indptr):
    """Fill the CSR matrix [A B] from A, `width` columns wide, and B, of as many rows; its row pointers are given."""
    indptr, indices, data = matrix
    new_indptr, new_indices, new_data = new
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

"""The numba kernels of the label graph: each row's neighbours by labels, and the union of both directions.

Each works on the rows start…stop. A test holds each against the plain numpy lines that it equals.
"""

from __future__ import annotations

import numpy as np

from neartag.core import kernel_types as types
from neartag.core.jit import COUNT, CSR, FLOAT, ID, IDS, MATRIX, POINTER, VALUES, kernel, read

_NONE_LEFT = np.int32(2**31 - 1)  # above every column number


@kernel(types.void(CSR, CSR, COUNT[::1], COUNT, COUNT))
def union_sizes(one, other, out, start, stop):
    """out[i] = how many columns row i has in either of two CSR matrices with sorted rows."""
    (indptr, indices, _), (t_indptr, t_indices, _) = one, other
    for i in range(start, stop):
        p, q, count = indptr[i], t_indptr[i], 0
        while p < indptr[i + 1] or q < t_indptr[i + 1]:
            left = indices[p] if p < indptr[i + 1] else _NONE_LEFT
            right = t_indices[q] if q < t_indptr[i + 1] else _NONE_LEFT
            p += left <= right
            q += right <= left
            count += 1
        out[i] = count


@kernel(types.void(CSR, CSR, types.Tuple((POINTER, ID[::1], FLOAT[::1])), COUNT, COUNT))
def union_rows(one, other, out, start, stop):
    """The rows of the entrywise maximum of two such matrices without negative entries, into `out` at its pointer."""
    (indptr, indices, data), (t_indptr, t_indices, t_data) = one, other
    pointer, ids, values = out
    for i in range(start, stop):
        p, q, place = indptr[i], t_indptr[i], pointer[i]
        while p < indptr[i + 1] or q < t_indptr[i + 1]:
            left = indices[p] if p < indptr[i + 1] else _NONE_LEFT
            right = t_indices[q] if q < t_indptr[i + 1] else _NONE_LEFT
            ids[place] = min(left, right)
            value = np.float32(0.0)
            if left <= right:
                value = data[p]
                p += 1
            if right <= left:
                value = max(value, t_data[q])
                q += 1
            values[place] = value
            place += 1


@kernel(types.void(FLOAT[::1], COUNT, COUNT))
def move_largest(values, count, wanted):
    """Reorder values[:count] so that its `wanted` largest stand first (quickselect, median of three)."""
    low, high = 0, count - 1
    target = wanted - 1
    while low < high:
        middle = (low + high) // 2
        a, b, c = values[low], values[middle], values[high]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = low, high
        while i <= j:
            while values[i] > pivot:
                i += 1
            while values[j] < pivot:
                j -= 1
            if i <= j:
                swap = values[i]
                values[i] = values[j]
                values[j] = swap
                i += 1
                j -= 1
        if target <= j:
            high = j
        elif target >= i:
            low = i
        else:
            return


@kernel(FLOAT(FLOAT[::1], COUNT, COUNT))
def _cutoff(values, count, wanted):
    """Return the smallest of the `wanted` largest of values[:count], which then stand first."""
    move_largest(values, count, wanted)
    smallest = values[0]
    for p in range(wanted):
        smallest = min(smallest, values[p])
    return smallest


@kernel(types.void(COUNT, FLOAT, FLOAT[::1], ID[::1], FLOAT[::1], ID[::1]))
def _nearest_ties(i, value, overlap, touched, offsets, out):
    """Fill `out` with the rows of that overlap that follow row i most closely, wrapping round; there are enough."""
    n, wanted, count = overlap.shape[0], out.shape[0], 0
    # Few rows are looked at one by one, many in turn from i on. float32 has every whole number up to 2²⁴.
    if 8 * touched.shape[0] < n <= 1 << 24:
        for p in range(touched.shape[0]):
            if overlap[touched[p]] == value:
                offset = touched[p] - i
                offsets[count] = -(offset if offset >= 0 else offset + n)
                count += 1
        move_largest(offsets, count, wanted)
        for p in range(wanted):
            j = i - np.int64(offsets[p])
            out[p] = j if j < n else j - n
        return
    for offset in range(n):
        if count == wanted:
            break
        j = i + offset
        if j >= n:
            j -= n
        if overlap[j] == value:
            out[count] = j
            count += 1


# Rows by their frequent labels: each row's group; pointers and rows, which rows a group has; how many frequent labels
# two groups share; for each group all groups, the most similar by these labels first.
_GROUPS = types.Tuple((IDS, POINTER, IDS, MATRIX, read(ID, 2)))
_LISTS = types.Tuple((POINTER, IDS))


@kernel(COUNT(COUNT, COUNT, FLOAT, VALUES, _GROUPS, FLOAT[::1], ID[::1], COUNT))
def _join_groups(i, wanted, least, scale, groups, overlap, touched, count):
    """Note rows that share only frequent labels with row i: all that may be among its `wanted` most similar ones.

    Groups come in the order of similarity, down to `least`. No more than `wanted` of a group can be needed and, by the
    rule for ties, these are the ones that follow i. Returns how many rows have been noted then.
    """
    group, g_indptr, g_rows, shared, order = groups
    own, before, last = group[i], count, np.float32(0.0)
    for place in range(order.shape[1]):
        other = order[own, place]
        first, end = g_indptr[other], g_indptr[other + 1]
        similarity = shared[own, other] * (scale[i] * scale[g_rows[first]])
        if similarity == 0.0 or similarity < least or (count - before >= wanted and similarity < last):
            break
        last = similarity
        position = first + np.searchsorted(g_rows[first:end], i)
        taken = 0
        for _ in range(first, end):
            if taken == wanted:
                break
            if position == end:
                position = first
            j = g_rows[position]
            position += 1
            if overlap[j] == 0.0:
                overlap[j] = similarity
                touched[count] = j
                count += 1
                taken += 1
    return count


@kernel(COUNT(COUNT, _LISTS, _LISTS, FLOAT[::1], ID[::1]))
def _count_shared(i, labels, points, overlap, touched):
    """Count the labels that each other row shares with row i, into `overlap`; returns how many rows share any."""
    (indptr, indices), (t_indptr, t_indices) = labels, points
    count = 0
    for p in range(indptr[i], indptr[i + 1]):
        label = indices[p]
        for q in range(t_indptr[label], t_indptr[label + 1]):
            j = t_indices[q]
            if overlap[j] == 0.0:
                touched[count] = j
                count += 1
            overlap[j] += 1.0
    return count


@kernel(types.void(COUNT, FLOAT, FLOAT[::1], ID[::1], FLOAT[::1], ID[::1], FLOAT[::1]))
def _write_best(i, threshold, overlap, touched, offsets, out_ids, out_values):
    """Put down the rows above the threshold and, of those at it, the nearest that follow row i; −1 where too few."""
    wanted, filled = out_ids.shape[0], 0
    for p in range(touched.shape[0]):
        j = touched[p]
        if overlap[j] > threshold:
            out_ids[filled] = j
            out_values[filled] = overlap[j]
            filled += 1
    if touched.shape[0] > wanted:
        _nearest_ties(i, threshold, overlap, touched, offsets, out_ids[filled:wanted])
    else:
        out_ids[filled:wanted] = -1
    out_values[filled:wanted] = threshold  # which is zero where there are not enough


@kernel(types.void(_LISTS, _LISTS, VALUES, _GROUPS, types.Tuple((ID[:, ::1], FLOAT[:, ::1])), COUNT, COUNT))
def label_neighbours(labels, points, scale, groups, out, start, stop):
    """For rows of a label matrix, the rows with the largest ⟨yᵢ, yⱼ⟩·scaleᵢ·scaleⱼ; −1 where fewer overlap.

    `labels` are each row's labels and `points` each label's rows: pointers and ids of CSR matrices. `out` are ids and
    similarities, as many columns as neighbours are wanted.

    Ties go to the nearest following row number, wrapping round: of hundreds of equal label vectors each then
    picks others, where "lowest number first" would make the same few points everybody's neighbours.

    The matrix comes without its frequent labels, by which each row would be compared with most others. Rows of a group
    are alike in frequent labels and in scale, so that these labels are counted once a group.
    """
    out_ids, out_values = out
    group, _, _, shared, _ = groups
    n, wanted = out_ids.shape
    overlap = np.zeros(n, np.float32)
    touched = np.empty(n, np.int32)
    values = np.empty(n, np.float32)
    for i in range(start, stop):
        count = _count_shared(i, labels, points, overlap, touched)
        own = group[i]
        if shared[own, own] > 0.0:
            for p in range(count):
                overlap[touched[p]] += shared[own, group[touched[p]]]
        for p in range(count):
            j = touched[p]
            overlap[j] *= scale[i] * scale[j]
            values[p] = overlap[j]
        threshold = _cutoff(values, count, wanted) if count > wanted else np.float32(0.0)
        if shared[own, own] > 0.0:
            best, joined = min(count, wanted), count  # no other values can count now, and these stand first
            count = _join_groups(i, wanted, threshold, scale, groups, overlap, touched, count)
            for p in range(joined, count):
                values[best] = overlap[touched[p]]
                best += 1
            if best > wanted:
                threshold = _cutoff(values, best, wanted)
        _write_best(i, threshold, overlap, touched[:count], values, out_ids[i], out_values[i])
        for p in range(count):
            overlap[touched[p]] = 0.0

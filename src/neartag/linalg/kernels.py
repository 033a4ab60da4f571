"""The numba kernels of training, and nothing else; those of prediction are in `search_kernels`.

Each works on the rows start…stop, releases the GIL, is compiled once for the types named and
kept in numba's cache on disk. Inputs are declared read-only so that memory-mapped models can be
handed in as they are. A test holds each kernel against the plain numpy line that it equals.
"""

from __future__ import annotations

import numpy as np
from numba import types

from neartag.core.jit import COUNT, CSR, FLOAT, ID, IDS, MATRIX, POINTER, VALUES, kernel
from neartag.linalg.product_kernels import row_times_dense


@kernel(types.void(CSR, MATRIX, FLOAT[:, ::1], COUNT, COUNT))
def sparse_times_dense(rows, dense, out, start, stop):
    """out[start:stop] = rows[start:stop] @ dense, rows in CSR."""
    for i in range(start, stop):
        row_times_dense(rows, i, dense, out[i])


@kernel(types.void(CSR, CSR, FLOAT[:, ::1], COUNT, COUNT))
def sparse_times_sparse(rows, weights, out, start, stop):
    """out[start:stop] = (rows @ weights)[start:stop] as a dense block, both in CSR."""
    indptr, indices, data = rows
    w_indptr, w_indices, w_data = weights
    for i in range(start, stop):
        for c in range(out.shape[1]):
            out[i, c] = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            value, row = data[p], indices[p]
            for q in range(w_indptr[row], w_indptr[row + 1]):
                out[i, w_indices[q]] += value * w_data[q]


@kernel([types.void(CSR, CSR, each[:, ::1], COUNT, COUNT) for each in (types.float32, types.float64)])
def gram(columns, rows, out, start, stop):
    """Lower triangle of (Sᵀ S)[start:stop] into `out`: S by its columns, Sᵀ in CSR, and by its rows, S in sorted CSR.

    Sums are in float64, whatever type `out` has.
    """
    c_indptr, c_indices, c_data = columns
    indptr, indices, data = rows
    sums = np.zeros(out.shape[1], np.float64)
    for f in range(start, stop):
        for p in range(c_indptr[f], c_indptr[f + 1]):
            row, value = c_indices[p], np.float64(c_data[p])
            for q in range(indptr[row], indptr[row + 1]):
                if indices[q] > f:
                    break
                sums[indices[q]] += value * data[q]
        for c in range(f + 1):
            out[f, c] = sums[c]
            sums[c] = 0.0


@kernel(
    types.float64(POINTER, IDS, VALUES, MATRIX, VALUES, FLOAT[::1], FLOAT[:, ::1], types.int64, types.int64),
    fastmath=True,
)
def residual_times(indptr, indices, target, vectors, values, residual, out, start, stop):
    """out = R @ vectors and, unless it has no room, residual = R, R = target − vectors·values·vectorsᵀ on a pattern.

    Returns ‖R‖² of the rows. Each row of `vectors` is fetched once for both products, and fetching is what takes long.
    """
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


_two_graphs = (POINTER, IDS, VALUES, POINTER, IDS, VALUES)


@kernel(types.void(*_two_graphs, types.int64[::1], types.int64, types.int64))
def union_sizes(indptr, indices, data, t_indptr, t_indices, t_data, out, start, stop):
    """out[i] = how many columns row i has in either of two CSR matrices with sorted rows."""
    for i in range(start, stop):
        p, q, count = indptr[i], t_indptr[i], 0
        while p < indptr[i + 1] or q < t_indptr[i + 1]:
            left = indices[p] if p < indptr[i + 1] else types.int32(2147483647)
            right = t_indices[q] if q < t_indptr[i + 1] else types.int32(2147483647)
            p += left <= right
            q += right <= left
            count += 1
        out[i] = count


@kernel(types.void(*_two_graphs, POINTER, ID[::1], FLOAT[::1], types.int64, types.int64))
def union_rows(indptr, indices, data, t_indptr, t_indices, t_data, pointer, ids, values, start, stop):
    """The rows of the entrywise maximum of two such matrices without negative entries, into (pointer, ids, values)."""
    for i in range(start, stop):
        p, q, place = indptr[i], t_indptr[i], pointer[i]
        while p < indptr[i + 1] or q < t_indptr[i + 1]:
            left = indices[p] if p < indptr[i + 1] else types.int32(2147483647)
            right = t_indices[q] if q < t_indptr[i + 1] else types.int32(2147483647)
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


@kernel(types.void(types.float32[::1], types.int64, types.int64))
def _move_largest(values, count, wanted):
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


@kernel(types.float32(types.float32[::1], types.int64, types.int64))
def _cutoff(values, count, wanted):
    """Return the smallest of the `wanted` largest of values[:count], which then stand first."""
    _move_largest(values, count, wanted)
    smallest = values[0]
    for p in range(wanted):
        smallest = min(smallest, values[p])
    return smallest


@kernel(types.void(types.int64, types.float32, FLOAT[::1], ID[::1], FLOAT[::1], ID[::1]))
def _nearest_ties(i, value, overlap, touched, offsets, out):
    """Fill `out` with the rows of that overlap that follow row i most closely, wrapping round; there are enough."""
    n, wanted, found = overlap.shape[0], out.shape[0], 0
    # Few rows are looked at one by one, many in turn from i on. float32 has every whole number up to 2²⁴.
    if 8 * touched.shape[0] < n <= 1 << 24:
        for p in range(touched.shape[0]):
            if overlap[touched[p]] == value:
                offset = touched[p] - i
                offsets[found] = -(offset if offset >= 0 else offset + n)
                found += 1
        _move_largest(offsets, found, wanted)
        for p in range(wanted):
            j = i - np.int64(offsets[p])
            out[p] = j if j < n else j - n
        return
    for offset in range(n):
        if found == wanted:
            break
        j = i + offset
        if j >= n:
            j -= n
        if overlap[j] == value:
            out[found] = j
            found += 1


# Rows by their frequent labels: each row's group; pointers and rows, which rows a group has; how many frequent labels
# two groups share; for each group all groups, the most similar by these labels first.
_groups = types.Tuple((IDS, POINTER, IDS, MATRIX, types.Array(ID, 2, "C", readonly=True)))


@kernel(
    types.int64(types.int64, types.int64, types.float32, VALUES, _groups, FLOAT[::1], ID[::1], types.int64),
)
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


@kernel(
    types.void(
        *(POINTER, IDS, POINTER, IDS, VALUES, _groups),
        *(types.int64, ID[:, ::1], FLOAT[:, ::1], types.int64, types.int64),
    ),
)
def label_neighbours(indptr, indices, t_indptr, t_indices, scale, groups, wanted, out_ids, out_values, start, stop):
    """For rows of a label matrix, the `wanted` rows with the largest ⟨yᵢ, yⱼ⟩·scaleᵢ·scaleⱼ; −1 where fewer overlap.

    Ties go to the nearest following row number, wrapping round: of hundreds of equal label vectors each then
    picks others, where "lowest number first" would make the same few points everybody's neighbours.

    The matrix comes without its frequent labels, by which each row would be compared with most others. Rows of a group
    are alike in frequent labels and in scale, so that these labels are counted once a group.
    """
    group, _, _, shared, _ = groups
    n = indptr.shape[0] - 1
    overlap = np.zeros(n, np.float32)
    touched = np.empty(n, np.int32)
    values = np.empty(n, np.float32)
    for i in range(start, stop):
        count = 0
        for p in range(indptr[i], indptr[i + 1]):
            label = indices[p]
            for q in range(t_indptr[label], t_indptr[label + 1]):
                j = t_indices[q]
                if overlap[j] == 0.0:
                    touched[count] = j
                    count += 1
                overlap[j] += 1.0
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
        filled = 0
        for p in range(count):
            j = touched[p]
            if overlap[j] > threshold:
                out_ids[i, filled] = j
                out_values[i, filled] = overlap[j]
                filled += 1
        if count > wanted:
            _nearest_ties(i, threshold, overlap, touched[:count], values, out_ids[i, filled:wanted])
        else:
            out_ids[i, filled:wanted] = -1
        out_values[i, filled:wanted] = threshold  # which is zero where there are not enough
        for p in range(count):
            overlap[touched[p]] = 0.0

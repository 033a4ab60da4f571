"""Every numba kernel of the method, and nothing else.

Each works on the rows start…stop, releases the GIL, is compiled once for the types named and
kept in numba's cache on disk. Inputs are declared read-only so that memory-mapped models can be
handed in as they are. A test holds each kernel against the plain numpy line that it equals.
"""

from __future__ import annotations

import numpy as np
from numba import types

from neartag.jit import kernel

_float = types.float32
_id = types.int32


def _read(dtype: types.Type, ndim: int = 1) -> types.Array:
    return types.Array(dtype, ndim, "C", readonly=True)


_pointer, _ids, _values = _read(types.int64), _read(_id), _read(_float)
_matrix = _read(_float, 2)


@kernel(types.void(_pointer, _ids, _values, _matrix, _float[:, ::1], types.int64, types.int64), fastmath=True)
def sparse_times_dense(indptr, indices, data, dense, out, start, stop):  # noqa: ANN001, ANN201
    """out[start:stop] = S[start:stop] @ dense, S in CSR."""
    width = dense.shape[1]
    for i in range(start, stop):
        for c in range(width):
            out[i, c] = 0.0
        position, end = indptr[i], indptr[i + 1]
        # Four entries at a time: the row of `out` is then read and written a quarter as often.
        while position + 4 <= end:
            a0, a1, a2, a3 = data[position], data[position + 1], data[position + 2], data[position + 3]
            j0, j1, j2, j3 = indices[position], indices[position + 1], indices[position + 2], indices[position + 3]
            for c in range(width):
                out[i, c] += a0 * dense[j0, c] + a1 * dense[j1, c] + a2 * dense[j2, c] + a3 * dense[j3, c]
            position += 4
        while position < end:
            a0, j0 = data[position], indices[position]
            for c in range(width):
                out[i, c] += a0 * dense[j0, c]
            position += 1


@kernel(types.void(_pointer, _ids, _values, _pointer, _ids, _values, _float[:, ::1], types.int64, types.int64))
def sparse_times_sparse(indptr, indices, data, w_indptr, w_indices, w_data, out, start, stop):  # noqa: ANN001, ANN201
    """out[start:stop] = (S @ W)[start:stop] as a dense block, S and W in CSR."""
    for i in range(start, stop):
        for c in range(out.shape[1]):
            out[i, c] = 0.0
        for position in range(indptr[i], indptr[i + 1]):
            value, row = data[position], indices[position]
            for q in range(w_indptr[row], w_indptr[row + 1]):
                out[i, w_indices[q]] += value * w_data[q]


_products = (_pointer, _ids, _values, _pointer, _ids, _values)


@kernel([types.void(*_products, each[:, ::1], types.int64, types.int64) for each in (types.float32, types.float64)])
def gram(t_indptr, t_indices, t_data, indptr, indices, data, out, start, stop):  # noqa: ANN001, ANN201
    """Lower triangle of (Sᵀ S)[start:stop] into `out`, given S and its transpose, both in CSR with sorted rows.

    Summed in float64 whatever is kept.
    """
    sums = np.zeros(out.shape[1], np.float64)
    for f in range(start, stop):
        for p in range(t_indptr[f], t_indptr[f + 1]):
            row, value = t_indices[p], np.float64(t_data[p])
            for q in range(indptr[row], indptr[row + 1]):
                if indices[q] > f:
                    break
                sums[indices[q]] += value * data[q]
        for c in range(f + 1):
            out[f, c] = sums[c]
            sums[c] = 0.0


@kernel(
    types.void(_pointer, _ids, _pointer, _values, _matrix, _float[::1], types.int64, types.int64),
    fastmath=True,
)
def pattern_residual(indptr, indices, mirror, target, factor, out, start, stop):  # noqa: ANN001, ANN201
    """out = target − (factor @ factor.T) on a symmetric CSR pattern; mirror[p] is where entry p's transpose stands."""
    width = factor.shape[1]
    for i in range(start, stop):
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            if j > i:
                continue
            total = np.float32(0.0)
            for c in range(width):
                total += factor[i, c] * factor[j, c]
            value = target[p] - total
            out[p] = value
            out[mirror[p]] = value


@kernel(types.void(types.float32[::1], types.int64, types.int64))
def _move_largest(values, count, wanted):  # noqa: ANN001
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


@kernel(
    types.void(
        _pointer, _ids, _pointer, _ids, _values, types.int64, _id[:, ::1], _float[:, ::1], types.int64, types.int64
    ),
)
def label_neighbours(indptr, indices, t_indptr, t_indices, scale, wanted, out_ids, out_values, start, stop):  # noqa: ANN001, ANN201
    """For rows of a label matrix, the `wanted` rows with the largest ⟨yᵢ, yⱼ⟩·scaleᵢ·scaleⱼ; −1 where fewer overlap.

    Ties go to the nearest following row number, wrapping round: of hundreds of equal label vectors each then
    picks others, where "lowest number first" would make the same few points everybody's neighbours.
    """
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
        for p in range(count):
            j = touched[p]
            overlap[j] *= scale[i] * scale[j]
            values[p] = overlap[j]
        filled = 0
        if count <= wanted:
            for p in range(count):
                out_ids[i, filled] = touched[p]
                out_values[i, filled] = overlap[touched[p]]
                filled += 1
        else:
            _move_largest(values, count, wanted)
            threshold = values[0]
            for p in range(wanted):
                threshold = min(threshold, values[p])
            for p in range(count):
                j = touched[p]
                if overlap[j] > threshold:
                    out_ids[i, filled] = j
                    out_values[i, filled] = overlap[j]
                    filled += 1
            for offset in range(n):
                if filled == wanted:
                    break
                j = i + offset
                if j >= n:
                    j -= n
                if overlap[j] == threshold:
                    out_ids[i, filled] = j
                    out_values[i, filled] = threshold
                    filled += 1
        for p in range(filled, wanted):
            out_ids[i, p] = -1
            out_values[i, p] = 0.0
        for p in range(count):
            overlap[touched[p]] = 0.0


@kernel(types.void(_matrix, _id[:, ::1], _float[:, ::1], types.int64, types.int64))
def row_top(similarities, out_ids, out_values, start, stop):  # noqa: ANN001, ANN201
    """The largest entries of each row, best first, ties to the lower column; −1 and −inf where the row is shorter."""
    wanted = out_ids.shape[1]
    for i in range(start, stop):
        filled = 0
        for j in range(similarities.shape[1]):
            value = similarities[i, j]
            if filled == wanted and value <= out_values[i, wanted - 1]:
                continue
            slot = filled if filled < wanted else wanted - 1
            while slot > 0 and out_values[i, slot - 1] < value:
                out_values[i, slot] = out_values[i, slot - 1]
                out_ids[i, slot] = out_ids[i, slot - 1]
                slot -= 1
            out_values[i, slot] = value
            out_ids[i, slot] = j
            if filled < wanted:
                filled += 1
        for slot in range(filled, wanted):
            out_values[i, slot] = -np.inf
            out_ids[i, slot] = -1


@kernel(
    types.void(
        _pointer,
        _ids,
        _read(_id, 2),
        _read(types.float64, 2),
        _read(types.int64),
        types.int64,
        _id[:, ::1],
        types.float64[:, ::1],
        types.int64,
        types.int64,
    ),
)
def vote_top(indptr, indices, voters, weights, frequency, n_labels, out_ids, out_scores, start, stop):  # noqa: ANN001, ANN201
    """Sum each voter's weight over its labels and keep the best; ties to the more frequent label, then the lower id.

    `voters` are row numbers of the label matrix (−1: none). −1 with score 0 where fewer labels have votes.
    """
    wanted = out_ids.shape[1]
    score = np.zeros(n_labels, np.float64)
    touched = np.empty(n_labels, np.int32)
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
            slot = filled if filled < wanted else wanted
            while slot > 0:
                other = out_ids[i, slot - 1]
                ahead = out_scores[i, slot - 1]
                better = value > ahead or (
                    value == ahead
                    and (
                        frequency[label] > frequency[other] or (frequency[label] == frequency[other] and label < other)
                    )
                )
                if not better:
                    break
                if slot < wanted:
                    out_scores[i, slot] = ahead
                    out_ids[i, slot] = other
                slot -= 1
            if slot < wanted:
                out_scores[i, slot] = value
                out_ids[i, slot] = label
                if filled < wanted:
                    filled += 1
        for slot in range(filled, wanted):
            out_ids[i, slot] = -1
            out_scores[i, slot] = 0.0


@kernel(types.int64(types.float32, types.int32, types.int64, _id[::1], _float[::1]))
def _insert(value, row, filled, ids, values):  # noqa: ANN001
    """Put a row into a list of the best, best first, ties to the lower row; returns how many the list then has."""
    wanted = ids.shape[0]
    slot = filled
    while slot > 0 and (values[slot - 1] < value or (values[slot - 1] == value and ids[slot - 1] > row)):
        if slot < wanted:
            values[slot] = values[slot - 1]
            ids[slot] = ids[slot - 1]
        slot -= 1
    if slot == wanted:
        return filled
    values[slot] = value
    ids[slot] = row
    return min(filled + 1, wanted)


@kernel(
    types.void(
        _pointer,
        _ids,
        _values,
        _pointer,
        _ids,
        _values,
        types.int64,
        _id[:, ::1],
        _float[:, ::1],
        types.int64,
        types.int64,
    ),
)
def sparse_top(indptr, indices, data, t_indptr, t_indices, t_data, n, out_ids, out_values, start, stop):  # noqa: ANN001, ANN201
    """The largest entries of each row of Q @ Pᵀ, Q in CSR and Pᵀ (d, n) in CSR; entries that are zero never count.

    Best first, ties to the lower row of P; −1 and −inf where fewer rows share a feature.
    """
    wanted = out_ids.shape[1]
    score = np.zeros(n, np.float32)
    touched = np.empty(n, np.int32)
    for i in range(start, stop):
        work = 0
        for p in range(indptr[i], indptr[i + 1]):
            work += t_indptr[indices[p] + 1] - t_indptr[indices[p]]
        filled = 0
        if 4 * work >= n:  # most rows share something: cheaper to look at all than to note which
            for p in range(indptr[i], indptr[i + 1]):
                feature, value = indices[p], data[p]
                for q in range(t_indptr[feature], t_indptr[feature + 1]):
                    score[t_indices[q]] += value * t_data[q]
            lowest = np.float32(-np.inf)
            for row in range(n):
                value = score[row]
                if value != 0.0 and (value > lowest or filled < wanted):
                    filled = _insert(value, row, filled, out_ids[i], out_values[i])
                    if filled == wanted:
                        lowest = out_values[i, wanted - 1]
            score[:] = 0.0
        else:
            count = 0
            for p in range(indptr[i], indptr[i + 1]):
                feature, value = indices[p], data[p]
                for q in range(t_indptr[feature], t_indptr[feature + 1]):
                    row = t_indices[q]
                    if score[row] == 0.0:
                        touched[count] = row
                        count += 1
                    score[row] += value * t_data[q]
            for t in range(count):
                value = score[touched[t]]
                score[touched[t]] = 0.0  # a row noted twice, its score having been zero between, then counts once
                if value != 0.0:
                    filled = _insert(value, touched[t], filled, out_ids[i], out_values[i])
        for slot in range(filled, wanted):
            out_values[i, slot] = -np.inf
            out_ids[i, slot] = -1

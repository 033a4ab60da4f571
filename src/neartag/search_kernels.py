"""The numba kernels of prediction: nearest points, by embedding and by features, and their vote.

As in `kernels`, each works on the rows start…stop, releases the GIL, is compiled once for the types named, and is held
in a test against the plain numpy lines that it equals.
"""

from __future__ import annotations

import numpy as np
from numba import types

from neartag.jit import COUNT, FLOAT, ID, IDS, MATRIX, POINTER, SPARSE, VALUES, kernel, read

# Entries looked over at once for anything that belongs among the best: a maximum is taken many at a time.
_GLANCE = 64
# What lets the compiler take a maximum or a sum many at a time, infinities allowed.
_VECTOR = {"nnan", "nsz", "reassoc", "contract"}


@kernel(types.int64(FLOAT, ID, COUNT, ID[::1], FLOAT[::1]))
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


@kernel(FLOAT(VALUES, COUNT, COUNT), fastmath=_VECTOR)
def _largest(values, start, stop):  # noqa: ANN001
    best = values[start]
    for j in range(start + 1, stop):
        best = max(best, values[j])
    return best


@kernel(COUNT(IDS, COUNT, COUNT, ID))
def first_not_below(numbers, start, stop, wanted):  # noqa: ANN001, ANN201
    """Where the first of the rising numbers start…stop is that is not below the wanted one; stop where all are."""
    while start < stop:
        middle = (start + stop) // 2
        if numbers[middle] < wanted:
            start = middle + 1
        else:
            stop = middle
    return start


@kernel(FLOAT(FLOAT, COUNT))
def _worth(value, length):  # noqa: ANN001
    """How much a feature weighs for the work that a list of this length makes."""
    return np.float32(value * value / max(length, 1))


@kernel(types.void(VALUES, COUNT, COUNT, ID[::1], FLOAT[::1]))
def _take(row, width, first, ids, values):  # noqa: ANN001
    """Put what belongs there of a row's first `width` entries, numbered from `first`, into a list of the best."""
    wanted, filled = ids.shape[0], 0
    while filled < wanted and ids[filled] >= 0:
        filled += 1
    for begin in range(0, width, _GLANCE):
        end = min(begin + _GLANCE, width)
        if filled == wanted and _largest(row, begin, end) < values[wanted - 1]:
            continue
        for j in range(begin, end):
            if filled < wanted or row[j] >= values[wanted - 1]:
                filled = _insert(row[j], first + j, filled, ids, values)


@kernel(types.void(MATRIX, COUNT, ID[:, ::1], FLOAT[:, ::1], COUNT, COUNT))
def row_top(similarities, first, out_ids, out_values, start, stop):  # noqa: ANN001, ANN201
    """The largest entries of each row, best first, ties to the lower column; −1 and −inf where the row is shorter.

    The columns are numbered from `first`; 0 begins anew, and a larger one goes on with what an earlier call found in
    the columns before.
    """
    for i in range(start, stop):
        if first == 0:
            out_ids[i] = -1
            out_values[i] = -np.inf
        _take(similarities[i], similarities.shape[1], first, out_ids[i], out_values[i])


@kernel(types.void(*SPARSE, COUNT, MATRIX, FLOAT[::1]), fastmath=_VECTOR)
def embed_row(indptr, indices, data, i, weights, out):  # noqa: ANN001, ANN201
    """out = S[i] @ weights for one row of a CSR matrix."""
    out[:] = 0.0
    for p in range(indptr[i], indptr[i + 1]):
        feature, value = indices[p], data[p]
        for c in range(out.shape[0]):
            out[c] += value * weights[feature, c]


@kernel(types.void(MATRIX, VALUES, FLOAT[::1], COUNT, COUNT), fastmath=_VECTOR)
def dense_times_vector(matrix, vector, out, start, stop):  # noqa: ANN001, ANN201
    """out[start:stop] = matrix[start:stop] @ vector."""
    width, i = vector.shape[0], start
    while i + 4 <= stop:  # four sums at once, so that none waits for itself
        a, b, c, d = np.float32(0.0), np.float32(0.0), np.float32(0.0), np.float32(0.0)
        for j in range(width):
            a += matrix[i, j] * vector[j]
            b += matrix[i + 1, j] * vector[j]
            c += matrix[i + 2, j] * vector[j]
            d += matrix[i + 3, j] * vector[j]
        out[i], out[i + 1], out[i + 2], out[i + 3] = a, b, c, d
        i += 4
    while i < stop:
        a = np.float32(0.0)
        for j in range(width):
            a += matrix[i, j] * vector[j]
        out[i] = a
        i += 1


@kernel(types.void(VALUES, MATRIX, VALUES, IDS, POINTER, ID[::1], FLOAT[::1]))
def cell_top(query, points, offset, cells, pointer, ids, values):  # noqa: ANN001, ANN201
    """The points of some cells with the largest product, less their offsets, with a query.

    The points of cell c are pointer[c]…pointer[c + 1]. Best first, ties to the lower point; −1 and −inf where there are
    fewer. `offset` is empty where there is none.
    """
    ids[:] = -1
    values[:] = -np.inf
    for cell in cells:
        first, last = pointer[cell], pointer[cell + 1]
        products = np.empty(last - first, np.float32)
        dense_times_vector(points[first:last], query, products, 0, last - first)
        if offset.shape[0] > 0:
            products -= offset[first:last]
        _take(products, last - first, first, ids, values)


@kernel(types.void(MATRIX, POINTER, COUNT, ID[:, ::1], FLOAT[:, ::1]))
def listed_row_top(similarities, rows, first, out_ids, out_values):  # noqa: ANN001, ANN201
    """Put what belongs there of each row's entries, numbered from `first`, into the lists of the best of rows[i]."""
    for i in range(rows.shape[0]):
        _take(similarities[i], similarities.shape[1], first, out_ids[rows[i]], out_values[rows[i]])


@kernel(types.Tuple((COUNT, FLOAT))(IDS, VALUES, POINTER, types.float64, COUNT))
def _first_look(indices, data, t_indptr, skip, rescoring):  # noqa: ANN001
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
def _score_listed(indices, data, listed, r_indptr, r_indices, r_data, query, ids, values):  # noqa: ANN001
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
            filled = _insert(total, row, filled, ids, values)
    for p in range(len(indices)):
        query[indices[p]] = 0.0
    return filled


@kernel(types.void(*SPARSE, *SPARSE, read(ID, 2), FLOAT[::1], ID[:, ::1], FLOAT[:, ::1], COUNT, COUNT))
def listed_top(indptr, indices, data, r_indptr, r_indices, r_data, listed, query, out_ids, out_values, start, stop):  # noqa: ANN001, ANN201
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
def search_work(indptr, indices, data, t_indptr, skip, rescoring):  # noqa: ANN001, ANN201
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
def sparse_top(  # noqa: ANN201
    indptr,  # noqa: ANN001
    indices,  # noqa: ANN001
    data,  # noqa: ANN001
    t_indptr,  # noqa: ANN001
    t_indices,  # noqa: ANN001
    t_data,  # noqa: ANN001
    r_indptr,  # noqa: ANN001
    r_indices,  # noqa: ANN001
    r_data,  # noqa: ANN001
    skip,  # noqa: ANN001
    candidates,  # noqa: ANN001
    score,  # noqa: ANN001
    touched,  # noqa: ANN001
    query,  # noqa: ANN001
    out_ids,  # noqa: ANN001
    out_values,  # noqa: ANN001
    start,  # noqa: ANN001
    stop,  # noqa: ANN001
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
            for low in range(0, n, _GLANCE):
                high = min(low + _GLANCE, n)
                if filled == room_for and _largest(score, low, high) <= found[room_for - 1]:
                    continue
                for row in range(low, high):
                    if score[row] != 0.0:
                        filled = _insert(score[row], row, filled, found_ids, found)
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
                    filled = _insert(value, touched[t], filled, found_ids, found)
        if pruned:
            point = indices[begin:end], data[begin:end]
            filled = _score_listed(
                *point, listed_ids[:filled], r_indptr, r_indices, r_data, query, out_ids[i], out_values[i]
            )
        for slot in range(filled, wanted):
            out_values[i, slot] = -np.inf
            out_ids[i, slot] = -1


@kernel(types.void(MATRIX, types.float64, types.float64[:, ::1], COUNT, COUNT))
def shares(near, sharpness, out, start, stop):  # noqa: ANN001, ANN201
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
def place_label(label, value, frequency, filled, ids, scores):  # noqa: ANN001, ANN201
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
def vote_top(indptr, indices, voters, weights, frequency, score, touched, out_ids, out_scores, start, stop):  # noqa: ANN001, ANN201
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


@kernel(types.void(*SPARSE, ID[:, ::1], FLOAT[:, ::1], COUNT, COUNT))
def sparse_row_top(indptr, indices, data, out_ids, out_values, start, stop):  # noqa: ANN001, ANN201
    """The largest stored entries of each row, best first, ties to the lower column; −1 and −inf where it has fewer."""
    k = out_ids.shape[1]
    for i in range(start, stop):
        filled = 0
        for p in range(indptr[i], indptr[i + 1]):
            if filled < k or data[p] > out_values[i, filled - 1]:
                filled = _insert(data[p], indices[p], filled, out_ids[i], out_values[i])
        for place in range(filled, k):
            out_ids[i, place] = -1
            out_values[i, place] = -np.inf


@kernel(types.void(*SPARSE, *SPARSE, COUNT, FLOAT[::1], ID[::1], POINTER))
def append_columns(indptr, indices, data, new_indptr, new_indices, new_data, width, out_data, out_indices, out_indptr):  # noqa: ANN001, ANN201
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

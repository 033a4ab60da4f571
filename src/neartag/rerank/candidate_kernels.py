"""The numba kernels of candidates: which labels they are, what speaks for them, and the best of them.

Each works on the rows start…stop, releases the GIL and is compiled once for the types named. A test holds each against
plain numpy lines.
"""

from __future__ import annotations

import numpy as np

from neartag.core import kernel_types as types
from neartag.core.jit import COUNT, CSR, DOUBLE, FLOAT, ID, IDS, MATRIX, POINTER, VALUES, kernel, read
from neartag.linalg.product_kernels import first_not_below, row_times_dense
from neartag.search.inverted_index_kernels import first_look, value_per_entry
from neartag.search.topk_kernels import place_label
from neartag.search.weight_kernels import VOTERS

FLAGS = types.boolean[::1]
# Features → labels: the centroids, of unit length; the same as an array (d, L), or (0, 0); the length that each label's
# sum had before (L,); and the share of a point's length that may be left out, 0: none.
CENTROIDS = types.Tuple((CSR, MATRIX, VALUES, DOUBLE))
# A label's sum without one of its points is nothing when its squared length is no more than this.
MIN_SQUARED_LENGTH = 1e-3


@kernel(types.boolean(FLOAT, ID, FLOAT, ID))
def _is_worse(value, label, other, other_label):
    """Say whether a label comes after another: a lower value, or an equal one and a higher id."""
    return value < other or (value == other and label > other_label)


@kernel(types.void(FLOAT, ID, COUNT, COUNT, ID[::1], FLOAT[::1]))
def _sink(value, label, slot, filled, best, values):
    """Put a label into a heap whose root is the worst, from a slot that is free, downwards."""
    while True:
        child = 2 * slot + 1
        if child >= filled:
            break
        if child + 1 < filled and _is_worse(values[child + 1], best[child + 1], values[child], best[child]):
            child += 1
        if _is_worse(value, label, values[child], best[child]):
            break
        values[slot], best[slot] = values[child], best[child]
        slot = child
    values[slot], best[slot] = value, label


@kernel(types.int64(COUNT, FLOAT[::1], ID[::1], COUNT, ID[::1], FLOAT[::1], FLAGS, ID[::1], COUNT))
def _choose(wanted, score, touched, count, best, values, taken, chosen, many):
    """Add the `wanted` best of the touched labels to the `many` chosen ones; returns how many are chosen then.

    Ties go to the lower id. `best` and `values` are scratch of `wanted` entries or more; `taken` marks the chosen ones.
    """
    filled = 0
    for t in range(count):
        label = touched[t]
        value = score[label]
        if value <= 0.0:
            continue
        if filled < wanted:
            values[filled], best[filled] = value, label
            filled += 1
            if filled == wanted and t + 1 < count:  # from here on somebody must give way: a heap knows who
                for slot in range(wanted // 2 - 1, -1, -1):
                    _sink(values[slot], best[slot], slot, filled, best, values)
        elif _is_worse(values[0], best[0], value, label):
            _sink(value, label, 0, filled, best, values)
    for place in range(filled):
        label = best[place]
        if not taken[label]:
            taken[label] = True
            chosen[many] = label
            many += 1
    return many


@kernel(types.int64(CSR, VOTERS, COUNT, FLOAT[::1], FLAGS, ID[::1]))
def _votes(labels, voters, i, score, noted, touched):
    """Sum the votes on row i into `score`; returns how many labels have any, noted, and listed in `touched`."""
    indptr, indices, _ = labels
    ids, weights = voters
    count = 0
    for v in range(ids.shape[1]):
        row, weight = ids[i, v], weights[i, v]
        if row < 0 or weight <= 0.0:
            continue
        for p in range(indptr[row], indptr[row + 1]):
            label = np.uint32(indices[p])  # without a sign, numba need not ask for it
            if not noted[label]:
                noted[label] = True
                touched[count] = label
                count += 1
            score[label] += weight
    return count


@kernel(FLOAT(CSR, CSR, COUNT, DOUBLE))
def _least_worth(rows, postings, i, prune):
    """What a feature of row i must be worth to be looked up; −1: all are."""
    indptr, indices, data = rows
    if prune <= 0.0:
        return np.float32(-1.0)
    point = indices[indptr[i] : indptr[i + 1]], data[indptr[i] : indptr[i + 1]]
    return first_look(point, postings[0], prune, 0)[1]


@kernel(types.int64(CSR, CSR, COUNT, FLOAT, FLOAT[::1], FLAGS, ID[::1]))
def _similarities(rows, postings, i, least, score, noted, touched):
    """Sum the products of row i with the labels' centroids into `score`; the rest as in `_votes`.

    Features that are worth less than `least` (`value_per_entry`) are left out.
    """
    # Written out as there: as a function of its own the noting takes twice as long.
    indptr, indices, data = rows
    c_indptr, c_indices, c_data = postings
    count = 0
    for p in range(indptr[i], indptr[i + 1]):
        feature, value = indices[p], data[p]
        if value_per_entry(value, c_indptr[feature + 1] - c_indptr[feature]) < least:
            continue
        for q in range(c_indptr[feature], c_indptr[feature + 1]):
            label = np.uint32(c_indices[q])
            if not noted[label]:
                noted[label] = True
                touched[count] = label
                count += 1
            score[label] += value * c_data[q]
    return count


@kernel(types.boolean(IDS, COUNT, COUNT, ID))
def _has(indices, start, stop, wanted):
    """Say whether a number is among rising ones."""
    place = first_not_below(indices, start, stop, wanted)
    return place < stop and indices[place] == wanted


@kernel(types.void(CSR, CENTROIDS, CSR, COUNT, FLOAT, FLOAT[::1]))
def _leave_own_sums(rows, centroids, own, i, least, similarity):
    """Change what the centroids of its own labels say of row i into what they would say without it."""
    indptr, indices, data = rows
    (c_indptr, c_indices, _), _, lengths, _ = centroids
    own_indptr, own_indices, _ = own
    for p in range(own_indptr[i], own_indptr[i + 1]):
        label = own_indices[p]
        kept = np.float32(0.0)  # the row's part of the entries that are kept of the sum
        for q in range(indptr[i], indptr[i + 1]):
            first, last = c_indptr[indices[q]], c_indptr[indices[q] + 1]
            if value_per_entry(data[q], last - first) >= least and _has(c_indices, first, last, label):
                kept += data[q] * data[q]
        inner = similarity[label] * lengths[label]
        rest = lengths[label] * lengths[label] - 2 * inner + kept
        similarity[label] = max((inner - kept) / np.sqrt(rest), 0.0) if rest > MIN_SQUARED_LENGTH else 0.0


@kernel(types.void(ID[::1], COUNT, FLOAT[::1], FLAGS))
def _clear(touched, count, score, noted):
    """Set the scores of the touched labels to zero again."""
    for t in range(count):
        score[touched[t]], noted[touched[t]] = 0.0, False


@kernel(
    types.void(
        CSR,  # the points' features
        CSR,  # the labels of training points
        VOTERS,  # who votes by embedding
        VOTERS,  # who votes by features
        CENTROIDS,
        CSR,  # each point's own labels, to be left out of their centroids; empty rows: none
        types.Tuple((VOTERS, read(ID, 2))),  # by the vectors beside: who votes, and labels that their centroids propose
        COUNT,
        ID[:, ::1],
        FLOAT[:, :, ::1],
        COUNT,
        COUNT,
    )
)
def candidates(
    rows,
    labels,
    embedding_voters,
    feature_voters,
    centroids,
    own,
    beside,
    wanted,
    out_labels,
    out_evidence,
    start,
    stop,
):
    """The labels that either vote or the centroids put among their `wanted` best, and what each of the three says.

    out_labels (m, room) is filled from the left, −1 behind; out_evidence (m, room, 3). Where there are vectors
    `beside`, those who vote by them and the labels (m, ≤ wanted) that they propose count too, and out_evidence
    (m, room, 5) has a fourth number: what the vote by vectors says; the fifth stays as it is.
    """
    vector_voters, proposed = beside
    has_vectors = vector_voters[0].shape[1] > 0
    postings, table, lengths, prune = centroids
    n_labels, room = lengths.shape[0], out_labels.shape[1]
    first, second = np.zeros(n_labels, np.float32), np.zeros(n_labels, np.float32)  # what each of the three says
    third = np.zeros(n_labels, np.float32)
    # Arrays of their own and loops, not rows and slices of larger ones: numba compiles them in half of the time.
    first_touched, first_noted = np.empty(n_labels, np.int32), np.zeros(n_labels, np.bool_)
    second_touched, second_noted = np.empty(n_labels, np.int32), np.zeros(n_labels, np.bool_)
    third_touched, third_noted = np.empty(n_labels, np.int32), np.zeros(n_labels, np.bool_)
    best, values = np.empty(wanted, np.int32), np.empty(wanted, np.float32)
    chosen, taken = np.empty((5 if has_vectors else 3) * wanted, np.int32), np.zeros(n_labels, np.bool_)
    by_vectors, more = 0, n_labels if has_vectors else 0
    fourth, fourth_touched = np.zeros(more, np.float32), np.empty(more, np.int32)
    fourth_noted = np.zeros(more, np.bool_)
    if table.shape[0] > 0:
        for label in range(n_labels):
            third_touched[label] = label
    for i in range(start, stop):
        by_embedding = _votes(labels, embedding_voters, i, first, first_noted, first_touched)
        by_features = _votes(labels, feature_voters, i, second, second_noted, second_touched)
        least = _least_worth(rows, postings, i, prune)
        if table.shape[0] > 0:
            by_centroid = n_labels
            row_times_dense(rows, i, table, third)
        else:
            by_centroid = _similarities(rows, postings, i, least, third, third_noted, third_touched)
        _leave_own_sums(rows, centroids, own, i, least, third)
        many = _choose(wanted, first, first_touched, by_embedding, best, values, taken, chosen, 0)
        many = _choose(wanted, second, second_touched, by_features, best, values, taken, chosen, many)
        many = _choose(wanted, third, third_touched, by_centroid, best, values, taken, chosen, many)
        if has_vectors:
            by_vectors = _votes(labels, vector_voters, i, fourth, fourth_noted, fourth_touched)
            many = _choose(wanted, fourth, fourth_touched, by_vectors, best, values, taken, chosen, many)
            for p in range(proposed.shape[1]):
                label = proposed[i, p]
                if label >= 0 and not taken[label]:
                    taken[label] = True
                    chosen[many] = label
                    many += 1
        for c in range(many):
            label = chosen[c]
            out_labels[i, c] = label
            out_evidence[i, c, 0] = first[label]
            out_evidence[i, c, 1] = second[label]
            out_evidence[i, c, 2] = third[label]
            if has_vectors:
                out_evidence[i, c, 3] = fourth[label]
            taken[label] = False
        for c in range(many, room):
            out_labels[i, c] = -1
            for source in range(out_evidence.shape[2]):
                out_evidence[i, c, source] = 0.0
        _clear(first_touched, by_embedding, first, first_noted)
        _clear(second_touched, by_features, second, second_noted)
        _clear(third_touched, by_centroid, third, third_noted)
        _clear(fourth_touched, by_vectors, fourth, fourth_noted)


@kernel(
    types.void(
        *(read(ID, 2), read(DOUBLE, 2), POINTER, read(types.boolean), ID[:, ::1], DOUBLE[:, ::1], COUNT, COUNT),
    )
)
def best_candidates(labels, scores, frequency, allowed, out_labels, out_scores, start, stop):
    """The best candidates of each row, best first; ties to the more frequent label, then to the lower id.

    Of `allowed` (L,), unless it is empty, the others are left out.
    """
    for i in range(start, stop):
        filled = 0
        for c in range(labels.shape[1]):
            label = labels[i, c]
            if label >= 0 and (allowed.shape[0] == 0 or allowed[label]):
                filled = place_label(label, scores[i, c], frequency, filled, out_labels[i], out_scores[i])
        for slot in range(filled, out_labels.shape[1]):
            out_labels[i, slot], out_scores[i, slot] = -1, 0.0


@kernel(types.void(read(ID, 2), CSR, types.boolean[:, ::1], COUNT, COUNT))
def mark_correct(labels, truth, out, start, stop):
    """Which candidates are among the labels that their row has; these are few, and gone through."""
    indptr, indices, _ = truth
    for i in range(start, stop):
        for c in range(labels.shape[1]):
            out[i, c] = False
            for p in range(indptr[i], indptr[i + 1]):
                if indices[p] == labels[i, c]:
                    out[i, c] = True
                    break

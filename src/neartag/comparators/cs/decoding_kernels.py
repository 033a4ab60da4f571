"""The numba kernels that decode: sparse vectors from few projections of them, by OMP and by CoSaMP.

Each decodes the rows start…stop, releases the GIL, and is held in a test against a plain loop with numpy's least
squares. With unit columns aⱼ both need only the products p = Aᵀz of a row and the matrix K = AᵀA: those of the columns
with what a support S with coefficients c leaves unexplained are Aᵀ(z − A c) = p − K c, and the least squares on S solve
K_SS c = p_S.
"""

from __future__ import annotations

import numpy as np

from neartag.core import kernel_types as types
from neartag.core.jit import COUNT, FLOAT, ID, MATRIX, VALUES, kernel

# A row is explained when no column has more of what is left than this share of what the best had: float32's rounding.
_MIN_RESIDUAL_SHARE = np.float32(1e-5)
# A column of which less than this is not in the span of those chosen before (its square, of 1) counts as dependent.
_MIN_INDEPENDENT_SHARE = 1e-5
# A coefficient of no more than this share of the largest is none: the least squares of what is not there, rounded.
_MIN_COEFFICIENT_SHARE = np.float32(1e-4)
# CoSaMP's residual must fall by this share of the row's largest square for another iteration to be worth it.
_MIN_FALL_SHARE = 1e-7

_DOUBLE = types.float64


@kernel(FLOAT(VALUES), fastmath=True)
def _largest_size(values):
    """Return the largest |value|."""
    largest = np.float32(0.0)
    for j in range(values.shape[0]):
        largest = max(largest, abs(values[j]))
    return largest


@kernel(types.void(VALUES, MATRIX, ID[::1], _DOUBLE[::1], COUNT, FLOAT[::1]), fastmath=True)
def _put_residual(products, gram, support, coefficients, count, out):
    """Put p − K c into out."""
    width = out.shape[0]
    out[:] = products
    for s in range(count):
        row, weight = gram[support[s]], np.float32(coefficients[s])
        for j in range(width):
            out[j] -= weight * row[j]


@kernel(types.boolean(VALUES, MATRIX, ID[::1], COUNT, COUNT, _DOUBLE[:, ::1], _DOUBLE[::1]))
def _extend(products, gram, support, count, label, factor, halfway):
    """Add a label after the first `count` of a support to its Cholesky factor and forward solution; no if dependent."""
    left, target = np.float64(gram[label, label]), np.float64(products[label])
    for r in range(count):
        value = np.float64(gram[label, support[r]])
        for c in range(r):
            value -= factor[r, c] * factor[count, c]
        value /= factor[r, r]
        factor[count, r] = value
        left -= value * value
        target -= value * halfway[r]
    if left <= _MIN_INDEPENDENT_SHARE:
        return False
    factor[count, count] = np.sqrt(left)
    halfway[count] = target / factor[count, count]
    support[count] = label
    return True


@kernel(types.void(_DOUBLE[:, ::1], _DOUBLE[::1], COUNT, _DOUBLE[::1]))
def _solve_back(factor, halfway, count, coefficients):
    """Put the least squares' coefficients of the first `count` of a support into coefficients."""
    for r in range(count - 1, -1, -1):
        value = halfway[r]
        for below in range(r + 1, count):
            value -= factor[below, r] * coefficients[below]
        coefficients[r] = value / factor[r, r]


@kernel(types.void(MATRIX, MATRIX, ID[:, ::1], FLOAT[:, ::1], COUNT, COUNT))
def orthogonal_matching_pursuit(products, gram, out_ids, out_values, start, stop):
    """For each row of products p (rows, L), the labels chosen, in their order, and their coefficients, (rows, k).

    A step chooses the label with the largest |p − K c| and solves the least squares on all chosen so far. It ends early
    where nothing is left to explain, or only by labels that depend on those chosen; −1 and 0 then fill the row.
    """
    width, most = products.shape[1], out_ids.shape[1]
    left = np.empty(width, np.float32)
    support = np.empty(most, np.int32)
    factor = np.zeros((most, most))
    halfway, coefficients = np.empty(most), np.empty(most)
    for i in range(start, stop):
        row = products[i]
        left[:] = row
        least = _MIN_RESIDUAL_SHARE * _largest_size(row)
        count = 0
        while count < most:
            size = _largest_size(left)
            if size <= least:
                break
            label = 0
            while label < width - 1 and abs(left[label]) < size:
                label += 1
            if not _extend(row, gram, support, count, label, factor, halfway):
                break
            count += 1
            _solve_back(factor, halfway, count, coefficients)
            if count < most:
                _put_residual(row, gram, support, coefficients, count, left)
                for s in range(count):
                    left[support[s]] = 0.0  # but for rounding it is so
        for s in range(most):
            out_ids[i, s] = support[s] if s < count else -1
            out_values[i, s] = coefficients[s] if s < count else 0.0


@kernel(types.int64(VALUES, COUNT, ID[::1], FLOAT[::1]))
def _largest_places(values, most, ids, sizes):
    """Put the places of the `most` largest |values| that are not zero into ids, largest first; returns how many."""
    filled = 0
    for j in range(values.shape[0]):
        size = abs(values[j])
        if size == 0.0 or (filled == most and size <= sizes[filled - 1]):
            continue
        slot = filled if filled < most else most - 1
        while slot > 0 and sizes[slot - 1] < size:
            sizes[slot] = sizes[slot - 1]
            ids[slot] = ids[slot - 1]
            slot -= 1
        sizes[slot] = size
        ids[slot] = j
        filled = min(filled + 1, most)
    return filled


@kernel(types.float64(VALUES, MATRIX, ID[::1], _DOUBLE[::1], COUNT))
def _cost(products, gram, support, coefficients, count):
    """Return ‖z − A c‖² − ‖z‖² = cᵀ K c − 2 cᵀ p."""
    total = 0.0
    for r in range(count):
        along = -2.0 * products[support[r]]
        for c in range(count):
            along += gram[support[r], support[c]] * coefficients[c]
        total += coefficients[r] * along
    return total


@kernel(types.void(MATRIX, MATRIX, COUNT, ID[:, ::1], FLOAT[:, ::1], COUNT, COUNT))
def compressive_sampling_pursuit(products, gram, max_iter, out_ids, out_values, start, stop):
    """For each row of products p (rows, L), the k labels that CoSaMP ends with, the largest coefficient first.

    An iteration takes the 2k labels with the largest |p − K c| beside those it has, solves the least squares on all of
    them, and keeps the k of largest size. It ends when that no longer lessens the residual, and the support before is
    the answer. Labels that depend on others are left out; −1 and 0 fill a row with fewer.
    """
    width, most = products.shape[1], out_ids.shape[1]
    left = np.empty(width, np.float32)
    fresh, sizes = np.empty(2 * most, np.int32), np.empty(2 * most, np.float32)
    merged, solution = np.empty(3 * most, np.int32), np.empty(3 * most)
    factor, halfway = np.zeros((3 * most, 3 * most)), np.empty(3 * most)
    by_size = np.empty(3 * most, np.float32)
    support, coefficients = np.empty(most, np.int32), np.empty(most)
    trial, weights = np.empty(most, np.int32), np.empty(most)
    for i in range(start, stop):
        row = products[i]
        left[:] = row
        largest = _largest_size(row)
        least, fall = _MIN_RESIDUAL_SHARE * largest, _MIN_FALL_SHARE * np.float64(largest) ** 2
        count, cost = 0, 0.0
        for _ in range(max_iter):
            if _largest_size(left) <= least:
                break
            # The support comes first and, being independent, is taken up whole; new labels join it in their order, and
            # one that is there already depends on itself.
            joined = 0
            for s in range(count):
                joined += _extend(row, gram, merged, joined, support[s], factor, halfway)
            for s in range(_largest_places(left, 2 * most, fresh, sizes)):
                joined += _extend(row, gram, merged, joined, fresh[s], factor, halfway)
            _solve_back(factor, halfway, joined, solution)
            for s in range(joined):
                by_size[s] = solution[s]
            nothing = _MIN_COEFFICIENT_SHARE * _largest_size(by_size[:joined])
            for s in range(joined):
                if abs(by_size[s]) <= nothing:
                    by_size[s] = 0.0
            kept = _largest_places(by_size[:joined], most, fresh, sizes)
            for s in range(kept):
                trial[s], weights[s] = merged[fresh[s]], solution[fresh[s]]
            reached = _cost(row, gram, trial, weights, kept)
            if reached >= cost - fall:
                break
            count, cost = kept, reached
            support[:kept], coefficients[:kept] = trial[:kept], weights[:kept]
            _put_residual(row, gram, support, coefficients, count, left)
        for s in range(most):
            out_ids[i, s] = support[s] if s < count else -1
            out_values[i, s] = coefficients[s] if s < count else 0.0

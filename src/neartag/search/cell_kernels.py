"""The numba kernels of searching in cells: products with the points of a few cells, and the largest of these.

Each releases the GIL and is compiled once for the types named. A test holds each against the plain numpy lines that it
equals. All products of a query are written down before the best are looked for: a bound that little more than these
reach is found by counting, many at a time, and only those few are sorted.
"""

from __future__ import annotations

import numpy as np

from neartag.core import kernel_types as types
from neartag.core.jit import COUNT, FLOAT, ID, IDS, MATRIX, POINTER, VALUES, kernel, read
from neartag.linalg.product_kernels import dense_times_vector
from neartag.linalg.sort_kernels import sort_numbers

# The maxima of so many groups of values, for each one that is wanted, tell a bound; where groups would have fewer
# values than this, the values themselves do.
GROUPS_PER_WANTED, MIN_GROUP_SIZE = 2, 4
# Looking for it ends when it lets no more than this share through in vain, or after so many halvings, as where many are
# equal.
SHARE_IN_VAIN, MAX_HALVINGS = 0.125, 24
_LOW_BITS = 0x7FFFFFFF


@kernel(types.int64(VALUES, FLOAT), fastmath=True)
def _not_below(values, bound):
    """How many values are not below a bound."""
    count = np.int32(0)
    for j in range(values.shape[0]):
        count += np.int32(values[j] >= bound)
    return count


@kernel(types.void(VALUES, FLOAT[::1]), fastmath=True)
def _maxima(values, out):
    """The largest of each group; a group is every so many-th value, so that many groups are gone through at once."""
    # Loops here and below instead of slices: numba compiles them in a tenth of the time, to the same code.
    groups = out.shape[0]
    for g in range(groups):
        out[g] = values[g]
    for first in range(groups, values.shape[0], groups):
        for g in range(min(groups, values.shape[0] - first)):
            out[g] = max(out[g], values[first + g])


@kernel(FLOAT(VALUES, COUNT))
def _bound(values, wanted):
    """A bound that at least the `wanted` largest values reach, and few others."""
    if values.shape[0] <= wanted:
        return np.float32(-np.inf)
    if values.shape[0] >= MIN_GROUP_SIZE * GROUPS_PER_WANTED * wanted:
        maxima = np.empty(GROUPS_PER_WANTED * wanted, np.float32)
        _maxima(values, maxima)
        values = maxima
    low, high = values[0], values[0]
    for j in range(values.shape[0]):
        low, high = min(low, values[j]), max(high, values[j])
    for _ in range(MAX_HALVINGS):
        middle = np.float32(0.5) * (low + high)
        count = _not_below(values, middle)
        if count < wanted:
            high = middle
        else:
            low = middle
            if count <= wanted + SHARE_IN_VAIN * wanted:
                break
    return low


@kernel(types.void(VALUES, POINTER, POINTER, ID[::1], FLOAT[::1]))
def best_of(values, places, names, ids, best):
    """The largest values with their names, best first, ties to the lower name; −1 and −inf where there are fewer.

    The values places[p]…places[p + 1] are named names[p], names[p] + 1 and so on.
    """
    wanted, count = ids.shape[0], values.shape[0]
    least = _bound(values, wanted)
    # A value and its name as one number, in the values' order and against that of the names.
    bits, keys, kept = values.view(np.int32), np.empty(count, np.int64), 0
    for p in range(names.shape[0]):
        first = names[p] - places[p]
        for j in range(places[p], places[p + 1]):
            if values[j] >= least:
                rising = bits[j] if bits[j] >= 0 else bits[j] ^ _LOW_BITS
                keys[kept] = (np.int64(rising) << 32) | (_LOW_BITS - first - j)
                kept += 1
    sort_numbers(keys, kept)
    best_bits = np.empty(wanted, np.int32)
    filled = min(wanted, kept)
    for slot in range(filled):
        key = keys[kept - 1 - slot]
        rising = np.int32(key >> 32)
        best_bits[slot] = rising if rising >= 0 else rising ^ _LOW_BITS
        ids[slot] = _LOW_BITS - np.int32(key & _LOW_BITS)
    named = best_bits.view(np.float32)
    for slot in range(wanted):
        if slot < filled:
            best[slot] = named[slot]
        else:
            ids[slot], best[slot] = -1, -np.inf


@kernel(types.void(VALUES, MATRIX, VALUES, IDS, POINTER, ID[::1], FLOAT[::1]))
def cell_top(query, points, offset, cells, pointer, ids, values):
    """The points of some cells with the largest product, less their offsets, with a query.

    The points of cell c are pointer[c]…pointer[c + 1]. Best first, ties to the lower point; −1 and −inf where there are
    fewer. `offset` is empty where there is none.
    """
    places, names = np.zeros(len(cells) + 1, np.int64), np.empty(len(cells), np.int64)
    for p, cell in enumerate(cells):
        names[p], places[p + 1] = pointer[cell], places[p] + pointer[cell + 1] - pointer[cell]
    products = np.empty(places[-1], np.float32)
    for p, cell in enumerate(cells):
        first, last = pointer[cell], pointer[cell + 1]
        own = products[places[p] : places[p + 1]]
        dense_times_vector(points[first:last], query, own, 0, last - first)
        if offset.shape[0] > 0:
            for j in range(last - first):
                own[j] -= offset[first + j]
    best_of(products, places, names, ids, values)


@kernel(types.void(MATRIX, MATRIX, VALUES, read(ID, 2), POINTER, ID[:, ::1], FLOAT[:, ::1]))
def cells_top(queries, points, offset, routes, pointer, ids, values):
    """The same for several queries, of the cells routes[i] each: those that look into a cell are multiplied at once."""
    (m, nprobe), dim, cells = routes.shape, queries.shape[1], pointer.shape[0] - 1
    starts = np.zeros(cells + 1, np.int64)
    names = np.empty((m, nprobe), np.int64)
    places = np.zeros((m, nprobe + 1), np.int64)  # where a query's products with the points of each of its cells begin
    for i in range(m):
        for p in range(nprobe):
            cell = routes[i, p]
            starts[cell + 1] += 1
            names[i, p], places[i, p + 1] = pointer[cell], places[i, p] + pointer[cell + 1] - pointer[cell]
    starts = np.cumsum(starts)
    looking, ends = np.empty(m * nprobe, np.int64), starts[:-1].copy()  # numbers i · nprobe + p, cell after cell
    for number in range(m * nprobe):
        cell = routes[number // nprobe, number % nprobe]
        looking[ends[cell]] = number
        ends[cell] += 1
    widest = places[:, nprobe].max()
    products = np.empty((m, widest), np.float32)
    rows = np.empty((np.diff(starts).max(), dim), np.float32)
    for cell in range(cells):
        own = looking[starts[cell] : starts[cell + 1]]
        first, last = pointer[cell], pointer[cell + 1]
        if len(own) == 0 or first == last:
            continue
        for place in range(len(own)):
            rows[place] = queries[own[place] // nprobe]
        block = np.dot(rows[: len(own)], points[first:last].T)  # (looking, points of the cell)
        for place in range(len(own)):
            i, p = own[place] // nprobe, own[place] % nprobe
            if offset.shape[0] > 0:
                products[i, places[i, p] : places[i, p + 1]] = block[place] - offset[first:last]
            else:
                products[i, places[i, p] : places[i, p + 1]] = block[place]
    for i in range(m):
        best_of(products[i, : places[i, nprobe]], places[i], names[i], ids[i], values[i])

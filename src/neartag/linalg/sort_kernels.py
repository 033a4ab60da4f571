"""The numba kernel that sorts whole numbers. numba's own sort does the same, and takes seconds to compile."""

from __future__ import annotations

import numpy as np

from neartag.core import kernel_types as types
from neartag.core.jit import COUNT, kernel


@kernel(types.void(COUNT[::1], COUNT, COUNT))
def _sink(values, slot, count):
    """Let the value in a slot of a heap, whose root is the largest, sink to its place."""
    value = values[slot]
    while 2 * slot + 1 < count:
        child = 2 * slot + 1
        if child + 1 < count and values[child + 1] > values[child]:
            child += 1
        if values[child] <= value:
            break
        values[slot] = values[child]
        slot = child
    values[slot] = value


@kernel(types.void(COUNT[::1], COUNT))
def sort_numbers(values, count):
    """Put the first `count` numbers into rising order (heapsort)."""
    for slot in range(count // 2 - 1, -1, -1):
        _sink(values, slot, count)
    for last in range(count - 1, 0, -1):
        values[0], values[last] = values[last], values[0]
        _sink(values, np.int64(0), last)

"""The numba kernel of the hierarchy: what is below a concept."""

from __future__ import annotations

from neartag.core import kernel_types as types
from neartag.core.jit import COUNT, ID, IDS, POINTER, kernel


@kernel(COUNT(POINTER, IDS, COUNT, types.uint8[::1], ID[::1]))
def find_below(indptr, indices, start, seen, found):
    """Write a concept and all that is below it, however far, into `found` (C,), each once; returns how many.

    Row c of the CSR arrays has the concepts just below c; circles do no harm. `seen` (C,) is zeros.
    """
    found[0] = start
    seen[start] = 1
    count, done = 1, 0
    while done < count:
        concept = found[done]
        done += 1
        for p in range(indptr[concept], indptr[concept + 1]):
            below = indices[p]
            if seen[below] == 0:
                seen[below] = 1
                found[count] = below
                count += 1
    return count

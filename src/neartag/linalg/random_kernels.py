"""The pseudo-random generator of all kernels: SplitMix64, whose state is one number.

Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014. Each state, zero too, begins a
sequence of period 2⁶⁴, so that a seed can be used as it is.
"""

from __future__ import annotations

import numpy as np

from neartag.core import kernel_types as types
from neartag.core.jit import COUNT, kernel

WORD = types.uint64
STATE = WORD[::1]  # (1,): a kernel changes it, and so goes on where the last draw ended


@kernel(WORD(STATE))
def next_word(state):
    """Return 64 random bits, and move the state on."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    word = state[0]
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@kernel(COUNT(STATE, COUNT))
def draw_below(state, bound):
    """Return a random number of 0, 1, …, bound − 1, each as likely as the others; the bound is at most 2³²."""
    return np.int64(((next_word(state) >> np.uint64(32)) * np.uint64(bound)) >> np.uint64(32))


@kernel([types.void(each[::1], COUNT, STATE) for each in (types.int32, types.int64)])
def shuffle(ids, count, state):
    """Put ids[:count] into a random order (Fisher and Yates)."""
    for last in range(count - 1, 0, -1):
        other = draw_below(state, last + 1)
        ids[last], ids[other] = ids[other], ids[last]

"""Sorting by a kernel is sorting."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from neartag.linalg.sort_kernels import sort_numbers


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=60), st.integers(0, 60))
def test_the_first_numbers_are_sorted_and_the_others_stay(numbers, count):
    count = min(count, len(numbers))
    values = np.array(numbers, np.int64)
    sort_numbers(values, count)
    assert values.tolist() == sorted(numbers[:count]) + numbers[count:]

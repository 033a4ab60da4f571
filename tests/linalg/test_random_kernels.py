"""The kernels' generator: SplitMix64's own numbers, and draws that are even."""

from __future__ import annotations

import numpy as np
import pytest

from neartag.linalg.random_kernels import draw_below, next_word


def test_words_are_those_of_splitmix64():
    state = np.array([1234567], np.uint64)
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]
    assert [next_word(state) for _ in published] == published


def test_draws_are_even_and_go_on():
    state = np.array([5], np.uint64)
    drawn = [draw_below(state, 7) for _ in range(7000)]
    counts = np.bincount(drawn, minlength=7)
    assert len(counts) == 7
    assert np.abs(counts - 1000).max() < 150  # five standard deviations
    again = np.array([5], np.uint64)
    assert [draw_below(again, 7) for _ in range(50)] == drawn[:50]


@pytest.mark.parametrize("bound", [1, 2, 2**31, 2**32])
def test_draws_stay_below_their_bound(bound):
    state = np.array([0], np.uint64)
    drawn = [draw_below(state, bound) for _ in range(200)]
    assert min(drawn) >= 0
    assert max(drawn) < bound

"""The kernels' generator: SplitMix64's own numbers, and draws that are even."""

from __future__ import annotations

import numpy as np
import pytest

from neartag.linalg.random_kernels import draw_below, next_word, shuffle


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


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("count", [0, 1, 2, 50])
def test_a_shuffle_reorders_the_first_and_leaves_the_rest(dtype, count):
    ids, state = np.arange(60, dtype=dtype), np.array([3], np.uint64)
    shuffle(ids, count, state)
    assert sorted(ids[:count].tolist()) == list(range(count))
    assert ids[count:].tolist() == list(range(count, 60))
    assert count < 3 or ids[:count].tolist() != list(range(count))


def test_every_order_is_as_likely():
    state, seen = np.array([11], np.uint64), np.zeros((3, 3), int)
    for _ in range(6000):
        ids = np.arange(3)
        shuffle(ids, 3, state)
        seen[np.arange(3), ids] += 1
    assert np.abs(seen - 2000).max() < 200  # five standard deviations

"""Texts as arrays: what goes in comes out, in blocks, and damaged arrays are refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neartag.storage.texts import Texts

ANY = st.lists(st.text(st.characters(exclude_categories=()), max_size=20), max_size=12)


@given(ANY, ANY)
def test_round_trip_and_in_blocks(first, second):
    both = Texts.from_strings(first).concatenate(Texts.from_strings(second))
    assert list(both) == first + second
    assert len(both) == len(first) + len(second)
    assert list(Texts.from_arrays(*both.to_arrays())) == first + second
    kept = np.arange(len(both)) % 2 == 0
    assert list(both.keep(kept)) == (first + second)[::2]
    assert both[1:] == (first + second)[1:]


def test_numbers_from_the_end_and_beyond():
    texts = Texts.from_strings(["a", "b"])
    assert texts[-1] == "b"
    with pytest.raises(IndexError, match="2 texts"):
        texts[2]
    with pytest.raises(IndexError):
        texts[-3]


@pytest.mark.parametrize(
    ("content", "ends"),
    [
        (np.zeros(3, np.uint8), np.array([0, 2])),
        (np.zeros(3, np.uint8), np.array([1, 3])),
        (np.zeros(3, np.uint8), np.array([0, 5, 3])),
        (np.zeros(3, np.uint8), np.empty(0, np.int64)),
        (np.zeros(3, np.int8), np.array([0, 3])),
        (np.zeros(3, np.uint8), np.array([0, 3], np.int32)),
    ],
)
def test_arrays_that_are_no_texts(content, ends):
    with pytest.raises(ValueError, match="texts"):
        Texts.from_arrays(content, ends)


def test_bytes_that_are_no_text_are_still_shown():
    assert Texts.from_arrays(np.array([255, 65], np.uint8), np.array([0, 2]))[0] == "\ufffdA"

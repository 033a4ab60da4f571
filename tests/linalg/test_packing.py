"""Rows under a name among a model's arrays: taken out as they were put in, and refused where they are damaged."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from kernel_helpers import random_rows
from neartag.core.parameters import MAX_COUNT
from neartag.linalg.packing import are_within, check_rows, get_rows, put_rows, read_count, width_of
from neartag.linalg.quantization import TYPES, round_to

PRECISIONS = pytest.mark.parametrize("precision", TYPES)


def packed(form, precision="float32"):
    """Return rows and the arrays that they were put into."""
    rows, arrays = random_rows() if form == "sparse" else random_rows().toarray(), {}
    put_rows(arrays, "w", rows, precision)
    return rows, arrays


@pytest.mark.parametrize("form", ["sparse", "dense"])
@PRECISIONS
def test_rows_come_out_as_they_will_be_after_loading(form, precision):
    rows, arrays = packed(form, precision)
    check_rows(arrays, "w", *rows.shape, precision)
    found = get_rows(arrays, "w", precision)
    wanted = round_to(rows, precision)
    assert found.dtype == np.float32
    assert width_of(arrays, "w") == rows.shape[1]
    assert (found != wanted).sum() == 0
    assert sparse.issparse(found) == (form == "sparse")


@pytest.mark.parametrize("form", ["sparse", "dense"])
def test_maps_are_not_copied(form):
    _, arrays = packed(form)
    found = get_rows(arrays, "w")
    pieces = (
        {f"w.{piece}": getattr(found, piece) for piece in ("indptr", "indices", "data")} if form == "sparse" else {}
    )
    for name, array in (pieces or {"w": found}).items():
        assert np.shares_memory(array, arrays[name])


DAMAGES = {
    "column too large": ("w.indices", lambda array: np.where(np.arange(len(array)) == 3, 20, array).astype(np.int32)),
    "column below zero": ("w.indices", lambda array: np.where(np.arange(len(array)) == 3, -1, array).astype(np.int32)),
    "wide columns": ("w.indices", lambda array: array.astype(np.int64)),
    "pointers fall": ("w.indptr", lambda array: np.where(np.arange(len(array)) == 2, array[-1], array)),
    "pointers begin late": ("w.indptr", lambda array: np.where(np.arange(len(array)) == 0, 1, array)),
    "pointers end early": ("w.indptr", lambda array: np.minimum(array, array[-1] - 1)),
    "a row less": ("w.indptr", lambda array: np.delete(array, 1)),
    "no pointers": ("w.indptr", lambda array: array[:0]),
    "a value less": ("w.data", lambda array: array[:-1]),
    "wide values": ("w.data", lambda array: array.astype(np.float64)),
    "another shape": ("w.shape", lambda array: array[::-1].copy()),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_rows_are_refused(damage):
    rows, arrays = packed("sparse")
    name, change = DAMAGES[damage]
    arrays[name] = change(arrays[name])
    with pytest.raises(ValueError, match="w "):
        check_rows(arrays, "w", *rows.shape)


@pytest.mark.parametrize("scale", [np.nan, np.inf, 0, -1])
def test_damaged_scales_are_refused(scale):
    rows, arrays = packed("dense", "int8")
    arrays["w.scale"][2] = scale
    with pytest.raises(ValueError, match="w has scales"):
        check_rows(arrays, "w", *rows.shape, "int8")


@pytest.mark.parametrize("value", [0, -1, True, 1.0, "1", None, MAX_COUNT + 1])
def test_what_is_no_count(value):
    with pytest.raises(ValueError, match="n is not a whole number"):
        read_count({"n": value}, "n")


def test_counts_and_bounds():
    assert read_count({"n": MAX_COUNT}, "n") == MAX_COUNT
    assert are_within(np.array([], np.int32), 0)
    assert are_within(np.array([0, 4]), 5)
    assert not are_within(np.array([0, 5]), 5)
    assert not are_within(np.array([-1, 4]), 5)

"""Kernels are compiled whether or not there is a place to keep them."""

from __future__ import annotations

import pytest
from numba import float64

from neartag.core import jit


def half(value):
    return value / 2


def test_where_nothing_can_be_kept_kernels_are_compiled_all_the_same(monkeypatch):
    real, asked = jit.njit, []

    def refusing(signature, **options):
        asked.append(options)
        if options.get("cache"):
            raise RuntimeError("cannot cache function 'half': no locator available for file 'x.py'")
        return real(signature, **options)

    monkeypatch.setattr(jit, "njit", refusing)
    assert jit.kernel(float64(float64))(half)(5.0) == 2.5
    assert [options.get("cache", False) for options in asked] == [True, False]


def test_other_errors_are_not_hidden(monkeypatch):
    def failing(signature, **options):
        raise RuntimeError("something else")

    monkeypatch.setattr(jit, "njit", failing)
    with pytest.raises(RuntimeError, match="something else"):
        jit.kernel(float64(float64))(half)

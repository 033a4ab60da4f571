"""The search for circles of objects is paused inside blocks, and goes on after the last."""

from __future__ import annotations

import gc

import pytest

from neartag.core.garbage import paused_garbage_collection


def test_it_is_paused_until_the_last_block_ends():
    assert gc.isenabled()
    first, second = paused_garbage_collection(), paused_garbage_collection()
    with first:
        assert not gc.isenabled()
        second.__enter__()
    assert not gc.isenabled(), "the second, begun by another thread perhaps, has not ended"
    second.__exit__(None, None, None)
    assert gc.isenabled()


def test_it_goes_on_after_an_error():
    with pytest.raises(ZeroDivisionError), paused_garbage_collection():
        1 / 0  # noqa: B018
    assert gc.isenabled()


def test_who_turned_it_off_finds_it_off():
    gc.disable()
    try:
        with paused_garbage_collection():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()

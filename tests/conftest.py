"""What all tests share: their order, real data sets where there are any, a small tagger."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from neartag.tagging.tagger import TextTagger

# The first example of a test may compile a kernel, which is no sign of a slow test.
settings.register_profile("neartag", deadline=None)
settings.load_profile("neartag")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Hide from the garbage collector what collecting loads, or it goes through a million objects again and again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let slow tests begin first, so that no process is left with one of them when the others have ended."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


@pytest.fixture(scope="session")
def real_data() -> Callable[[str], Path]:
    """Return a function that gives a real data set's folder, and skips the test where it is not there."""
    from neartag.core.errors import DataError
    from neartag.data import registry

    def folder(name: str) -> Path:
        if not os.environ.get("NEARTAG_DATA"):
            pytest.skip(f"NEARTAG_DATA is not set, so there is no {name}")
        try:
            return registry.find(name)
        except DataError as error:
            if name.removesuffix("-text") in registry.names():
                raise  # it is there and damaged: that is a failure
            pytest.skip(str(error))

    return folder


@pytest.fixture(scope="session")
def small_tagger() -> TextTagger:
    """Return a tagger of some Debian packages, which all tests share: they may save it, but must not change it."""
    from tagger_helpers import train

    return train()

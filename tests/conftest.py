"""What all tests share: real data sets where there are any, and hypothesis without time limits."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

# The first example of a test may compile a kernel, which is no sign of a slow test.
settings.register_profile("neartag", deadline=None)
settings.load_profile("neartag")
gc.disable()  # until all tests are collected: so far everything is there to stay


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let slow tests begin first, so that no process is left with one of them when the others have ended."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


def pytest_collection_finish() -> None:
    """Hide from the garbage collector what is loaded by now, or it goes through a million objects again and again."""
    gc.freeze()
    gc.enable()


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

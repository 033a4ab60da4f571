"""What all tests share: real data sets where there are any, and hypothesis without time limits."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

# The first example of a test may compile a kernel, which is no sign of a slow test.
settings.register_profile("neartag", deadline=None)
settings.load_profile("neartag")


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

"""What all tests share: the list of slow ones, real data sets where there are any, hypothesis without time limits."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

# The first example of a test may compile a kernel, which is no sign of a slow test.
settings.register_profile("neartag", deadline=None)
settings.load_profile("neartag")
gc.disable()  # until all tests are collected: so far everything is there to stay


SLOW = Path(__file__).parent / "slow.txt"  # functions, classes and files; scripts/mark_slow.py writes it
# Files and functions that Windows cannot run: they send signals, fork, or measure with the module `resource`.
NOT_ON_WINDOWS = (
    "tests/benchmarks/",
    "tests/core/test_interrupts.py",
    "tests/core/test_threads.py::test_a_forked_process_has_threads_of_its_own",
    "tests/methods/test_trial_log.py::test_a_killed_command_goes_on",
    "tests/serve/test_serve_workers.py",
)
UNUSED = pytest.StashKey[list[str]]()


@pytest.hookimpl(tryfirst=True)  # before -m chooses by marks
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the slow tests, and let files with some begin first, so that no process is left with one at the end.

    A file's tests stay together: in another process, or after others, what they share would be made again.
    """
    lines = set(SLOW.read_text().split())
    used = set()
    for item in items:
        parts = item.nodeid.split("[")[0].split("::")
        names = {"::".join(parts[:count]) for count in range(1, len(parts) + 1)}  # of the file, the class, the function
        if names & lines:
            item.add_marker("slow")
            used |= names & lines
        if sys.platform == "win32" and item.nodeid.startswith(NOT_ON_WINDOWS):
            item.add_marker(pytest.mark.skip(reason="Windows has no such signals and no fork"))
    config.stash[UNUSED] = _lines_without_a_test(config, lines - used, {item.nodeid.split("::")[0] for item in items})
    first = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in first)


def _lines_without_a_test(config: pytest.Config, unused: set[str], collected: set[str]) -> list[str]:
    """Return the lines of slow.txt that name no test, as far as whole files are collected."""
    if config.getoption("lf", False) or any("::" in argument for argument in config.args):
        return []
    files = {line: line.split("::")[0] for line in unused}
    return sorted(line for line in unused if files[line] in collected or not (config.rootpath / files[line]).exists())


@pytest.fixture(scope="session")
def unused_slow_lines(pytestconfig: pytest.Config) -> list[str]:
    """Return the lines of slow.txt that name no test."""
    return pytestconfig.stash[UNUSED]


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

"""All kernels compiled ahead, a file at a time in processes side by side, so that no command has to wait for them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path

from neartag.core.jit import Kernel

PACKAGE = Path(__file__).parents[1]
MAX_PROCESSES = 60  # Python starts no more than 61 at once on Windows; there are fewer files with kernels anyway


def warm_up(jobs: int | None = None, report: Callable[[int, int], None] = lambda done, of: None) -> int:
    """Compile every kernel that is not kept on disk yet; returns how many there are.

    `jobs` processes work at once (None: one for each core). `report` is told how many files are done, of how many.
    """
    modules = kernel_modules()
    count = 0
    workers = min(jobs or os.cpu_count() or 1, MAX_PROCESSES)
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as processes:
        tasks = [processes.submit(compile_module, name) for name in modules]
        for done, task in enumerate(as_completed(tasks), start=1):
            count += task.result()
            report(done, len(modules))
    return count


def kernel_modules() -> list[str]:
    """Return the modules that hold kernels, the largest first: none of those that take long is left to the end."""
    files = sorted(PACKAGE.rglob("*kernels.py"), key=lambda path: path.stat().st_size, reverse=True)
    return [".".join(["neartag", *path.relative_to(PACKAGE).with_suffix("").parts]) for path in files]


def kernels_of(name: str) -> Iterator[Kernel]:
    """Yield the kernels that a module defines and that have a signature, also those that only other kernels call.

    Those without a signature are compiled with the kernels that call them.
    """
    for value in vars(import_module(name)).values():
        if isinstance(value, Kernel) and value.__module__ == name and value.signatures is not None:
            yield value


def compile_module(name: str) -> int:
    """Compile the kernels of a module; returns how many."""
    return sum(1 for kernel in kernels_of(name) if kernel.compile())


def delete_kept_kernels() -> None:
    """Delete the machine code that numba keeps in the package's folder.

    numba notices a change in a kernel's own file, but not in a kernel that it calls from another.
    """
    for kept in PACKAGE.rglob("*.nb[ci]"):
        kept.unlink(missing_ok=True)

"""Compile all kernels anew, several files at a time, so that numba has them in its cache before the tests start.

Every process of the tests imports every kernel, and without this step each would compile them all by itself. What is
cached is deleted first: numba notices a change in a kernel's own file, but not in a kernel that it calls from another.
"""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from pathlib import Path

import neartag


def main() -> None:
    package = Path(neartag.__file__).parent
    for cached in package.rglob("*.nb[ci]"):
        cached.unlink(missing_ok=True)
    files = sorted(package.rglob("*kernels.py"), key=lambda path: path.stat().st_size, reverse=True)
    modules = [".".join(["neartag", *path.relative_to(package).with_suffix("").parts]) for path in files]
    with ProcessPoolExecutor(os.cpu_count()) as processes:
        list(processes.map(compile_module, modules))


def compile_module(name: str) -> None:
    import_module(name)  # a kernel is compiled when its module is imported


if __name__ == "__main__":
    main()

"""Compile all kernels, the files side by side, so that numba has them in its cache before the tests start.

Every process of the tests imports every kernel. Without this step each of them would compile all of them by itself.
"""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from pathlib import Path

import neartag


def main() -> None:
    package = Path(neartag.__file__).parent
    files = sorted(package.rglob("*kernels.py"), key=lambda path: path.stat().st_size, reverse=True)
    modules = [".".join(["neartag", *path.relative_to(package).with_suffix("").parts]) for path in files]
    with ProcessPoolExecutor(os.cpu_count()) as processes:  # the largest files first
        for _ in processes.map(compile_module, modules):
            pass


def compile_module(name: str) -> None:
    import_module(name)  # a kernel is compiled when its module is imported


if __name__ == "__main__":
    main()

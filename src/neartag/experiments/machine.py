"""The machine and the versions that figures were measured with."""

from __future__ import annotations

import os
import platform
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from neartag import __version__
from neartag.core.threads import available_cores, resolve_jobs

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")


@lru_cache(maxsize=1)
def described() -> str:
    """Return one line on the machine."""
    processor = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = (line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if "model name" in line)
        processor = next(names, processor)
    return f"{processor}, {available_cores()} of {os.cpu_count()} cores, {platform.system()}"


@lru_cache(maxsize=1)
def versions() -> dict[str, str]:
    """Return the versions of Python, neartag and the libraries that compute."""
    found = {"python": platform.python_version(), "neartag": __version__}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:  # installed in some other way
            found[package] = "unknown"
    return found


def cores(jobs: int) -> int:
    """Return the number of cores that a number of jobs stands for."""
    return resolve_jobs(jobs)

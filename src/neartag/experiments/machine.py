"""The machine and the library versions of a measurement."""

from __future__ import annotations

import os
import platform
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from neartag.core.threads import available_cores
from neartag.core.version import __version__

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")


@lru_cache(maxsize=1)
def describe() -> str:
    """Return one line about the machine."""
    processor = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = (
            line.split(":", 1)[1].strip()
            for line in info.read_text(encoding="utf-8", errors="replace").splitlines()
            if "model name" in line
        )
        processor = next(names, processor)
    return f"{processor}, {available_cores()} of {os.cpu_count()} cores, {platform.system()}"


@lru_cache(maxsize=1)
def versions() -> dict[str, str]:
    """Return the versions of Python, neartag and the numerical libraries."""
    versions = {"python": platform.python_version(), "neartag": __version__}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:  # installed in some other way
            versions[package] = "unknown"
    return versions

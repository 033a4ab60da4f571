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
        processor = name_processor(info.read_text(encoding="utf-8", errors="replace")) or processor
    return f"{processor}, {available_cores()} of {os.cpu_count()} cores, {platform.system()}"


def name_processor(info: str) -> str:
    """Return the first processor in what Linux tells of all, with its family and model; "" if it has no name.

    Virtual machines call processors of several generations by one name.
    """
    pairs = (line.partition(":")[::2] for line in info.partition("\n\n")[0].splitlines())
    facts = {name.strip(): value.strip() for name, value in pairs}
    generation = [
        f"{name} {facts[key]}" for name, key in (("family", "cpu family"), ("model", "model")) if key in facts
    ]
    name = facts.get("model name", "")
    return f"{name} ({', '.join(generation)})" if name and generation else name


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

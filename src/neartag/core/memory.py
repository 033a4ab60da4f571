"""How much memory there is, how much is used, and how to say it."""

from __future__ import annotations

import os
from pathlib import Path

_CONTROL_GROUP = "/sys/fs/cgroup/memory.max"  # how much a container may have


def in_words(count: int) -> str:
    """Return bytes as people say them."""
    for unit, size in (("GB", 2**30), ("MB", 2**20), ("KB", 2**10)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} bytes"


def in_use() -> int:
    """Return the bytes that this process holds now, files mapped left out; 0 where the system does not tell."""
    try:
        with open("/proc/self/statm") as file:
            _, resident, shared, *_ = (int(word) for word in file.read().split())
            return (resident - shared) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def of_computer() -> int | None:
    """Return the bytes of memory that the computer has, or the container may use; None where it is not told."""
    known = []
    try:
        known.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
        known.append(int(Path(_CONTROL_GROUP).read_text()))
    except (AttributeError, ValueError, OSError):
        pass  # no such system, no container, or one without a limit
    return min((memory for memory in known if memory > 0), default=None)

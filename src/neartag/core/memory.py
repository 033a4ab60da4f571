"""How much memory there is, how much of it is in use, and sizes in words."""

from __future__ import annotations

import ctypes
import os
import sys
from contextlib import suppress
from pathlib import Path

CONTROL_GROUP = "/sys/fs/cgroup/memory.max"  # where Linux says how much memory a container may use


def format_bytes(count: int) -> str:
    """Return a number of bytes in words, such as "1.5 GB"."""
    for unit, size in (("GB", 2**30), ("MB", 2**20), ("KB", 2**10)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} bytes"


def in_use() -> int:
    """Return the bytes that this process uses now, without mapped files; 0 where the system does not say."""
    if sys.platform == "win32":
        from neartag.core import windows_memory

        return windows_memory.in_use()
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            _, resident, shared, *_ = (int(word) for word in file.read().split())
            return (resident - shared) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def release() -> None:
    """Give memory that was freed back to the system, where the system's allocator (glibc's) keeps it otherwise."""
    if sys.platform != "linux":
        return
    with suppress(OSError, AttributeError):  # of another C library
        ctypes.CDLL(None).malloc_trim(0)


def total(control_group: str | Path = CONTROL_GROUP) -> int | None:
    """Return the bytes of memory that the computer has, or that the container or process may use; None if unknown."""
    if sys.platform == "win32":
        from neartag.core import windows_memory

        return windows_memory.total()
    known = []
    try:
        known.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
        known.append(int(Path(control_group).read_text(encoding="ascii")))
    except (AttributeError, ValueError, OSError):
        pass  # another system, no container, or no limit
    limit = _process_limit()
    return min((memory for memory in [*known, limit] if memory is not None and memory > 0), default=None)


def _process_limit() -> int | None:
    """Return the bytes of its own that the process may have at most (`ulimit -d`); None: no limit."""
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_DATA)
    return None if limit == resource.RLIM_INFINITY else limit

"""What a piece of work cost: time, CPU time and the process's peak memory."""

from __future__ import annotations

import sys
import time
from typing import Any


class Usage:
    """Measures from its making on."""

    def __init__(self) -> None:
        self._start = time.perf_counter(), _cpu_seconds()

    def measure(self) -> dict[str, Any]:
        """Return seconds, CPU seconds (child processes included) and the peak memory in bytes, None where unknown."""
        seconds, cpu = time.perf_counter() - self._start[0], _cpu_seconds() - self._start[1]
        return {"seconds": round(seconds, 3), "cpu_seconds": round(cpu, 3), "peak_rss_bytes": peak_memory()}


def peak_memory() -> int | None:
    """Return the most memory that the process ever held, in bytes; None on a platform that does not say."""
    if sys.platform == "win32":
        from neartag.core import windows_memory

        return windows_memory.peak()
    # Linux counts into a new process's ru_maxrss what the one that started it held: what the process held before exec,
    # as a copy of that one. VmHWM begins anew with exec, though not with fork.
    known = read_status("VmHWM")
    if known is not None:
        return known
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak) if sys.platform == "darwin" else int(peak) * 1024


def read_status(name: str, process: int | str = "self") -> int | None:
    """Return a size that Linux tells of a process, in bytes: "VmRSS" is the memory held, "VmHWM" the most ever held.

    None where the system does not say, or the process has ended.
    """
    start = name.encode() + b":"
    try:
        with open(f"/proc/{process}/status", "rb") as file:  # the name of a process may be any bytes
            return next((1024 * int(line.split()[1]) for line in file if line.startswith(start)), None)
    except (OSError, IndexError, ValueError):
        return None


def _cpu_seconds() -> float:
    if sys.platform == "win32":
        return time.process_time()
    import resource

    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime

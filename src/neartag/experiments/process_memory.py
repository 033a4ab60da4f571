"""How much memory another process holds."""

from __future__ import annotations

from neartag.core.usage import read_status


def resident_bytes(process: int) -> int:
    """Return the bytes of memory that a process holds; 0 where the system does not say, or it has ended."""
    return read_status("VmRSS", process) or 0

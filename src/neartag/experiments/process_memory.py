"""How much memory another process holds."""

from __future__ import annotations

from pathlib import Path


def resident_bytes(process: int) -> int:
    """Return the bytes of memory that a process holds; 0 where the system does not say, or it has ended."""
    try:
        lines = Path(f"/proc/{process}/status").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return 0
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("VmRSS:")), 0)

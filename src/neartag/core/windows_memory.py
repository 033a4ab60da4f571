"""What Windows says about memory. The other systems say it in files and through Python's own functions."""

from __future__ import annotations

import ctypes
from typing import Any


class _MemoryStatus(ctypes.Structure):
    """MEMORYSTATUSEX."""

    _fields_ = [
        ("length", ctypes.c_uint32),
        ("load", ctypes.c_uint32),
        *((name, ctypes.c_uint64) for name in ("total", "free", "total_page", "free_page", "total_virtual")),
        *((name, ctypes.c_uint64) for name in ("free_virtual", "free_extended")),
    ]


class _ProcessMemory(ctypes.Structure):
    """PROCESS_MEMORY_COUNTERS_EX."""

    _fields_ = [
        ("length", ctypes.c_uint32),
        ("page_faults", ctypes.c_uint32),
        *((name, ctypes.c_size_t) for name in ("peak", "working_set", "peak_paged_pool", "paged_pool")),
        *((name, ctypes.c_size_t) for name in ("peak_other_pool", "other_pool", "page_file", "peak_page_file")),
        ("private", ctypes.c_size_t),
    ]


def total() -> int | None:
    """Return the bytes of memory that the computer has; None where Windows does not say."""
    status = _MemoryStatus(length=ctypes.sizeof(_MemoryStatus))
    return int(status.total) if _kernel().GlobalMemoryStatusEx(ctypes.byref(status)) else None


def in_use() -> int:
    """Return the bytes that this process uses, without mapped files; 0 where Windows does not say."""
    counted = _process()
    return 0 if counted is None else int(counted.private)


def peak() -> int | None:
    """Return the most memory that this process ever held; None where Windows does not say."""
    counted = _process()
    return None if counted is None else int(counted.peak)


def _process() -> _ProcessMemory | None:
    kernel, counted = _kernel(), _ProcessMemory(length=ctypes.sizeof(_ProcessMemory))
    kernel.GetCurrentProcess.restype = ctypes.c_void_p  # a handle, which an int would cut
    this = ctypes.c_void_p(kernel.GetCurrentProcess())
    done = kernel.K32GetProcessMemoryInfo(this, ctypes.byref(counted), ctypes.c_uint32(counted.length))
    return counted if done else None


def _kernel() -> Any:
    return ctypes.WinDLL("kernel32")  # type: ignore[attr-defined,unused-ignore]

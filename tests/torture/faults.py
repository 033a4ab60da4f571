"""A process that goes wrong in the middle of its work: killed, or told that the disk is full, at a chosen step."""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
CHANGES = ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "os.link", "os.symlink", "os.chmod")


def at_step(number: int, folder: Path, then: Callable[[], None]) -> None:
    """Do something before the so-manieth change of files in a folder; for a forked process, since it never ends."""
    left = [number]

    def count() -> None:
        left[0] -= 1
        if left[0] == 0:
            then()

    def watch(event: str, details: tuple[Any, ...]) -> None:
        opens = event == "open" and isinstance(details[2], int) and details[2] & WRITING
        if (opens or event in CHANGES) and str(folder) in str(details[0]):
            count()

    sync = os.fsync

    def sync_counted(handle: int) -> None:
        count()
        sync(handle)
        count()

    os.fsync = sync_counted  # type: ignore[assignment]
    sys.addaudithook(watch)


def kill_self() -> None:
    """End the process as a kill from outside does: nothing is cleaned up."""
    os.kill(os.getpid(), signal.SIGKILL)


def raise_disk_full() -> None:
    """Raise what the system raises on a full disk."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def limit_file_size(most: int) -> None:
    """Let every write beyond so many bytes of a file fail, for this process."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))


@contextmanager
def small_disk(folder: Path, size: int) -> Iterator[bool]:
    """Mount a disk of so many bytes there; tells whether that is allowed here."""
    folder.mkdir(exist_ok=True)
    library = ctypes.CDLL(None, use_errno=True)
    place = os.fsencode(folder)
    mounted = library.mount(b"tmpfs", place, b"tmpfs", 0, f"size={size}".encode()) == 0
    try:
        yield mounted
    finally:
        if mounted:
            library.umount2(place, 2)  # also where a file is still open: it goes when that is closed

"""The lock of a folder: one writer at a time, of any thread and process.

Whoever must wait holds a second lock until the first is theirs, and whoever finds that second lock there goes through
it too. So a writer that saves again and again cannot keep out the others.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from neartag.core.errors import ModelError

LOCK, LOCK_NEXT = ".lock", ".lock-next"
LOCK_TIMEOUT, LOCK_PAUSE = 60.0, 0.005  # seconds


class FolderBusyError(ModelError):
    """Somebody else writes to a folder."""


@contextmanager
def lock(folder: str | os.PathLike[str], *, timeout: float = LOCK_TIMEOUT) -> Iterator[None]:
    """Keep every other writer out of a model folder, threads and processes alike.

    Readers need no lock: what they see is always whole.

    Parameters
    ----------
    folder : str or path
        The folder, which must exist.
    timeout : float, default 60
        For how many seconds to wait for another writer.

    Returns
    -------
    context manager
        It holds the lock while its block runs.

    Raises
    ------
    ModelError
        The folder cannot be locked, or somebody else still holds the lock after `timeout` seconds.

    Examples
    --------
    >>> import tempfile
    >>> from neartag import store
    >>> with tempfile.TemporaryDirectory() as folder, store.lock(folder):
    ...     pass  # nobody else writes to the folder here
    """
    deadline = time.monotonic() + timeout
    place = Path(folder)
    with _open(place / LOCK) as handle:
        if (place / LOCK_NEXT).exists() or not _try_lock(handle):
            with _open(place / LOCK_NEXT) as turn:
                _wait(turn, place, deadline)
                try:
                    _wait(handle, place, deadline)
                finally:
                    _unlock(turn)
        try:
            yield
        finally:
            _unlock(handle)


def _open(path: Path) -> BinaryIO:
    try:
        return path.open("a+b")
    except OSError as error:
        advice = "make it writable, or copy it to a place where you may write and use the copy"
        raise ModelError(f"cannot lock the folder {path.parent} to write to it: {error.strerror}; {advice}") from error


def _wait(handle: BinaryIO, folder: Path, deadline: float) -> None:
    while not _try_lock(handle):
        if time.monotonic() >= deadline:
            raise FolderBusyError(f"{folder} is being written by someone else: try again when that has ended")
        time.sleep(LOCK_PAUSE)


if sys.platform == "win32":
    import msvcrt

    def _try_lock(handle: BinaryIO) -> bool:
        handle.seek(0)
        try:
            msvcrt.locking(handle.fileno(), msvcrt.LK_NBLCK, 1)
        except PermissionError:  # somebody else has it
            return False
        except OSError as error:
            raise ModelError(f"cannot lock {handle.name}: {error}; save to a local disk and copy from there") from error
        return True

    def _unlock(handle: BinaryIO) -> None:
        handle.seek(0)
        msvcrt.locking(handle.fileno(), msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _try_lock(handle: BinaryIO) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError as error:
            raise ModelError(f"cannot lock {handle.name}: {error}; save to a local disk and copy from there") from error
        return True

    def _unlock(handle: BinaryIO) -> None:
        fcntl.flock(handle, fcntl.LOCK_UN)

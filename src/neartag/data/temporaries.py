"""Files and folders that are made beside their target and renamed at the end; what a killed process left is removed.

Whoever makes one holds a lock on it, which ends with the process, however that ends. One that nobody holds was left
over, and the next who writes to the same target removes it. Windows has no such locks: there leftovers stay.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_DIGITS = 8  # of a name, at random
_ATTEMPTS = 100  # to make one that nobody takes for left over before it is locked


@contextmanager
def temporary_beside(target: Path, create: Callable[[Path], None]) -> Iterator[Path]:
    """Make a file or folder beside the target by `create`; unless it was renamed, it is removed at the end."""
    _remove_leftovers(target)
    path, held = _make(target, create)
    try:
        yield path
    finally:
        _remove(path)
        if held is not None:
            os.close(held)


def _make(target: Path, create: Callable[[Path], None]) -> tuple[Path, int | None]:
    for _ in range(_ATTEMPTS):
        path = target.with_name(f".{target.name}.{secrets.token_hex(_DIGITS // 2)}.tmp")
        create(path)
        try:
            return path, _lock(path)
        except (FileNotFoundError, BlockingIOError):
            continue  # somebody took it for left over just now: make another
        except OSError:  # there are no such locks here
            return path, None
    raise OSError(f"no file can be made beside {target}")


def _remove_leftovers(target: Path) -> None:
    """Remove what nobody holds any more of what was made for this target."""
    name = re.compile(rf"\.{re.escape(target.name)}\.[0-9a-f]{{{_DIGITS}}}(?:\.tmp)?")
    with suppress(OSError):  # whatever is wrong with the folder, writing to it will tell
        for entry in os.scandir(target.parent):
            if name.fullmatch(entry.name):
                with suppress(OSError):
                    held = _lock(Path(entry.path))
                    _remove(Path(entry.path))
                    os.close(held)


def _remove(path: Path) -> None:
    with suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


if sys.platform != "win32":
    import fcntl

    def _lock(path: Path) -> int:
        """Return a handle that holds the lock of a file or folder; OSError where another one does, or it is gone."""
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not os.path.samestat(os.fstat(handle), os.stat(path)):
                raise FileNotFoundError(path)
        except BaseException:
            os.close(handle)
            raise
        return handle

else:

    def _lock(path: Path) -> int:
        raise OSError(f"{path} cannot be locked on Windows")

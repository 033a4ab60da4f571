"""Arrays that grow while data are read: in memory, or in files that are mapped once they take too much of it.

Whoever uses a finished array sees no difference. Files have no name (on Windows: are deleted when closed), so that
nothing is left of them however the process ends. They are written to, not mapped, while they grow: a full disk is then
an error, and not the death of the process.
"""

from __future__ import annotations

import mmap
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import IO, Any

import numpy as np

from neartag.core import memory
from neartag.core.errors import DataError

MAPPED_SHARE = 1 / 4  # of memory: what is more is put into files, for training needs room beside the data
_allowed: ContextVar[int | None] = ContextVar("allowed", default=None)


@contextmanager
def within(limit: int | None) -> Iterator[None]:
    """Let readers keep in memory no more than a share of so many bytes; None: of what the computer has."""
    token = _allowed.set(limit)
    try:
        yield
    finally:
        _allowed.reset(token)


def usual_limit() -> int:
    """Return the bytes of arrays from which on they are put into files: a share of the memory there is or allowed."""
    known = [limit for limit in (_allowed.get(), memory.of_computer()) if limit is not None]
    return int(min(known) * MAPPED_SHARE) if known else sys.maxsize


def mapped_bytes(*arrays: np.ndarray) -> int:
    """Return how many bytes of the arrays are in mapped files."""
    return sum(array.nbytes for array in arrays if isinstance(_owner(array), mmap.mmap))


class Arrays:
    """The arrays of one data file: all in memory, or, as soon as together they take too much, all in files."""

    def __init__(self, path: Path | str, map_from: int | None = None) -> None:
        self.path = path
        self.map_from = usual_limit() if map_from is None else map_from
        self._each: list[Growing] = []

    def grow(self, dtype: Any) -> Growing:
        """Return a new array of these, empty yet."""
        self._each.append(Growing(self, dtype))
        return self._each[-1]

    def settle(self) -> None:
        """Move what is in memory into files if it is too much."""
        if self.taken > self.map_from:
            for array in self._each:
                array.to_file()

    @property
    def taken(self) -> int:
        """Bytes of all arrays so far."""
        return sum(array.nbytes for array in self._each)


class Growing:
    """A row of numbers that grows at its end."""

    def __init__(self, owner: Arrays, dtype: Any) -> None:
        self._owner, self._dtype = owner, np.dtype(dtype)
        # Grows where it is: lists of arrays put together in the end would take twice the memory then.
        self._memory: bytearray = bytearray()
        self._file: IO[bytes] | None = None
        self.nbytes = 0

    def append(self, numbers: np.ndarray) -> None:
        """Add numbers at the end."""
        content = np.ascontiguousarray(numbers, self._dtype).view(np.uint8).data
        self.nbytes += content.nbytes
        if self._file is None:
            self._memory += content
            self._owner.settle()
        else:
            self._write(content)

    def to_file(self) -> None:
        """Move what is in memory into a file, and let all that comes follow it."""
        if self._file is None:
            try:
                self._file = tempfile.TemporaryFile(buffering=0, prefix="neartag-")  # noqa: SIM115 (stays open)
            except OSError as error:
                raise self._fault(error) from error
            self._write(memoryview(self._memory))
            self._memory = bytearray()

    def finished(self) -> np.ndarray:
        """Return the array, which is ours alone and may be written to; nothing can be added any more."""
        if self._file is None or not self.nbytes:  # nothing cannot be mapped
            return np.frombuffer(self._memory, self._dtype)
        with self._file:
            return np.frombuffer(mmap.mmap(self._file.fileno(), self.nbytes), self._dtype)

    def _write(self, content: memoryview) -> None:
        assert self._file is not None
        try:
            while content:
                content = content[self._file.write(content) :]
        except OSError as error:
            raise self._fault(error) from error

    def _fault(self, error: OSError) -> DataError:
        most, taken = (f"{size / 2**20:,.1f} MB" for size in (self._owner.map_from, self._owner.taken))
        folder = tempfile.tempdir or "a folder for temporary files"  # unset where none could be found
        return DataError(
            f"{self._owner.path}: takes more than {most} of memory and so is put into files in {folder}, "
            f"where there is no place for its first {taken} ({error.strerror}); "
            "set TMPDIR to a folder on a disk with more room, or allow more memory"
        )


def _owner(array: Any) -> Any:
    """Return what an array's numbers are in, in the end."""
    while isinstance(array, np.ndarray | memoryview):
        array = array.base if isinstance(array, np.ndarray) else array.obj
    return array

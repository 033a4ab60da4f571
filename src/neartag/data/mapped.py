"""Arrays that grow while data are read: in memory, or in mapped files once they take too much of it.

Whoever uses a finished array sees no difference. The files have no name (on Windows they are deleted when closed), so
nothing is left of them however the process ends. While they grow they are written, not mapped: a full disk is then an
error instead of a crash of the process.
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
from neartag.core.mapped_files import map_file

IN_MEMORY_SHARE = 1 / 4  # of the memory: larger data go into files, because training needs room beside them
_memory_limit: ContextVar[int | None] = ContextVar("memory_limit", default=None)


@contextmanager
def memory_limit(limit: int | None) -> Iterator[None]:
    """Tell readers how many bytes of memory the process may use; None: as many as the computer has."""
    token = _memory_limit.set(limit)
    try:
        yield
    finally:
        _memory_limit.reset(token)


def spill_threshold() -> int:
    """Return how many bytes of arrays are kept in memory: a share of the memory that there is, or is allowed."""
    limits = [limit for limit in (_memory_limit.get(), memory.total()) if limit is not None]
    return int(min(limits) * IN_MEMORY_SHARE) if limits else sys.maxsize


def mapped_bytes(*arrays: np.ndarray) -> int:
    """Return how many bytes of the arrays are in mapped files."""
    return sum(array.nbytes for array in arrays if isinstance(_storage(array), mmap.mmap))


class SpillableArrays:
    """The arrays of one data file: all in memory, or all in files as soon as together they take too much."""

    def __init__(self, path: Path | str, map_from: int | None = None) -> None:
        self.path = path
        self.map_from = spill_threshold() if map_from is None else map_from
        self._arrays: list[SpillableArray] = []

    def new(self, dtype: Any) -> SpillableArray:
        """Return a new, empty array of this group."""
        self._arrays.append(SpillableArray(self, dtype))
        return self._arrays[-1]

    def spill_if_large(self) -> None:
        """Move all arrays into files if they take too much memory."""
        if self.nbytes > self.map_from:
            for array in self._arrays:
                array.spill()

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays so far."""
        return sum(array.nbytes for array in self._arrays)


class SpillableArray:
    """A one-dimensional array that grows at its end."""

    def __init__(self, group: SpillableArrays, dtype: Any) -> None:
        self._group, self._dtype = group, np.dtype(dtype)
        # Grows in place: a list of arrays, joined at the end, would take twice the memory at that moment.
        self._memory: bytearray = bytearray()
        self._file: IO[bytes] | None = None
        self.nbytes = 0

    def append(self, numbers: np.ndarray) -> None:
        """Add numbers at the end."""
        content = np.ascontiguousarray(numbers, self._dtype).view(np.uint8).data
        self.nbytes += content.nbytes
        if self._file is None:
            self._memory += content
            self._group.spill_if_large()
        else:
            self._write(content)

    def spill(self) -> None:
        """Move what is in memory into a file; what is appended later goes there too."""
        if self._file is None:
            try:
                self._file = tempfile.TemporaryFile(buffering=0, prefix="neartag-")  # noqa: SIM115 (stays open)
            except OSError as error:
                raise self._disk_error(error) from error
            self._write(memoryview(self._memory))
            self._memory = bytearray()

    def finish(self) -> np.ndarray:
        """Return the array, which the caller owns and may write to; nothing can be appended after that."""
        if self._file is None or not self.nbytes:  # an empty file cannot be mapped
            return np.frombuffer(self._memory, self._dtype)
        with self._file:
            return np.frombuffer(map_file(self._file.fileno(), self.nbytes), self._dtype)

    def _write(self, content: memoryview) -> None:
        assert self._file is not None
        try:
            while content:
                content = content[self._file.write(content) :]
        except OSError as error:
            raise self._disk_error(error) from error

    def _disk_error(self, error: OSError) -> DataError:
        limit, needed = (f"{size / 2**20:,.1f} MB" for size in (self._group.map_from, self._group.nbytes))
        folder = tempfile.tempdir or "a folder for temporary files"  # unset where none could be found
        return DataError(
            f"{self._group.path}: takes more than {limit} of memory and so is put into files in {folder}, "
            f"where there is no place for its first {needed} ({error.strerror}); "
            "set TMPDIR to a folder on a disk with more room, or allow more memory"
        )


def _storage(array: Any) -> Any:
    """Return the object that holds an array's numbers in the end."""
    while isinstance(array, np.ndarray | memoryview):
        array = array.base if isinstance(array, np.ndarray) else array.obj
    return array

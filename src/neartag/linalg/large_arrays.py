"""Arrays that may be larger than memory: within `in_files` those from a size on are made in mapped files.

A result of a training task may be as large as all data. With a limit of memory it is made in a file of the work folder
that has no name, mapped, and goes from there into the task's part. Whoever uses it sees no difference. What comes of a
large matrix is made block by block, with a few blocks of that size in memory; the numbers are the same.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import NamedTuple

import numpy as np

from neartag.core import memory
from neartag.core.errors import WorkError
from neartag.core.mapped_files import ALLOW_MORE, is_about_open_files, map_file

ZEROS = bytes(2**20)  # written where the system cannot reserve room in a file
# Of arrays that are collected, such as those of all clusters of a learner, smaller ones count too: so much of the size.
COLLECTED_SHARE = 16
# What takes more than this share of the memory there is goes into temporary files, by blocks of so much of it.
MAX_MEMORY_SHARE, BLOCK_SHARE = 1 / 4, 1 / 32


class _Files(NamedTuple):
    folder: Path
    from_bytes: int
    or_memory: bool = False  # whether an array for which the folder has no room is made in memory


_files: ContextVar[_Files | None] = ContextVar("files", default=None)


@contextmanager
def in_files(folder: Path | None, from_bytes: int) -> Iterator[None]:
    """Make arrays from so many bytes on in files of a folder; with no folder, or from 0 bytes on, all in memory."""
    token = _files.set(None if folder is None or not from_bytes else _Files(folder, from_bytes))
    try:
        yield
    finally:
        _files.reset(token)


@contextmanager
def in_temporary_files(nbytes: int) -> Iterator[None]:
    """Make large arrays in temporary files, where so many bytes are too much of the memory that there is."""
    there = memory.total()
    if _files.get() is not None or there is None or nbytes < MAX_MEMORY_SHARE * there:
        yield
        return
    token = _files.set(_Files(Path(tempfile.gettempdir()), int(BLOCK_SHARE * there), or_memory=True))
    try:
        yield
    finally:
        _files.reset(token)


def block_bytes() -> int | None:
    """Return how many bytes of a matrix to work on at a time; None: there is no limit."""
    files = _files.get()
    return None if files is None else files.from_bytes


def are_large(nbytes: int) -> bool:
    """Say whether so many bytes are too many for memory."""
    files = _files.get()
    return files is not None and nbytes >= files.from_bytes


def empty(shape: int | tuple[int, ...], dtype: np.dtype | type, *, collected: bool = False) -> np.ndarray:
    """Return a new array, in a file where it is large; `collected`: it is one of many that are kept."""
    dtype, files = np.dtype(dtype), _files.get()
    count = int(np.prod(shape, dtype=np.int64))
    nbytes = count * dtype.itemsize
    if files is None or not nbytes or nbytes < files.from_bytes // (COLLECTED_SHARE if collected else 1):
        return np.empty(shape, dtype)
    try:
        with tempfile.TemporaryFile(dir=files.folder, prefix=".scratch-") as file:
            _reserve(file.fileno(), nbytes)
            mapped = map_file(file.fileno(), nbytes)
    except (OSError, ValueError) as error:  # a file that is too short cannot be mapped
        if files.or_memory:
            return np.empty(shape, dtype)
        if is_about_open_files(error):
            raise WorkError(f"arrays cannot be made in files of {files.folder} ({error}): {ALLOW_MORE}") from error
        raise WorkError(
            f"{files.folder} has no room for {nbytes} bytes on their way ({error}): what was done so far is "
            "kept there; make room, and start again with the same data, options and work folder to go on"
        ) from error
    return np.frombuffer(mapped, dtype, count).reshape(shape)


def take(array: np.ndarray, places: np.ndarray, *, collected: bool = False) -> np.ndarray:
    """Return array[places], in a file where it is large."""
    shape = (len(places), *array.shape[1:])
    out = empty(shape, array.dtype, collected=collected)
    if out.base is None:  # in memory
        return array[places]
    step = max(1, len(places) * (block_bytes() or out.nbytes) // max(1, out.nbytes))
    for first in range(0, len(places), step):
        out[first : first + step] = array[places[first : first + step]]
    return out


def insert(array: np.ndarray, before: np.ndarray, rows: np.ndarray, *, collected: bool = False) -> np.ndarray:
    """Return np.insert(array, before, rows, axis=0), in a file where it is large."""
    out = empty((len(array) + len(rows), *array.shape[1:]), array.dtype, collected=collected)
    if out.base is None:  # in memory
        return np.insert(array, before, rows, axis=0)
    order = np.argsort(before, kind="stable")
    is_new = np.zeros(len(out), bool)
    is_new[before[order] + np.arange(len(order))] = True
    out[is_new] = rows[order]
    old = np.flatnonzero(~is_new)
    step = max(1, len(old) * (block_bytes() or out.nbytes) // max(1, out.nbytes))
    for first in range(0, len(old), step):
        out[old[first : first + step]] = array[first : first + step]
    return out


def _reserve(handle: int, nbytes: int) -> None:
    """Take room on the disk: a full one must be an error here, and not a crash where the array is filled."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(handle, 0, nbytes)
        return
    for start in range(0, nbytes, len(ZEROS)):
        os.write(handle, ZEROS[: nbytes - start])

"""A folder whose files change all at once: written under a lock, switched by one rename, safe for readers meanwhile."""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from neartag.core.errors import ModelError
from neartag.data.files import digest
from neartag.storage import manifest
from neartag.storage.manifest import FILE_NAME, FORMAT, HASH_DIGITS, MANIFEST, REMEDY, File, Manifest

LOCK = ".lock"
TEMPORARY = ".neartag.tmp"  # one is enough: only the holder of the lock writes
LOCK_TIMEOUT, LOCK_PAUSE = 60.0, 0.02  # seconds
READ_ATTEMPTS, READ_PAUSE = 50, 0.002  # how often, and how many seconds later, a reader that lost a race tries again
REPLACE_ATTEMPTS = 50  # on Windows a file cannot be replaced in the moment in which someone reads it


@contextmanager
def lock(folder: str | os.PathLike[str], *, timeout: float = LOCK_TIMEOUT) -> Iterator[None]:
    """Keep every other writer out of the folder, threads and processes alike; ModelError after `timeout` seconds."""
    deadline = time.monotonic() + timeout
    try:
        handle = (Path(folder) / LOCK).open("a+b")
    except OSError as error:
        raise ModelError(f"cannot lock the folder {folder}: {error}") from error
    with handle:
        while not _try_lock(handle):
            if time.monotonic() >= deadline:
                raise ModelError(f"{folder} is being written by someone else: try again when that has ended")
            time.sleep(LOCK_PAUSE)
        try:
            yield
        finally:
            _unlock(handle)


class Writer:
    """Adds files to a folder beside those there, then switches to them; leaves no trace if it never came to that.

    For use under the lock, as a context manager.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._added: list[Path] = []

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *error: object) -> None:
        for path in (*self._added, self._folder / TEMPORARY):
            with suppress(OSError):
                path.unlink(missing_ok=True)

    def add(self, stem: str, suffix: str, pieces: Iterable[bytes | memoryview]) -> File:
        """Store the pieces, end to end, under a name that ends in their hash, and return the file's entry."""
        state, size = hashlib.sha256(), 0
        with self._fresh() as handle:
            for piece in pieces:
                state.update(piece)
                size += handle.write(piece)
            sha256 = state.hexdigest()
            file = File(f"{stem}.{sha256[:HASH_DIGITS]}.{suffix}", size, sha256)
            path = self._folder / file.name
            held = _holds(path, file)
            if not held:
                _sync(handle)
        if not held:
            if not path.exists():
                self._added.append(path)
            _replace(self._folder / TEMPORARY, path)
        return file

    def switch(self, document: bytes, files: list[File]) -> None:
        """Make the document the folder's manifest and remove the files of ours that it does not need."""
        with self._fresh() as handle:
            handle.write(document)
            _sync(handle)
        _sync_folder(self._folder)  # the new files' names are on disk before anything points at them
        self._added.clear()  # from here on they may be in use
        _replace(self._folder / TEMPORARY, self._folder / MANIFEST)
        _sync_folder(self._folder)  # the switch is on disk before the old files go
        remove_others(self._folder, files)

    def _fresh(self) -> BinaryIO:
        path = self._folder / TEMPORARY
        path.unlink(missing_ok=True)
        return path.open("xb")


def remove_others(folder: Path, files: Iterable[File]) -> None:
    """Remove, under the lock, the files of ours that are none of these: what a writer left that did not come to it."""
    needed = {file.name for file in files}
    for path in folder.iterdir():
        if path.name == TEMPORARY or (FILE_NAME.fullmatch(path.name) and path.name not in needed):
            with suppress(OSError):  # Windows keeps what someone has mapped; the next save will get it
                path.unlink()


def refuse_foreign(folder: Path) -> None:
    """Raise ModelError where saving would mix a model into a folder of other things."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise ModelError(f"{folder} is a file: name a folder to save a model in")
    if (folder / MANIFEST).is_file():  # a pipe of that name would block
        document = manifest.read_json(folder / MANIFEST)
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise ModelError(f"{folder / MANIFEST} is not neartag's: choose another folder to save in")
        return
    for path in folder.iterdir():
        if path.name not in (LOCK, TEMPORARY) and not FILE_NAME.fullmatch(path.name):
            raise ModelError(f"{folder} holds {path.name!r} and no model: choose a new or an empty folder to save in")


def open_files(folder: Path, stack: ExitStack) -> tuple[Manifest, dict[str, BinaryIO]]:
    """Return the manifest and its files, open and of the right size; the stack closes them.

    A reader takes no lock, so between reading the manifest and opening a file both may have been replaced: it then
    starts again. Once open, a file stays readable whatever happens to its name.
    """
    problem: OSError | None = None
    for attempt in range(READ_ATTEMPTS):
        time.sleep(READ_PAUSE if attempt else 0.0)
        with ExitStack() as opened:
            try:
                found = manifest.read(folder)
                handles = {file.name: opened.enter_context(_open(folder, file)) for file in found.files}
            except (FileNotFoundError, PermissionError) as error:
                problem = error
            except OSError as error:
                raise ModelError(f"the model in {folder} cannot be read, {error}: {REMEDY}") from error
            else:
                stack.push(opened.pop_all())
                return found, handles
    reason = f"{problem.filename} is missing" if isinstance(problem, FileNotFoundError) else str(problem)
    raise ModelError(f"the model in {folder} cannot be read, {reason}: {REMEDY}")


def _open(folder: Path, file: File) -> BinaryIO:
    path = folder / file.name
    if not stat.S_ISREG(path.stat().st_mode):  # a pipe would block, a folder would be called a lack of permission
        raise ModelError(f"{path} is not a plain file: {REMEDY}")
    handle = path.open("rb")
    size = os.fstat(handle.fileno()).st_size
    if size != file.bytes:
        handle.close()
        raise ModelError(f"{path} has {size} bytes instead of {file.bytes}: {REMEDY}")
    return handle


def _holds(path: Path, file: File) -> bool:
    if not path.is_file() or path.stat().st_size != file.bytes:
        return False
    with path.open("rb") as handle:
        return digest(handle) == file.sha256


def _sync(handle: BinaryIO) -> None:
    handle.flush()
    os.fsync(handle.fileno())


def _replace(source: Path, target: Path) -> None:
    for _ in range(REPLACE_ATTEMPTS if sys.platform == "win32" else 0):
        with suppress(PermissionError):
            os.replace(source, target)
            return
        time.sleep(READ_PAUSE)
    os.replace(source, target)


def _sync_folder(folder: Path) -> None:
    if sys.platform != "win32":  # which has no such call, and needs none
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


if sys.platform == "win32":
    import msvcrt

    def _try_lock(handle: BinaryIO) -> bool:
        handle.seek(0)
        try:
            msvcrt.locking(handle.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
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

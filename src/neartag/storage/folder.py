"""A folder whose files change all at once: a writer holds the lock and switches by one rename; readers need no lock."""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, BinaryIO

from neartag.core.errors import ModelError
from neartag.core.replace_file import replace_file
from neartag.data.files import digest
from neartag.linalg import tensors
from neartag.storage import manifest
from neartag.storage.change_log import settle_changes
from neartag.storage.content import REMEDY, decode_json
from neartag.storage.location import CHANGE_LOG, sync_folder
from neartag.storage.locking import LOCK, LOCK_NEXT
from neartag.storage.manifest import FILE_NAME, FORMAT, HASH_DIGITS, MANIFEST, File, Manifest

TEMPORARY = ".neartag.tmp"  # one is enough: only the holder of the lock writes
READ_ATTEMPTS, READ_PAUSE = 50, 0.002  # of a reader that lost a race; the pause is in seconds


class FolderWriter:
    """Adds files to a folder beside those there, then switches to them; without the switch it leaves no trace.

    A context manager, for use under the lock.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._added: list[Path] = []

    def __enter__(self) -> FolderWriter:
        return self

    def __exit__(self, *error: object) -> None:
        for path in (*self._added, self._folder / TEMPORARY):
            with suppress(OSError):
                path.unlink(missing_ok=True)

    def add(self, stem: str, suffix: str, pieces: Iterable[bytes | memoryview]) -> File:
        """Store the pieces, end to end, under a name that ends in their hash, and return the file's entry."""
        state, size = hashlib.sha256(), 0
        with self._open_temporary() as handle:
            for piece in pieces:
                state.update(piece)
                size += handle.write(piece)
            sha256 = state.hexdigest()
            file = File(f"{stem}.{sha256[:HASH_DIGITS]}.{suffix}", size, sha256)
            path = self._folder / file.name
            is_there = _matches(path, file)
            if not is_there:
                _sync(handle)
        if not is_there:
            if not path.exists():
                self._added.append(path)
            replace_file(self._folder / TEMPORARY, path)
        return file

    def switch(self, document: bytes, files: list[File], announce: Callable[[], None] | None = None) -> None:
        """Make the document the folder's manifest, and remove our files that it does not list.

        `announce` is called just before, and writes down what the switch will change.
        """
        with self._open_temporary() as handle:
            handle.write(document)
            _sync(handle)
        if announce is None:
            settle_changes(self._folder)
        else:
            announce()
        sync_folder(self._folder)  # the new files' names are on disk before anything points at them
        self._added.clear()  # from here on they may be in use
        replace_file(self._folder / TEMPORARY, self._folder / MANIFEST)
        sync_folder(self._folder)  # the switch is on disk before the old files go
        remove_stale_files(self._folder, files)

    def _open_temporary(self) -> BinaryIO:
        path = self._folder / TEMPORARY
        path.unlink(missing_ok=True)
        return path.open("xb")


def remove_stale_files(folder: Path, files: Iterable[File]) -> None:
    """Remove, under the lock, every file of ours that is none of these: a writer that was killed may have left some."""
    needed = {file.name for file in files}
    for path in folder.iterdir():
        if path.name == TEMPORARY or (FILE_NAME.fullmatch(path.name) and path.name not in needed):
            with suppress(OSError):  # Windows keeps what someone has mapped; the next save will get it
                path.unlink()


def refuse_foreign_folder(folder: Path) -> None:
    """Raise ModelError where the folder holds other things than a model: saving would mix one into them."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise ModelError(f"{folder} is a file: name a folder to save a model in")
    if (folder / MANIFEST).is_file():  # a pipe of that name would block
        document = manifest.read_document(folder / MANIFEST)
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise ModelError(f"{folder / MANIFEST} is not neartag's: choose another folder to save in")
        return
    for path in folder.iterdir():
        if path.name not in (LOCK, LOCK_NEXT, TEMPORARY, CHANGE_LOG) and not FILE_NAME.fullmatch(path.name):
            raise ModelError(f"{folder} holds {path.name!r} and no model: choose a new or an empty folder to save in")


def open_files(folder: Path, stack: ExitStack) -> tuple[Manifest, dict[str, BinaryIO]]:
    """Return the manifest and its files, open and of the right size; the stack closes them.

    A reader takes no lock. A writer may replace the manifest and its files between reading the one and opening the
    others: the reader then starts again. Once open, a file stays readable whatever happens to its name.
    """
    problem: OSError | None = None
    for attempt in range(READ_ATTEMPTS):
        if attempt:
            time.sleep(READ_PAUSE)
        with ExitStack() as opened:
            try:
                listed = manifest.read_manifest(folder)
                handles = {file.name: opened.enter_context(_open(folder, file)) for file in listed.files}
            except (FileNotFoundError, PermissionError) as error:
                problem = error
            except OSError as error:
                raise ModelError(f"the model in {folder} cannot be read, {error}: {REMEDY}") from error
            else:
                stack.push(opened.pop_all())
                return listed, handles
    reason = f"{problem.filename} is missing" if isinstance(problem, FileNotFoundError) else str(problem)
    raise ModelError(f"the model in {folder} cannot be read, {reason}: {REMEDY}")


def read_content(handle: BinaryIO, folder: Path, file: File, verify: bool) -> Any:
    """Return what an open file of the folder holds: arrays, memory-mapped, or the value of its JSON."""
    path = folder / file.name
    try:
        if verify and digest(handle) != file.sha256:
            raise ModelError(f"{path} does not match its checksum: {REMEDY}")
        if file.name.endswith(".safetensors"):
            return tensors.map_arrays(handle, str(path))
        handle.seek(0)
        return decode_json(handle.read(), path)
    except OSError as error:
        raise ModelError(f"cannot read {path}: {error}") from error


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


def _matches(path: Path, file: File) -> bool:
    if not path.is_file() or path.stat().st_size != file.bytes:
        return False
    with path.open("rb") as handle:
        return digest(handle) == file.sha256


def _sync(handle: BinaryIO) -> None:
    handle.flush()
    os.fsync(handle.fileno())

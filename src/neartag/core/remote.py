"""Storage elsewhere, such as s3://bucket/folder, by whatever fsspec knows (extra `fsspec`): its files, and its errors.

Whoever reads or writes there uses these. An error of the storage becomes one line, which names the URL.
"""

from __future__ import annotations

import errno
import os
import re
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

from neartag.core.errors import DataError, NeartagError, ParameterError, WorkError
from neartag.core.extras import install_hint

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")  # one letter is a drive
_UNFINISHED = re.compile(r"\..+\.[0-9a-f]{32}")  # the name of a file that is being written
REMEDY = "check the URL, the network, and that your account may do this there"
GO_ON = "what was done so far is kept there: start again, with the same data, options and work folder, to go on"


def is_url(name: str) -> bool:
    """Say whether a name is that of something in storage elsewhere."""
    return _URL.match(name) is not None


def open_storage(url: str) -> tuple[Any, str]:
    """Return the file system of a URL, and the path in it."""
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise ParameterError(install_hint(f"{url}: storage elsewhere needs fsspec", "fsspec")) from error
    with naming(url):
        try:
            storage, path = url_to_fs(url)
        except (ImportError, ValueError) as error:  # which name the package that a protocol needs
            raise ParameterError(f"{url}: {error}") from error
    return storage, path.rstrip("/")


def locate(name: str) -> tuple[str, tuple[str, ...]]:
    """Return in which kind of storage a path or URL is, and its folders: file:///a/b and /a/b are one."""
    if not is_url(name):
        return "file", Path(name).resolve().parts
    storage, path = open_storage(name)
    kind = storage.protocol if isinstance(storage.protocol, str) else storage.protocol[0]
    return ("file", Path(path).resolve().parts) if kind == "file" else (kind, tuple(path.strip("/").split("/")))


@contextmanager
def naming(
    url: str, kind: type[NeartagError] = DataError, remedy: str = REMEDY, when_full: str | None = None
) -> Iterator[None]:
    """Turn an error of the storage into one of this kind that names the URL, and says what to do.

    What to do where a disk is full is by default what is right for a copy on this computer.
    """
    try:
        yield
    except FileNotFoundError as error:
        raise kind(f"{url}: there is no such file or folder") from error
    except (NeartagError, MemoryError):
        raise
    except Exception as error:  # each storage has its own kinds, of which some derive from Exception alone
        what = (when_full or make_room()) if is_full(error) else remedy
        raise kind(f"{url}: {str(error) or type(error).__name__}: {what}") from error


def is_full(error: BaseException) -> bool:
    """Say whether an error is that a disk has no room left."""
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)


def make_room() -> str:
    """Return what to do where this computer has no room for copies."""
    return f"make room in {tempfile.gettempdir()}, or set TMPDIR to a folder with more"


class RemoteFiles:
    """The files of a work folder in storage elsewhere, by their names in it. Errors are WorkErrors.

    A file is written under another name and then moved to its own, so that one with its name is whole. What a storage
    remembers of its folders is never used: others write there too.
    """

    def __init__(self, url: str) -> None:
        self.url = url

    @cached_property
    def _opened(self) -> tuple[Any, str]:
        return open_storage(self.url)

    @contextmanager
    def _storage(self, name: str = "", when_full: str | None = None) -> Iterator[tuple[Any, str]]:
        """Give the storage and a file's path in it, for something that may fail there."""
        storage, path = self._opened
        shown = f"{self.url}/{name}" if name else self.url
        with naming(shown, WorkError, f"{REMEDY}; {GO_ON}", when_full or f"make room there; {GO_ON}"):
            storage.invalidate_cache()
            yield storage, f"{path}/{name}" if name else path

    def has(self, name: str) -> bool:
        """Say whether there is a file of this name."""
        with self._storage(name) as (storage, path):
            return bool(storage.exists(path))

    def read(self, name: str) -> bytes | None:
        """Return a small file; None where there is none."""
        with self._storage(name) as (storage, path):
            try:
                return bytes(storage.cat_file(path))
            except FileNotFoundError:
                return None

    @contextmanager
    def open(self, name: str) -> Iterator[tuple[BinaryIO, int] | None]:
        """Give a file to read from, and its size; None where there is none."""
        with self._storage(name) as (storage, path):
            try:
                size = int(storage.info(path)["size"])
            except FileNotFoundError:
                yield None
                return
            with storage.open(path, "rb") as file:
                yield file, size

    def fetch(self, name: str, target: Path) -> None:
        """Copy a file to this computer."""
        full = f"{make_room()}; {GO_ON.replace('there', 'in the storage')}"
        with self._storage(name, when_full=full) as (storage, path):
            storage.get_file(path, os.fspath(target))

    def upload(self, source: Path, name: str) -> None:
        """Copy a file of this computer there."""
        with self._written(name) as (storage, beside):
            storage.put_file(os.fspath(source), beside)

    def upload_in_place(self, source: Path, name: str) -> None:
        """Do the same with fewer requests: whoever reads the file meanwhile may find half of it."""
        with self._storage(name) as (storage, path):
            storage.makedirs(path.rpartition("/")[0], exist_ok=True)
            storage.put_file(os.fspath(source), path)

    def write(self, name: str, content: bytes) -> None:
        """Write a small file."""
        with self._written(name) as (storage, beside):
            storage.pipe_file(beside, content)

    @contextmanager
    def _written(self, name: str) -> Iterator[tuple[Any, str]]:
        """Give the storage and a path beside a file's, from which the file is moved to its own in the end."""
        with self._storage(name) as (storage, path):
            folder, _, own = path.rpartition("/")
            storage.makedirs(folder, exist_ok=True)
            beside = f"{folder}/.{own}.{uuid.uuid4().hex}"
            yield storage, beside
            storage.mv(beside, path)

    def names(self) -> list[str]:
        """Return the names of all files, but for those that were being written."""
        return [name for name in self._all() if not _is_unfinished(name)]

    def _all(self) -> list[str]:
        with self._storage() as (storage, path):
            try:
                return sorted(file[len(path) :].lstrip("/") for file in storage.find(path))
            except FileNotFoundError:
                return []

    def remove(self, *names: str) -> None:
        """Remove files, if they are there."""
        for name in names:
            with self._storage(name) as (storage, path):
                if storage.exists(path):
                    storage.rm_file(path)

    def remove_unfinished(self) -> None:
        """Remove what was being written when somebody was killed."""
        self.remove(*(name for name in self._all() if _is_unfinished(name)))

    def remove_all(self, last: str) -> None:
        """Remove the folder: first the files of its folders, then its own, and of these one at last."""
        names = self._all()
        with self._storage() as (storage, path):
            inner = [f"{path}/{name}" for name in names if "/" in name]
            if inner:
                storage.rm(inner)  # at once: storages of objects remove many by one request
        self.remove(*sorted((name for name in names if "/" not in name), key=lambda name: name == last))
        with self._storage() as (storage, path):
            # Of a storage that has folders, the empty ones; but never a whole bucket, which was there before.
            if "/" in path.strip("/") and storage.isdir(path):
                storage.rm(path, recursive=True)


def _is_unfinished(name: str) -> bool:
    return _UNFINISHED.fullmatch(name.rpartition("/")[2]) is not None

"""Files and folders of storage elsewhere, such as s3://bucket/data.jsonl, by whatever fsspec knows (extra `fsspec`).

Nothing is mapped from there: what is read is copied to this computer first, and what was written is copied back.
"""

from __future__ import annotations

import errno
import re
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

from neartag.core.errors import DataError, NeartagError, ParameterError
from neartag.core.extras import install_hint

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")  # one letter is a drive
REMEDY = "check the URL, the network, and that your account may do this there"


def is_url(name: str) -> bool:
    """Say whether a name is that of something in storage elsewhere."""
    return _URL.match(name) is not None


@contextmanager
def local_copy(url: str) -> Iterator[str]:
    """Give the path of a copy of a file or folder, under its own name; it is removed at the end."""
    storage, path = _open(url)
    # On Windows a file that is still mapped cannot be removed.
    with tempfile.TemporaryDirectory(prefix="neartag-copy-", ignore_cleanup_errors=True) as folder:
        copy = Path(folder) / PurePosixPath(path).name
        with _naming(url):
            files = storage.find(path) if storage.isdir(path) else [path]
            for file in files:
                inside = PurePosixPath(file).relative_to(path)  # of a file, itself
                if ".." in inside.parts:
                    raise DataError(f"{url}: it names a file outside of itself, {file}")
                target = copy / inside
                target.parent.mkdir(parents=True, exist_ok=True)
                storage.get_file(file, str(target))
        yield str(copy)


def read_file(url: str, name: str) -> bytes | None:
    """Return a file of a folder elsewhere; None where there is none."""
    storage, path = _open(url)
    with _naming(url):
        return bytes(storage.cat_file(f"{path}/{name}")) if storage.exists(f"{path}/{name}") else None


def is_empty(url: str) -> bool:
    """Say whether there is nothing at a place elsewhere."""
    storage, path = _open(url)
    with _naming(url):
        return not storage.exists(path) or not storage.find(path)


def upload_folder(folder: Path, url: str, last: str, replaced: Collection[str] = ()) -> None:
    """Copy the files of a folder to storage elsewhere, the `last` one at last; then remove those that they replace.

    Who reads that file first sees the folder as it was, or as it is now: the others' names change with their content.
    Nothing but `replaced`, names in that folder, is removed there.
    """
    storage, path = _open(url)
    with _naming(url):
        storage.makedirs(path, exist_ok=True)
        names = sorted(file.name for file in folder.iterdir() if file.is_file() and file.name != last)
        for name in [*names, last]:
            storage.put_file(str(folder / name), f"{path}/{name}")
        for name in sorted({*replaced} - {*names, last}):
            if storage.exists(f"{path}/{name}"):
                storage.rm_file(f"{path}/{name}")


def _open(url: str) -> tuple[Any, str]:
    """Return the file system of a URL, and the path in it."""
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise ParameterError(install_hint(f"{url}: storage elsewhere needs fsspec", "fsspec")) from error
    with _naming(url):
        try:
            storage, path = url_to_fs(url)
        except (ImportError, ValueError) as error:  # which name the package that a protocol needs
            raise ParameterError(f"{url}: {error}") from error
    return storage, path.rstrip("/")


@contextmanager
def _naming(url: str) -> Iterator[None]:
    """Turn an error of the storage into one that names the URL."""
    try:
        yield
    except FileNotFoundError as error:
        raise DataError(f"{url}: there is no such file or folder") from error
    except (NeartagError, MemoryError):
        raise
    except Exception as error:  # each storage has its own kinds, of which some derive from Exception alone
        is_full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
        remedy = f"make room in {tempfile.gettempdir()}, or set TMPDIR to a folder with more" if is_full else REMEDY
        raise DataError(f"{url}: {str(error) or type(error).__name__}: {remedy}") from error

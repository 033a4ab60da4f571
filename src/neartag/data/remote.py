"""Data and models in storage elsewhere, such as s3://bucket/data.jsonl.

Nothing is mapped from there: what is read is copied to this computer first, and what was written is copied back.
"""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from neartag.core.errors import DataError
from neartag.core.remote import naming, open_storage


@contextmanager
def local_copy(url: str) -> Iterator[str]:
    """Give the path of a copy of a file or folder, under its own name; it is removed at the end."""
    storage, path = open_storage(url)
    # On Windows a file that is still mapped cannot be removed.
    with tempfile.TemporaryDirectory(prefix="neartag-copy-", ignore_cleanup_errors=True) as folder:
        copy = Path(folder) / PurePosixPath(path).name
        with naming(url):
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
    storage, path = open_storage(url)
    with naming(url):
        return bytes(storage.cat_file(f"{path}/{name}")) if storage.exists(f"{path}/{name}") else None


def is_empty(url: str) -> bool:
    """Say whether there is nothing at a place elsewhere."""
    storage, path = open_storage(url)
    with naming(url):
        return not storage.exists(path) or not storage.find(path)


def upload_folder(folder: Path, url: str, last: str, replaced: Collection[str] = ()) -> None:
    """Copy the files of a folder to storage elsewhere, the `last` one at last; then remove those that they replace.

    Who reads that file first sees the folder as it was, or as it is now: the others' names change with their content.
    Nothing but `replaced`, names in that folder, is removed there.
    """
    storage, path = open_storage(url)
    with naming(url):
        storage.makedirs(path, exist_ok=True)
        files = [file.name for file in folder.iterdir() if file.is_file() and not file.name.startswith(".")]  # no lock
        names = sorted({*files} - {last})
        for name in [*names, last]:
            storage.put_file(str(folder / name), f"{path}/{name}")
        for name in sorted({*replaced} - {*names, last}):
            if storage.exists(f"{path}/{name}"):
                storage.rm_file(f"{path}/{name}")

"""A work folder in storage elsewhere, such as s3://bucket/run: the same files, and copies of them that are mapped.

The storage has the truth, and is asked what there is. What a process reads it copies first, checks by its digest, and
maps; what it writes it copies there. All processes of a computer share the copies:

    <temporary folder>/neartag-work-<URL's digest>-<run>/parts/<name>.part

Each run, which is whoever starts a training or goes on with it, has copies of its own: none of an earlier training at
the same URL is ever used, nor one that was cut when the power failed. The address that workers get is the URL with the
run. Copies are removed when the run ends, or, where it was killed, when the next one at the URL begins or ends.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
import uuid
import warnings
from contextlib import suppress
from pathlib import Path

from neartag.core.errors import NeartagError, ParameterError, WorkError
from neartag.core.mapped_files import ALLOW_MORE, is_about_open_files
from neartag.core.one_at_a_time import one_at_a_time
from neartag.core.remote import RemoteFiles, is_full, is_url, make_room
from neartag.core.replace_file import replace_file
from neartag.work.folder import ENDING, PARTS, PLAN, WorkFolder, ends_with_digest
from neartag.work.parts import Arrays
from neartag.work.times import TIMES, TaskTime, append_time

_ADDRESS = re.compile(r"(?P<url>.+)#run=(?P<run>[0-9a-f]{32})(?P<inner>(/.+)?)")


def open_folder(address: str | os.PathLike[str]) -> WorkFolder:
    """Return the work folder at a path or URL, or at the address of one that somebody else has opened."""
    address = os.fspath(address)
    if not is_url(address):
        return WorkFolder(address)
    known = _ADDRESS.fullmatch(address)
    return RemoteFolder(address) if known is None else RemoteFolder(**known.groupdict())


class RemoteFolder(WorkFolder):
    """Parts in storage elsewhere; `place` is where their copies are.

    Parameters
    ----------
    url : str
    run : str, optional
        Whose copies to use; a new run has none.
    inner : str, default ""
        A folder in the one at the URL, with a slash before it.
    """

    has_copies = True

    def __init__(self, url: str, run: str | None = None, inner: str = "") -> None:
        if re.search(r"[*?[]", url):
            raise ParameterError(f"{url}: choose a work folder without *, ? and [, which stand for other names there")
        self._url, self._run, self._inner = re.sub(r"(?<![:/])/+$", "", url), run or uuid.uuid4().hex, inner
        user = os.getuid() if hasattr(os, "getuid") else 0  # who could not remove the copies of another
        self._prefix = f"neartag-work-{hashlib.sha256(f'{user} {self._url}'.encode()).hexdigest()[:16]}-"
        self._copies = Path(tempfile.gettempdir()) / f"{self._prefix}{self._run}"
        super().__init__(self._copies / inner.lstrip("/"))
        self._files = RemoteFiles(self._url + inner)

    def __str__(self) -> str:
        """Return the URL."""
        return self._files.url

    @property
    def address(self) -> str:
        """What tells a worker where the folder is, and whose copies to use."""
        return f"{self._url}#run={self._run}{self._inner}"

    @property
    def scratch(self) -> Path:
        """The folder of the copies."""
        self._make_place(self.place)
        return self.place

    def inside(self, name: str) -> RemoteFolder:
        """Return a folder in this one for the parts of another plan that belongs to this one's."""
        return RemoteFolder(self._url, self._run, f"{self._inner}/{name}")

    @property
    def removed(self) -> RemoteFolder:
        """The folder itself: elsewhere it keeps its name while it is removed, and its plan is removed last."""
        return self

    def _is_empty(self) -> bool:
        return not self._files.names()

    def _remove_unfinished(self) -> None:
        self._files.remove_unfinished()

    def write_note(self, name: str, text: str) -> None:
        """Write a small text under a name."""
        self._files.write(name, text.encode())

    def read_note(self, name: str) -> str | None:
        """Return such a text; None where there is none."""
        content = self._files.read(name)
        return None if content is None else content.decode("utf-8", "replace")

    def remove_note(self, name: str) -> None:
        """Remove such a text, if it is there."""
        self._files.remove(name)

    def open(self, plan: dict[str, object]) -> bool:
        """Make the folder, or go on with it, as the base does; and remove copies of runs that were killed."""
        is_begun = super().open(plan)
        self._remove_copies(but=self._copies)
        return is_begun

    def get(self, name: str) -> Arrays:
        """Return a part, mapped; it is copied first, unless somebody on this computer has done so."""
        path = self.path(name)
        if not path.exists():
            self._make_place(path.parent)
            try:
                with one_at_a_time(path.with_name(f".{path.name}.lock")):
                    if not path.exists():
                        self._fetch(name, path)
            except OSError as error:
                raise self._disk_error(error) from error
        return super().get(name)

    def _fetch(self, name: str, path: Path) -> None:
        beside = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
        try:
            self._files.fetch(_file(name), beside)
            with open(beside, "rb") as file:
                if not ends_with_digest(file, os.fstat(file.fileno()).st_size):
                    raise WorkError(
                        f"{self}/{_file(name)} was damaged after it was written, or on its way: start again with the "
                        "same data, options and work folder, and it is computed anew"
                    )
            replace_file(beside, path)
        finally:
            with suppress(OSError):
                beside.unlink(missing_ok=True)

    def put(self, name: str, arrays: Arrays) -> None:
        """Write a part."""
        self._make_place(self.place)
        super().put(name, arrays)
        self._files.upload(self.path(name), _file(name))

    def has(self, name: str) -> bool:
        """Say whether a part is there."""
        return self._files.has(_file(name))

    def is_whole(self, name: str) -> bool:
        """Say whether a part is there and its digest is right; one that is not is removed.

        All of it is read from the storage, copy or not: others will read it from there.
        """
        with self._files.open(_file(name)) as opened:
            if opened is None:
                return False
            whole = ends_with_digest(*opened)
        if not whole:
            self._files.remove(_file(name))
            self.discard(name)
        return whole

    def discard(self, name: str) -> None:
        """Remove this computer's copy of a part; the part is the checkpoint."""
        with suppress(OSError):  # Windows, where it is still mapped
            self.path(name).unlink(missing_ok=True)

    def record(self, took: TaskTime) -> None:
        """Write down what a task took; nobody needs that to go on, so it may fail."""
        name = f"{TIMES}/{took.process}.jsonl"
        with suppress(OSError, NeartagError):
            own = self.place / name
            if not own.exists() and self._files.has(name):  # of another run, by a process of the same number
                own.parent.mkdir(exist_ok=True)
                self._files.fetch(name, own)
            append_time(self.place, took)
            self._files.upload_in_place(own, name)

    def forget_copies(self) -> None:
        """Remove all copies that this computer has of the folder's parts."""
        self._remove_copies()

    def remove(self) -> None:
        """Remove the folder with all that is in it, and the copies."""
        self.forget_copies()
        try:
            self._files.remove_all(last=PLAN)
        except NeartagError as error:
            warnings.warn(f"{self} could not be removed: remove it yourself later ({error})", UserWarning, stacklevel=2)

    def _remove_copies(self, but: Path | None = None) -> None:
        for copies in Path(tempfile.gettempdir()).glob(f"{self._prefix}*"):
            if copies != but:
                shutil.rmtree(copies, ignore_errors=True)

    def _make_place(self, place: Path) -> None:
        try:
            self._copies.mkdir(mode=0o700, parents=True, exist_ok=True)
            place.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise self._disk_error(error) from error

    def _disk_error(self, error: OSError) -> WorkError:
        if is_full(error):
            return WorkError(
                f"no room is left on this computer for copies of parts of {self}: {make_room()}. What was done so far "
                "is kept in the storage: start again with the same data, options and work folder to go on"
            )
        what = ALLOW_MORE if is_about_open_files(error) else "can you write there?"
        return WorkError(f"copies of parts of {self} cannot be kept in {self._copies} ({error.strerror}): {what}")


def _file(name: str) -> str:
    return f"{PARTS}/{name}{ENDING}"

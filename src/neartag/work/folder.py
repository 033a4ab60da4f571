"""The work folder: parts as files that are mapped, each written at once and ending with its own digest.

    plan.json               what is computed of which data: who goes on with the folder must want the same
    parts/<name>.part       a safetensors file, then the SHA-256 of all of it
    times/<process>.jsonl   what each task took
    saving                  digest of the model that is being saved, once everything is done (engines.py)

A part is written beside its place and then renamed, so that a file with its name is whole, unless the disk was not.
Nothing waits for the disk: where the power fails in the wrong moment a part may be cut, which its digest tells.
"""

from __future__ import annotations

import gc
import hashlib
import json
import os
import shutil
import time
import uuid
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from neartag.core.errors import ModelError, ParameterError, WorkError
from neartag.core.mapped_files import ALLOW_MORE, is_about_open_files
from neartag.core.remote import is_full
from neartag.core.replace_file import replace_file
from neartag.linalg import tensors
from neartag.work.parts import Arrays
from neartag.work.plan_differences import find_differences
from neartag.work.times import TaskTime, append_time

PLAN, PARTS, ENDING = "plan.json", "parts", ".part"
DIGEST_BYTES = hashlib.sha256().digest_size
READ_BYTES = 2**20  # at once, where a digest is checked
ATTEMPTS, PAUSE = 10, 0.1  # to remove the folder while a file is still mapped; the pause is in seconds


class WorkFolder:
    """Parts in the files of a folder."""

    has_copies = False  # of its parts, on the computers that use them

    def __init__(self, place: str | os.PathLike[str]) -> None:
        self.place = Path(place)

    def __str__(self) -> str:
        """Return the name by which people know the folder."""
        return str(self.place)

    @property
    def address(self) -> str:
        """What tells a worker where the folder is: `open_folder` opens it."""
        return os.path.abspath(self.place)

    @property
    def scratch(self) -> Path:
        """The folder for arrays that are too large for memory, on their way into a part."""
        return self.place

    def open(self, plan: dict[str, Any]) -> bool:
        """Make the folder, or go on with it; return whether anything of this plan is there already.

        Raises ParameterError, which names the difference, where the folder holds the work of another plan.
        """
        there = self._read_plan()
        if there is not None:
            differences = find_differences(there, json.loads(json.dumps(plan)))
            if differences:
                raise ParameterError(
                    f"{self} holds work of another training: {'; '.join(differences)}. Train with the same data and "
                    "options to go on with it, or choose another work folder, or remove it"
                )
            self._remove_unfinished()
            return True
        if not self._is_empty():
            raise ParameterError(f"{self} holds other things than work: choose another folder")
        self.write_note(PLAN, json.dumps(plan, indent=1, sort_keys=True))
        return False

    def _read_plan(self) -> dict[str, Any] | None:
        try:
            text = self.read_note(PLAN)
            return None if text is None else dict(json.loads(text))
        except (OSError, ValueError, TypeError) as error:
            raise ModelError(f"{PLAN} of {self} cannot be read ({error}): remove {self}") from error

    def holds(self, plan: dict[str, Any]) -> bool:
        """Say whether the folder was made for this plan."""
        try:
            there = self._read_plan()
        except ModelError:
            return False
        return there is not None and not find_differences(there, json.loads(json.dumps(plan)))

    def _is_empty(self) -> bool:
        return not self.place.exists() or (self.place.is_dir() and not any(self.place.iterdir()))

    def _remove_unfinished(self) -> None:
        """Remove what was being written when somebody was killed."""
        for unfinished in self.place.rglob(".*.part.*"):
            unfinished.unlink(missing_ok=True)

    def write_note(self, name: str, text: str) -> None:
        """Write a small text under a name: the plan, or which model is being saved."""
        try:
            self.place.mkdir(parents=True, exist_ok=True)
            self._write(self.place / name, [text.encode()])
        except OSError as error:
            raise self._disk_error(error) from error

    def read_note(self, name: str) -> str | None:
        """Return such a text; None where there is none."""
        try:
            return (self.place / name).read_text(encoding="utf-8", errors="replace")
        except (FileNotFoundError, NotADirectoryError):
            return None

    def remove_note(self, name: str) -> None:
        """Remove such a text, if it is there."""
        (self.place / name).unlink(missing_ok=True)

    @property
    def removed(self) -> WorkFolder:
        """What is left of the folder while it is removed, or after who removed it was killed."""
        place = self.place.resolve()  # not a link to it
        return WorkFolder(place.with_name(f".{place.name}.removed"))

    def path(self, name: str) -> Path:
        """Return the file of a part."""
        return self.place / PARTS / f"{name}{ENDING}"

    def get(self, name: str) -> Arrays:
        """Return a part, mapped."""
        path = self.path(name)
        try:
            with open(path, "rb") as handle:
                return tensors.map_arrays(handle, str(path), after=DIGEST_BYTES)
        except OSError as error:
            remedy = ALLOW_MORE if is_about_open_files(error) else "do all workers see this folder?"
            raise WorkError(f"{path} cannot be read ({error.strerror}): {remedy}") from error

    def put(self, name: str, arrays: Arrays) -> None:
        """Write a part."""
        path = self.path(name)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._write(path, tensors.pack(arrays, name), with_digest=True)
        except OSError as error:
            raise self._disk_error(error) from error

    def _write(self, path: Path, pieces: Any, *, with_digest: bool = False) -> None:
        beside = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
        digest = hashlib.sha256()
        try:
            with open(beside, "wb") as file:
                for piece in pieces:
                    digest.update(piece)
                    file.write(piece)
                if with_digest:
                    file.write(digest.digest())
            replace_file(beside, path)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise

    def has(self, name: str) -> bool:
        """Say whether a part is there."""
        return self.path(name).exists()

    def is_whole(self, name: str) -> bool:
        """Say whether a part is there and its digest is right; one that is not is removed."""
        path = self.path(name)
        try:
            with open(path, "rb") as file:
                whole = ends_with_digest(file, os.fstat(file.fileno()).st_size)
        except FileNotFoundError:
            return False
        if not whole:
            path.unlink(missing_ok=True)
        return whole

    def discard(self, name: str) -> None:
        """Keep the part: it is the checkpoint."""

    def record(self, took: TaskTime) -> None:
        """Write down what a task took."""
        append_time(self.place, took)

    def inside(self, name: str) -> WorkFolder:
        """Return a folder in this one for the parts of another plan that belongs to this one's."""
        return WorkFolder(self.place / name)

    def forget_copies(self) -> None:
        """Do nothing: parts are mapped where they are."""

    def remove(self) -> None:
        """Remove the folder with all that is in it: from its name at once, since half a folder is of no use.

        What takes long goes first. Files that tell what the folder was for stay until then.
        """
        place, gone = self.place.resolve(), self.removed.place
        if place.exists():
            shutil.rmtree(gone, ignore_errors=True)  # of an attempt that was killed here
            if not _rename(place, gone):
                gone = place
        for inner in gone.glob("*/"):
            shutil.rmtree(inner, ignore_errors=True)
        shutil.rmtree(gone, ignore_errors=True)
        if gone.exists():
            message = f"{gone} could not be removed, for files in it are still in use: remove it yourself later"
            warnings.warn(message, UserWarning, stacklevel=2)

    def _disk_error(self, error: OSError) -> WorkError:
        if is_full(error):
            return WorkError(
                f"no room is left on the disk of {self}: what was done so far is kept there; make room, and start "
                "again with the same data, options and work folder to go on"
            )
        return WorkError(f"{self} cannot be written: {error.strerror or error}")


def _rename(place: Path, name: Path) -> bool:
    """Rename a folder; return whether it could be. On Windows it cannot while a file in it is mapped."""
    for attempt in range(ATTEMPTS):
        with suppress(OSError):
            os.replace(place, name)
            return True
        if not attempt:
            gc.collect()  # arrays in circles of objects
        time.sleep(PAUSE)
    return False


def ends_with_digest(file: BinaryIO, nbytes: int) -> bool:
    """Say whether a file of so many bytes ends with the digest of what is before it."""
    left, digest = nbytes - DIGEST_BYTES, hashlib.sha256()
    while left > 0:
        block = file.read(min(left, READ_BYTES))
        digest.update(block)
        left -= len(block) or left
    return left == 0 and file.read() == digest.digest()

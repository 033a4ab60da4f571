"""The work folder: parts as files that are mapped, each written at once and ending with its own digest.

    plan.json               what is computed of which data: who goes on with the folder must want the same
    parts/<name>.part       a safetensors file, then the SHA-256 of all of it
    times/<process>.jsonl   what each task took
    saving                  digest of the model that is being saved, once everything is done (engines.py)

A part is written beside its place and then renamed, so that a file with its name is whole, unless the disk was not.
Nothing waits for the disk: where the power fails in the wrong moment a part may be cut, which its digest tells.
"""

from __future__ import annotations

import errno
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
from typing import Any

from neartag.core.errors import ModelError, ParameterError, WorkError
from neartag.core.mapped_files import ALLOW_MORE, is_about_open_files
from neartag.core.replace_file import replace_file
from neartag.linalg import tensors
from neartag.work.parts import Arrays
from neartag.work.times import TaskTime, append_time

PLAN, PARTS, ENDING = "plan.json", "parts", ".part"
DIGEST_BYTES = hashlib.sha256().digest_size
READ_BYTES = 2**20  # at once, where a digest is checked
ATTEMPTS, PAUSE = 10, 0.1  # to remove the folder while a file is still mapped; the pause is in seconds


class WorkFolder:
    """Parts in the files of a folder."""

    def __init__(self, place: str | os.PathLike[str]) -> None:
        self.place = Path(place)

    @property
    def scratch(self) -> Path:
        """The folder for arrays that are too large for memory, on their way into a part."""
        return self.place

    def open(self, plan: dict[str, Any]) -> bool:
        """Make the folder, or go on with it; return whether anything of this plan is there already.

        Raises ParameterError, which names the difference, where the folder holds the work of another plan.
        """
        file = self.place / PLAN
        if file.exists():
            self._compare(plan)
            for unfinished in self.place.rglob(".*.part.*"):
                unfinished.unlink(missing_ok=True)
            return True
        if self.place.exists() and any(self.place.iterdir()):
            raise ParameterError(f"{self.place} holds other things than work: choose another folder")
        try:
            (self.place / PARTS).mkdir(parents=True, exist_ok=True)
            self._write(file, [json.dumps(plan, indent=1, sort_keys=True).encode()])
        except OSError as error:
            raise _disk_error(self.place, error) from error
        return False

    def _compare(self, plan: dict[str, Any]) -> None:
        try:
            there = json.loads((self.place / PLAN).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise ModelError(f"{self.place / PLAN} cannot be read ({error}): remove {self.place}") from error
        wanted = json.loads(json.dumps(plan))
        differences = _differences(there, wanted)
        if differences:
            raise ParameterError(
                f"{self.place} holds work of another training: {'; '.join(differences)}. "
                "Train with the same data and options to go on with it, or choose another work folder, or remove it"
            )

    def holds(self, plan: dict[str, Any]) -> bool:
        """Say whether the folder was made for this plan."""
        try:
            return not _differences(json.loads((self.place / PLAN).read_text("utf-8")), json.loads(json.dumps(plan)))
        except (OSError, ValueError):
            return False

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
            raise _disk_error(self.place, error) from error

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
                left, digest = os.fstat(file.fileno()).st_size - DIGEST_BYTES, hashlib.sha256()
                while left > 0:
                    block = file.read(min(left, READ_BYTES))
                    digest.update(block)
                    left -= len(block) or left
                whole = left == 0 and file.read() == digest.digest()
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


def _differences(there: Any, wanted: Any, name: str = "") -> list[str]:
    """Return in words where two plans differ."""
    if isinstance(there, dict) and isinstance(wanted, dict):
        lists = [
            _differences(there.get(key), wanted.get(key), key) for key in sorted(there.keys() | wanted.keys(), key=str)
        ]
        return [difference for each in lists for difference in each]
    return [] if there == wanted else [f"{name} was {_shorten(there)} there, and is {_shorten(wanted)} now"]


def _shorten(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else text[:12] + '…"'


def _disk_error(place: Path, error: OSError) -> WorkError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return WorkError(
            f"no room is left on the disk of {place}: what was done so far is kept there; make room, and start again "
            "with the same data, options and work folder to go on"
        )
    return WorkError(f"{place} cannot be written: {error.strerror or error}")

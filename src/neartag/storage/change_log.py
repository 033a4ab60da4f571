"""changes.jsonl: each change of a model folder after training, by whom and of which documents; never a text.

It is the audit log, and it tells whether a change was made. Lines are only ever appended, under the folder's lock:

- a line for each change of a write, which is on disk before model.json is switched; "becomes" is the digest that
  model.json then has;
- {"made": digest} once the switch is on disk, or {"not_made": digest} where it failed.

A writer that was killed in between leaves the last line out. Whoever next holds the lock writes it: the digest of
model.json tells whether the switch took place.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timezone
from functools import reduce, wraps
from operator import or_
from pathlib import Path
from typing import Any, BinaryIO

from neartag.core.errors import ModelError, NeartagError
from neartag.storage.location import CHANGE_LOG, MANIFEST, sync_folder
from neartag.storage.manifest import read_manifest

MAX_REMEMBERED = 100_000  # changes that are found by their ids: the newest
MAX_READ_BYTES = 32 * 2**20  # of the log's end, when it is opened
_CHANGE = re.compile(rb'\{"request":"([^"\\]{1,200})","who":"([^"\\]{1,200})",')
_DECISION = re.compile(rb'\{"(made|not_made)":"')


@dataclass(frozen=True)
class Change:
    """A change as the log has it."""

    request: str  # the id that its client gave, or that was made for it
    who: str  # the name of a token, or who ran the command
    what: str  # "add", "forget" or "labels"
    documents: Sequence[str] = ()  # their ids
    details: dict[str, Any] = field(default_factory=dict)  # such as labels that were new
    fingerprint: str = ""  # of what was asked: the same id with another is another change


@dataclass(frozen=True)
class LoggedChange:
    """A change that was found in the log."""

    made: bool | None  # None: begun, and neither made nor given up
    line: dict[str, Any]


def report_unusable(method: Callable[..., Any]) -> Callable[..., Any]:
    """Raise ModelError in place of OSError."""

    @wraps(method)
    def reporting(log: ChangeLog, *given: Any, **more: Any) -> Any:
        try:
            return method(log, *given, **more)
        except OSError as error:
            raise ModelError(f"the log of changes cannot be used, {error}: mend that and try again") from error

    return reporting


class ChangeLog:
    """The log of one folder: any thread may read it, the holder of the folder's lock writes."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._path = folder, folder / CHANGE_LOG
        self._lock = threading.Lock()  # of the index
        self._forget_all()

    def begin(self, changes: Iterable[Change], digest: str) -> None:
        """Write down changes that are about to be made, before model.json gets this digest; OSError where it fails."""
        now = _now()
        lines = [
            {
                "request": each.request,
                "who": each.who,
                "time": now,
                "what": each.what,
                "documents": list(each.documents),
                **each.details,
                "fingerprint": each.fingerprint,
                "becomes": digest,
            }
            for each in changes
        ]
        if lines:
            self._append(lines, sync=True)

    @report_unusable
    def settle(self, *, made: bool | None = None) -> bool | None:
        """Write down whether the last changes were made, where that is open, and return it; for the lock's holder.

        A writer that has just made them says so. It need not wait for the disk: what is lost is found out again.
        """
        with self._lock:  # held for short moments only: whoever asks after a change does not wait for the disk
            self._read_on()
            if not self._open:
                return None
            digest = self._find_line(next(iter(self._open.values()))).get("becomes", "")
        told = made is not None
        if made is None:
            made = read_manifest(self._folder).digest == digest
            sync_folder(self._folder)  # the switch may only be on its way to the disk
        self._append([{"made" if made else "not_made": digest, "time": _now()}], sync=not told)
        return made

    @report_unusable
    def find(self, who: str, request: str) -> LoggedChange | None:
        """Return the change with this id of this client, as far as it is remembered."""
        key = _key(who.encode(), request.encode())
        with self._lock:
            self._read_on()
            place = self._open.get(key, self._known.get(key))
            if place is None:
                return None
            line = self._find_line(max(place, ~place))
            made = None if key in self._open else place >= 0
            return LoggedChange(made, line) if _is_change(line) else None

    def _append(self, lines: Sequence[dict[str, Any]], *, sync: bool) -> None:
        content = b"".join(json.dumps(line, separators=(",", ":")).encode("ascii") + b"\n" for line in lines)
        with _open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT) as handle:
            size = _drop_half_line(handle)
            try:
                if handle.write(content) != len(content):
                    raise OSError(f"{self._path} cannot be written: the disk may be full")
                if sync:
                    os.fsync(handle.fileno())
            except OSError:
                with suppress(OSError):
                    handle.truncate(size)
                raise

    def sync(self) -> None:
        """Wait until all lines are on disk."""
        with suppress(FileNotFoundError), _open(self._path, os.O_RDWR) as handle:
            os.fsync(handle.fileno())

    def _forget_all(self) -> None:
        self._file: tuple[int, int] = (0, 0)
        self._read_to = 0
        self._known: dict[bytes, int] = {}  # where the line of a change begins; ~ of that where it was not made
        self._open: dict[bytes, int] = {}  # those of the last write, until it is known whether they were made

    def _read_on(self) -> None:
        """Take in what was written since; whoever replaced the file made it another log."""
        try:
            handle = _open(self._path, os.O_RDONLY)
        except FileNotFoundError:
            self._forget_all()
            return
        with handle:
            status = os.fstat(handle.fileno())
            file = status.st_dev, status.st_ino
            if file != self._file or status.st_size < self._read_to:
                self._forget_all()
                self._file = file
                if status.st_size > MAX_READ_BYTES:
                    handle.seek(status.st_size - MAX_READ_BYTES)
                    handle.readline()
                    self._read_to = handle.tell()
            if status.st_size > self._read_to:
                handle.seek(self._read_to)
                for line in handle:
                    if not line.endswith(b"\n"):
                        break  # somebody is writing it, or was killed then
                    self._take_in(line, self._read_to)
                    self._read_to += len(line)

    def _take_in(self, line: bytes, place: int) -> None:
        change = _CHANGE.match(line)
        if change:
            self._open[_key(change[2], change[1])] = place
            return
        decision = _DECISION.match(line)
        if not decision:
            return
        for key, begun in self._open.items():
            self._known.pop(key, None)  # the newest is kept for the longest time
            self._known[key] = begun if decision[1] == b"made" else ~begun
        self._open.clear()
        while len(self._known) > MAX_REMEMBERED:
            del self._known[next(iter(self._known))]

    def _find_line(self, place: int) -> dict[str, Any]:
        """Return a line as it was written; nothing of one that was damaged."""
        with _open(self._path, os.O_RDONLY) as handle:
            handle.seek(place)
            try:
                line = json.loads(handle.readline())
            except (ValueError, RecursionError):
                return {}
            return line if isinstance(line, dict) else {}


def settle_changes(folder: Path) -> None:
    """Write down what is open in the log of a folder, if it has one, before a new model hides whether it was made."""
    if (folder / CHANGE_LOG).exists() and (folder / MANIFEST).is_file():
        log = ChangeLog(folder)
        with suppress(NeartagError):  # of a model that cannot be read nothing can be told
            log.settle()
        log.sync()


def _key(who: bytes, request: bytes) -> bytes:
    return hashlib.blake2b(who + b"\n" + request, digest_size=16).digest()


def _is_change(line: dict[str, Any]) -> bool:
    """Return whether a line has all that a change's has: it may have been damaged, or written by anybody."""
    if line.get("what") == "add":
        lists = [line.get(name) for name in ("documents", "new_labels")]
        names = all(isinstance(each, list) and all(isinstance(name, str) for name in each) for each in lists)
        return names and type(line.get("replaced")) is int and isinstance(line.get("time"), str)
    numbers = line.get("what") == "labels" or (line.get("what") == "forget" and type(line.get("forgotten")) is int)
    return numbers and isinstance(line.get("time"), str)


def _open(path: Path, flags: int) -> BinaryIO:
    """Open the log as it is: no link that would lead elsewhere, and nothing that would block."""
    more = (getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"))
    descriptor = os.open(path, flags | reduce(or_, more), 0o666)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(f"{path} is not a plain file: move it away")
    buffering = 0 if flags & os.O_APPEND else -1
    return os.fdopen(descriptor, "rb" if flags == os.O_RDONLY else "r+b", buffering)


def _drop_half_line(handle: BinaryIO) -> int:
    """Cut off a line that a killed writer did not finish, and return the file's size."""
    end = size = os.fstat(handle.fileno()).st_size
    while end > 0:
        start = max(0, end - 2**16)
        handle.seek(start)
        found = handle.read(end - start).rfind(b"\n")
        if found >= 0:
            end = start + found + 1
            break
        end = start
    if end < size:
        handle.truncate(end)
    return end


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")

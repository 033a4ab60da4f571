"""Progress of long work: silent, as lines, or as a bar. Work that ends within a second shows nothing."""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
from typing import Any, TextIO

from neartag.core.errors import ParameterError

BAR_DELAY, LINES_DELAY = 1.0, 1.0  # seconds of work before a bar or the first line
LINES_INTERVAL = 5.0  # seconds between lines


class Progress:
    """The interface, and by itself the silent kind, which the library uses by default."""

    def start(self, total: int | None, description: str) -> Progress:
        """Begin work of `total` steps, None if unknown. Returns self: as a context manager it ends the work."""
        return self

    def advance(self, steps: int = 1, note: str = "") -> None:
        """Add finished steps; any thread may call this. The note stands beside them until the next note."""

    def finish(self) -> None:
        """End the work, whether all steps are done or not. It may be called twice, and `start` may follow."""

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *error: object) -> None:
        self.finish()


class _Shown(Progress):
    """Progress that counts, and appears `delay` seconds after the start, even during a long first step."""

    def __init__(self, delay: float, target: Any) -> None:
        self._delay, self._target, self._lock = delay, target, threading.RLock()
        self._timer: threading.Timer | None = None  # None between finish and start
        self._visible, self._done, self._note = False, 0, ""

    def start(self, total: int | None, description: str) -> Progress:
        self.finish()
        with self._lock:
            self._total, self._description, self._begun = total, description, time.monotonic()
            self._done, self._note = 0, ""
            self._timer = threading.Timer(self._delay, self._appear)
            self._timer.daemon = True  # work that was abandoned must not keep the program running
            # Python aborts where it ends while such a thread writes: wait for that line at least.
            atexit.register(self._abandon)
            self._timer.start()
        return self

    def _appear(self) -> None:
        with self._lock:
            if self._timer is threading.current_thread():  # else it fired just as its work ended
                self._draw("begin")
                self._visible = True

    def advance(self, steps: int = 1, note: str = "") -> None:
        with self._lock:
            self._done, self._note = self._done + steps, note or self._note
            if self._visible:
                self._draw("step")

    def finish(self) -> None:
        self._end("end")
        atexit.unregister(self._abandon)

    def _abandon(self) -> None:
        self._end("abandoned")

    def _end(self, moment: str) -> None:
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            if self._visible:
                self._draw(moment)
            self._timer, self._visible = None, False

    # At the moment "begin", "step", "end" or, where the program ends first, "abandoned". The caller holds the lock.
    def _draw(self, moment: str) -> None: ...


class Lines(_Shown):
    """Plain lines on a stream (stderr), for logs: the first after `delay` seconds, then one per `interval` at most."""

    def __init__(self, stream: TextIO | None = None, *, delay: float = LINES_DELAY, interval: float = LINES_INTERVAL):
        super().__init__(delay, stream)
        self._interval, self._next, self._last = interval, 0.0, ""

    def _draw(self, moment: str) -> None:
        now = time.monotonic()
        if moment in ("begin", "end") or (moment == "step" and now >= self._next):
            self._next = now + self._interval
            # Work of unknown length may count no steps; it then says only how long it has taken.
            done = "" if self._total is None and not self._done else f" {self._done}"
            done += f"/{self._total}" if self._total is not None else ""
            words = [f"{self._description}:{done} after {now - self._begun:.0f} s", self._note]
            line = ", ".join(filter(None, words))
            if line != self._last:  # at the end there is often nothing new to say
                print(line, file=self._target or sys.stderr, flush=True)
            self._last = line


class Bar(_Shown):
    """A bar on the terminal with the time left. It appears after `delay` seconds and goes when the work ends."""

    def __init__(self, console: Any = None, *, delay: float = BAR_DELAY) -> None:
        super().__init__(delay, console)

    def _draw(self, moment: str) -> None:
        if moment == "begin":
            from rich import console, progress  # imported here, because most work shows no bar

            columns = *progress.Progress.get_default_columns(), progress.TextColumn("{task.fields[note]}", markup=False)
            target = self._target or console.Console(stderr=True)
            self._bar = progress.Progress(*columns, console=target, transient=True)
            self._task = self._bar.add_task(self._description, total=self._total, completed=self._done, note=self._note)
            self._bar.start()
        self._bar.update(self._task, completed=self._done, note=self._note)
        if moment in ("end", "abandoned"):
            self._bar.stop()


def choose(kind: str = "auto") -> Progress:
    """Return progress of a kind: "bar", "lines" or "silent"; "auto" is a bar on a terminal and lines elsewhere."""
    terminal = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    kinds = {"silent": Progress, "lines": Lines, "bar": Bar, "auto": Bar if terminal else Lines}
    if kind not in kinds:
        raise ParameterError(f"progress must be one of {', '.join(kinds)}: {kind!r}")
    return kinds[kind]()

"""Progress of long work: silent, a line now and then, or a bar; nothing is shown of work that ends within a moment."""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import Any, TextIO

from neartag.core.errors import ParameterError

BAR_DELAY, LINES_DELAY, LINES_INTERVAL = 1.0, 1.0, 5.0  # seconds: of work before a bar or a line, and between lines


class Progress:
    """The interface, and the silent kind: what the library uses unless told otherwise."""

    def start(self, total: int | None, description: str) -> Progress:
        """Begin work of `total` steps (None where unknown) and return self, which ends the work as context manager."""
        return self

    def advance(self, steps: int = 1, note: str = "") -> None:
        """Count steps done; may be called from any thread. The note stands beside them until the next one."""

    def finish(self) -> None:
        """End the work, done or not. Ending twice is no error, and `start` may follow."""

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *error: object) -> None:
        self.finish()


class _Shown(Progress):
    """Counts, and draws itself `delay` seconds after the start, even while a first long step has not ended."""

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
            self._timer.daemon = True  # work that is abandoned must not hold the program
            self._timer.start()
        return self

    def _appear(self) -> None:
        with self._lock:
            if self._timer is threading.current_thread():  # else it fired in the moment in which its work ended
                self._draw("begin")
                self._visible = True

    def advance(self, steps: int = 1, note: str = "") -> None:
        with self._lock:
            self._done, self._note = self._done + steps, note or self._note
            if self._visible:
                self._draw("step")

    def finish(self) -> None:
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            if self._visible:
                self._draw("end")
            self._timer, self._visible = None, False

    def _draw(self, moment: str) -> None: ...  # at its "begin", "step" or "end", with the lock held


class Lines(_Shown):
    """Plain lines on a stream (stderr), for logs: one after `delay` seconds, then at most one every `interval`."""

    def __init__(self, stream: TextIO | None = None, *, delay: float = LINES_DELAY, interval: float = LINES_INTERVAL):
        super().__init__(delay, stream)
        self._interval, self._next, self._last = interval, 0.0, ""

    def _draw(self, moment: str) -> None:
        now = time.monotonic()
        if moment != "step" or now >= self._next:
            self._next = now + self._interval
            # Work of unknown length counts nothing, and then says only how long it has taken.
            done = "" if self._total is None and not self._done else f" {self._done}"
            done += f"/{self._total}" if self._total is not None else ""
            words = [f"{self._description}:{done} after {now - self._begun:.0f} s", self._note]
            line = ", ".join(filter(None, words))
            if line != self._last:  # the end often comes with nothing new to tell
                print(line, file=self._target or sys.stderr, flush=True)
            self._last = line


class Bar(_Shown):
    """A bar on the terminal with the time left, shown after `delay` seconds and gone when the work ends."""

    def __init__(self, console: Any = None, *, delay: float = BAR_DELAY) -> None:
        super().__init__(delay, console)

    def _draw(self, moment: str) -> None:
        if moment == "begin":
            from rich import console, progress  # here, since most uses show no bar

            columns = *progress.Progress.get_default_columns(), progress.TextColumn("{task.fields[note]}", markup=False)
            target = self._target or console.Console(stderr=True)
            self._bar = progress.Progress(*columns, console=target, transient=True)
            self._task = self._bar.add_task(self._description, total=self._total, completed=self._done, note=self._note)
            self._bar.start()
        self._bar.update(self._task, completed=self._done, note=self._note)
        if moment == "end":
            self._bar.stop()


def choose(kind: str = "auto") -> Progress:
    """Return the progress of that kind: "bar", "lines", "silent"; "auto" is a bar on a terminal and lines elsewhere."""
    terminal = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    kinds = {"silent": Progress, "lines": Lines, "bar": Bar, "auto": Bar if terminal else Lines}
    if kind not in kinds:
        raise ParameterError(f"progress must be one of {', '.join(kinds)}: {kind!r}")
    return kinds[kind]()

"""Signals that end the program: an orderly end on SIGTERM, and work that no signal may cut."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

TERMINATED = 143  # exit status: 128 + SIGTERM, as in shells


class Terminated(SystemExit):
    """The process was asked to end by SIGTERM."""


def end_orderly_when_terminated() -> None:
    """Let SIGTERM raise `Terminated` from now on, so that files which are not finished are removed.

    The system's own way is to end the process at once. Where somebody else handles the signal, or ignores it, it stays.
    """
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _terminate)


def _terminate(number: int, frame: FrameType | None) -> None:
    signal.signal(number, signal.SIG_IGN)  # a second one must not cut the cleaning up
    raise Terminated(TERMINATED)


@contextmanager
def delayed_interrupt() -> Iterator[None]:
    """Let an interrupt (Ctrl-C) or SIGTERM that comes inside the block act when the block ends.

    LLVM's lock, for one, stays locked for ever if the exception comes at the wrong moment, and every other thread that
    compiles waits for it; an exception inside LLVM's callbacks ends the process. Python interrupts the main thread
    only, so in others the block does nothing. Signals that are ignored, or that the system handles, stay so.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard: list[tuple[int, FrameType | None]] = []
    handlers: dict[int, Callable[[int, FrameType | None], Any]] = {}
    for ending in (signal.SIGINT, signal.SIGTERM):
        current = signal.getsignal(ending)
        if callable(current):
            handlers[ending] = current
            signal.signal(ending, lambda *told: heard.append(told))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        if heard:
            handlers[heard[0][0]](*heard[0])

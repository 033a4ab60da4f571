"""Work that an interrupt must not cut: it waits until the work is done."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def delayed_interrupt() -> Iterator[None]:
    """Let an interrupt (Ctrl-C) that comes inside the block act when the block ends.

    LLVM's lock, for one, stays locked for ever if the exception comes at the wrong moment, and every other thread that
    compiles waits for it; an exception inside LLVM's callbacks ends the process. Python interrupts the main thread
    only, so in others the block does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard: list[tuple[int, FrameType | None]] = []
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler):  # ignored, or the system's own, which ends the process without an exception
        yield
        return
    signal.signal(signal.SIGINT, lambda *interrupt: heard.append(interrupt))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if heard:
            handler(*heard[0])

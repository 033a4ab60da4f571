"""Python's search for circles of objects, paused where many objects are made and none is given up."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_pauses = 0  # blocks that have begun and not ended
_was_enabled = False  # when the first of them began


@contextmanager
def paused_garbage_collection() -> Iterator[None]:
    """Keep Python from looking for circles inside the block; it counts and frees objects as always.

    The setting belongs to the process: the first block that begins sets it, and the last one that ends lifts it.
    """
    global _pauses, _was_enabled
    with _lock:
        if _pauses == 0:
            _was_enabled = gc.isenabled()
            gc.disable()
        _pauses += 1
    try:
        yield
    finally:
        with _lock:
            _pauses -= 1
            if _pauses == 0 and _was_enabled:
                gc.enable()

"""A file put in the place of another, also on Windows."""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress

ATTEMPTS, PAUSE = 50, 0.002  # the pause is in seconds


def replace_file(source: str | os.PathLike[str], target: str | os.PathLike[str]) -> None:
    """Rename a file to a name that another may have, which is gone then.

    On Windows that fails in a moment in which someone has the other open, be it a virus scanner: it is tried again.
    """
    for _ in range(ATTEMPTS if sys.platform == "win32" else 0):
        with suppress(PermissionError):
            os.replace(source, target)
            return
        time.sleep(PAUSE)
    os.replace(source, target)

"""The folders in which data sets are looked for and archives are unpacked."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def cache_folder() -> Path:
    """Return the folder for files that can be made again.

    It is `$NEARTAG_CACHE`, or where that is not set, `neartag` in the platform's cache folder.
    """
    if chosen := os.environ.get("NEARTAG_CACHE"):
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "neartag"


def data_folder() -> Path:
    """Return the folder in which data sets are looked for by name: $NEARTAG_DATA, or else the cache folder."""
    chosen = os.environ.get("NEARTAG_DATA")
    return Path(chosen).expanduser() if chosen else cache_folder()

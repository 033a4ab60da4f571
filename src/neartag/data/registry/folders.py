"""The folders in which data sets are looked for and archives are unpacked."""

from __future__ import annotations

import os
import sys
from pathlib import Path

OTHER_FOLDERS = (
    "set NEARTAG_DATA to a folder of data sets that can be read, or NEARTAG_CACHE to one that can be written"
)


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


def list_folder(folder: Path) -> list[Path]:
    """Return what is in a folder; nothing where it is not there or may not be read: `describe_problem` says which."""
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def describe_problem(folder: Path) -> str:
    """Return what to add to an error about a folder that may not be read; nothing where it may, or is not there."""
    try:
        folder.stat()
        next(folder.iterdir(), None)
    except PermissionError as error:
        return f"; {folder} cannot be read ({error.strerror}): {OTHER_FOLDERS}"
    except OSError:
        pass
    return ""

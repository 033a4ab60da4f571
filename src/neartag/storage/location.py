"""Where a model lies: a folder with model.json in it. Nothing heavy is imported, so a wrong path is told at once."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from neartag.core.errors import ModelError

MANIFEST = "model.json"
CHANGE_LOG = "changes.jsonl"  # change_log.py writes it


def check_model_folder(folder: Path) -> None:
    """Raise ModelError where there is no folder, or none of a model."""
    if not folder.exists():
        raise ModelError(f"there is no folder {folder}: check the path, or train a model first")
    if not (folder / MANIFEST).is_file():
        raise ModelError(f"{folder} is not a model folder, it has no file {MANIFEST}: check the path")


def sync_folder(folder: Path) -> None:
    """Wait until the names of a folder's files are on disk."""
    if sys.platform != "win32":  # which has no such call, and needs none
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

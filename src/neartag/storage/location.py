"""Where a model lies: a folder with model.json in it. Nothing heavy is imported, so a wrong path is told at once."""

from __future__ import annotations

from pathlib import Path

from neartag.core.errors import ModelError

MANIFEST = "model.json"


def check_model_folder(folder: Path) -> None:
    """Raise ModelError where there is no folder, or none of a model."""
    if not folder.exists():
        raise ModelError(f"there is no folder {folder}: check the path, or train a model first")
    if not (folder / MANIFEST).is_file():
        raise ModelError(f"{folder} is not a model folder, it has no file {MANIFEST}: check the path")

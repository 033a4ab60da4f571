"""Sentence models by their name on Hugging Face's hub: found on this computer, or downloaded. Extra: hub."""

from __future__ import annotations

from pathlib import Path

from neartag.core.errors import ModelError, NeartagError
from neartag.core.extras import install_hint
from neartag.encoders.sentence_models.base import first_line
from neartag.encoders.sentence_models.folders import ONNX_FILES, STATIC_FOLDERS, TABLE, is_static

CONFIGURATION = ["*.json", "*/config.json"]  # never code, never a pickle


def find_snapshot(name: str) -> Path:
    """Return the folder of a model of the hub, such as minishlab/potion-base-8M; it is downloaded if it is not here.

    Only JSON files, and weights in ONNX or safetensors, are fetched. ModelError where that cannot be done.
    """
    try:
        from huggingface_hub import snapshot_download
    except ImportError as error:
        raise NeartagError(install_hint(f"{name} is no folder; to download it needs huggingface_hub", "hub")) from error

    def get(patterns: list[str]) -> Path:
        try:
            return Path(snapshot_download(name, allow_patterns=patterns, local_files_only=True))
        except Exception:  # it is not here, or not whole
            return Path(snapshot_download(name, allow_patterns=patterns))

    try:
        folder = get([*CONFIGURATION, *ONNX_FILES])
        tables = [f"{inner}/{TABLE}".lstrip("/") for inner in STATIC_FOLDERS]
        if is_static(folder) and not any((folder / table).is_file() for table in tables):
            folder = Path(snapshot_download(name, allow_patterns=[*CONFIGURATION, *tables]))
    except Exception as error:  # no network, no such name, no permission: each has errors of its own
        raise ModelError(
            f"there is no folder {name}, and it cannot be downloaded ({first_line(error)}): download the model where "
            "there is a network, and give the folder's path"
        ) from error
    return folder

"""A sentence model's folder: which kind it is, and the parts that the model is built from.

model.onnx, or onnx/model.onnx, with tokenizer.json     a transformer in ONNX; any other .onnx file by its own path
model.safetensors with tokenizer.json                   static vectors of model2vec or sentence-transformers
weights/ and tokenizers/                                static vectors of wordllama, as its package has them
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from neartag.core.errors import ModelError
from neartag.encoders.sentence_models import pooling
from neartag.encoders.sentence_models.base import ONNX, STATIC, ModelParts

TOKENIZER, TABLE = "tokenizer.json", "model.safetensors"
ONNX_FILES = ("model.onnx", "onnx/model.onnx")
STATIC_FOLDERS = ("", "0_StaticEmbedding")
WORDLLAMA_FILES = ("weights/l2_supercat_256.safetensors", "tokenizers/l2_supercat_tokenizer_config.json")
MODEL2VEC_TOKENS = 512  # of a text, where its configuration does not say


def read_folder(path: Path, name: str | None = None, version: str | None = None) -> ModelParts:
    """Return the parts of the model in a folder, or of one .onnx file of it; ModelError says what is missing."""
    name = name or Path(os.path.abspath(path)).name  # as it is called here, wherever a link leads
    if path.is_file():
        if path.suffix != ".onnx":
            raise ModelError(f"{path} is no sentence encoder: give its folder, or an .onnx file of it")
        near = (path.parent, path.parent.parent)
        folder = next((each for each in near if (each / TOKENIZER).is_file()), path.parent)
        return _read_onnx(folder, path, f"{Path(os.path.abspath(folder)).name}/{name}", version)
    if not path.is_dir():
        raise ModelError(f"there is no sentence encoder {path}: check the path")
    if (path / WORDLLAMA_FILES[0]).is_file():
        return _read_wordllama(path, name, version)
    weights = next((path / file for file in ONNX_FILES if (path / file).is_file()), None)
    if weights is not None:
        return _read_onnx(path, weights, name, version)
    if is_static(path):
        return _read_static(path, name, version)
    if (path / TABLE).is_file():
        raise ModelError(f"{path} has weights of a transformer but no model.onnx: scripts/build_onnx.py builds one")
    what = "is empty" if not any(path.iterdir()) else f"has neither {ONNX_FILES[0]} nor {TABLE}"
    raise ModelError(f"{path} is no sentence encoder, it {what}: give a folder with a model and {TOKENIZER}")


def is_static(folder: Path) -> bool:
    """Return whether the folder's configuration is that of static vectors."""
    modules = read_json(folder / "modules.json")
    steps = [str(module.get("type", "")) for module in modules] if isinstance(modules, list) else []
    if any(step.endswith(".StaticEmbedding") for step in steps):
        return True
    config = read_json(folder / "config.json")
    return isinstance(config, dict) and config.get("model_type") == "model2vec"


def _read_onnx(folder: Path, weights: Path, name: str, version: str | None) -> ModelParts:
    settings = pooling.read_settings(lambda file: read_json(folder / file), str(folder))
    return ModelParts(ONNX, name, map_file(weights), map_file(folder / TOKENIZER), settings, version, str(weights))


def _read_static(folder: Path, name: str, version: str | None) -> ModelParts:
    place = next((folder / inner for inner in STATIC_FOLDERS if (folder / inner / TABLE).is_file()), folder)
    config, modules = read_json(folder / "config.json") or {}, read_json(folder / "modules.json") or []
    normalise = bool(config.get("normalize")) or any(
        str(module.get("type", "")).endswith(".Normalize") for module in modules
    )
    settings = {
        "normalise": normalise,
        "max_tokens": config.get("max_length", MODEL2VEC_TOKENS),
        "model2vec": True,
    }
    if settings["max_tokens"] is not None and type(settings["max_tokens"]) is not int:
        raise ModelError(f"{folder / 'config.json'}: max_length must be a whole number or null")
    table, tokenizer = map_file(place / TABLE), map_file(place / TOKENIZER)
    return ModelParts(STATIC, name, table, tokenizer, settings, version, str(place))


def _read_wordllama(folder: Path, name: str, version: str | None) -> ModelParts:
    settings = {"normalise": False, "max_tokens": None, "model2vec": False}
    table, tokenizer = (map_file(folder / file) for file in WORDLLAMA_FILES)
    return ModelParts(STATIC, name, table, tokenizer, settings, version, str(folder))


def map_file(path: Path) -> np.ndarray:
    """Return a file's bytes, read from disk only where they are used; ModelError where it is missing or empty."""
    try:
        if not path.stat().st_size:
            raise ModelError(f"{path} is empty: restore the sentence encoder's folder")
        return np.memmap(path, np.uint8, "r")
    except OSError as error:
        raise ModelError(f"the sentence encoder has no {path} that can be read: {error.strerror or error}") from error


def read_json(path: Path) -> Any:
    """Return the value of a JSON file; None where there is none."""
    if not path.is_file():
        return None
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"{path} cannot be read as JSON: {error}") from error

"""Sentence models by path or name: opened once in a process, and known again by their digest."""

from __future__ import annotations

import importlib.util
import os
import re
import threading
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path

from neartag.core.errors import ModelError
from neartag.encoders.sentence_models import folders, hub
from neartag.encoders.sentence_models.base import ModelParts, SentenceModel

WORDLLAMA = "wordllama"  # a package whose wheel carries its weights
HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+")
PLACES = "NEARTAG_ENCODER"  # the environment variable: where a model's encoder lies now
MAX_OPEN = 4  # models kept open; one takes 30 to 500 MB

_open: OrderedDict[tuple[str, ...], SentenceModel] = OrderedDict()  # by digest, and by how it is called
_lock = threading.Lock()


def read_parts(reference: str | os.PathLike[str]) -> ModelParts:
    """Return the parts of a model: of a folder or .onnx file, of the package wordllama, or of a name of the hub."""
    path = Path(reference).expanduser()
    if path.exists():
        return folders.read_folder(path)
    name = str(reference)
    if name == WORDLLAMA:
        return _read_package()
    if not HUB_NAME.fullmatch(name) or name.startswith("."):
        raise ModelError(
            f"there is no sentence encoder {name}: give a folder, {WORDLLAMA}, or a name such as OWNER/MODEL"
        )
    folder = hub.find_snapshot(name)
    return folders.read_folder(folder, name, folder.name)


def open_parts(parts: ModelParts) -> SentenceModel:
    """Return the model of these parts; one that is open already is used again."""
    from neartag.encoders.sentence_models.onnx import OnnxModel
    from neartag.encoders.sentence_models.static import StaticModel

    makers: dict[str, Callable[[ModelParts], SentenceModel]] = {folders.ONNX: OnnxModel, folders.STATIC: StaticModel}
    if parts.format not in makers:
        raise ModelError(f"neartag cannot open a sentence encoder of the format {parts.format!r:.40}: update neartag")
    key = parts.digest, parts.name, parts.version or ""
    with _lock:
        if key not in _open:
            _open[key] = makers[parts.format](parts)
            if len(_open) > MAX_OPEN:
                _open.popitem(last=False)
        _open.move_to_end(key)
        return _open[key]


def places_now() -> list[str]:
    """Return where to look for the encoders of a model first: what the environment says, separated by commas."""
    return [place for place in os.environ.get(PLACES, "").split(",") if place]


def _read_package() -> ModelParts:
    found = importlib.util.find_spec(WORDLLAMA)  # nothing of the package is run
    if found is None or not found.submodule_search_locations:
        raise ModelError(f"the encoder {WORDLLAMA} is not installed: pip install --no-deps {WORDLLAMA}")
    from importlib import metadata

    try:
        version = metadata.version(WORDLLAMA)
    except metadata.PackageNotFoundError:  # a folder of that name on the path
        version = None
    return folders.read_folder(Path(next(iter(found.submodule_search_locations))), WORDLLAMA, version)

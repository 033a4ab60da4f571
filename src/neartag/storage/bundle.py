"""What a model folder holds, once it is read, and how the content of its files is read and written."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from neartag.core.errors import ModelError, ParameterError
from neartag.methods.registry import METHODS
from neartag.storage import tensors
from neartag.storage.folder import digest
from neartag.storage.manifest import REMEDY, File, Manifest, from_json
from neartag.storage.texts import Texts

if TYPE_CHECKING:
    from neartag.storage.segments import Segment  # which needs scipy: imported only where something was added


@dataclass(frozen=True)
class StoredModel:
    """What a model folder holds: what was trained, and what was added since."""

    model: Any
    label_names: list[str] | None
    point_names: list[str] | None
    features: Any
    info: dict[str, Any]
    texts: Texts | None = None  # of the points
    extras: dict[str, Any] = field(default_factory=dict)  # small things that go with the model, by name
    manifest: Manifest | None = None  # as it was read

    def with_segment(self, segment: Segment) -> StoredModel:
        """Return what the folder holds once these documents are added; nothing is written."""
        model = updates(self.model).add(self.model, segment.rows, segment.Y)
        labels = [*(self.label_names or []), *segment.new_labels]
        points = None if self.point_names is None else [*self.point_names, *segment.ids]
        both = None if self.texts is None or segment.texts is None else self.texts.followed_by(segment.texts)
        return replace(self, model=model, label_names=labels, point_names=points, texts=both)


def can_update(model: Any) -> bool:
    """Return whether points can be added to a model, and forgotten, without training it again."""
    kind = getattr(model, "kind", "")
    return kind in METHODS.names() and METHODS.get(kind).updates is not None


def updates(model: Any) -> Any:
    """Return the module that adds points to a model and forgets them."""
    if not can_update(model):
        takers = ", ".join(method.name for method in METHODS.all().values() if method.updates is not None)
        raise ModelError(
            f"documents cannot be added to a model of kind {getattr(model, 'kind', '')!r}, only to {takers}"
        )
    return importlib.import_module(str(METHODS.get(model.kind).updates))


def content(handle: BinaryIO, place: Path, file: File, verify: bool) -> Any:
    """Return what an open file of the folder holds: arrays, mapped, or what its JSON stands for."""
    path = place / file.name
    try:
        if verify and digest(handle) != file.sha256:
            raise ModelError(f"{path} does not match its checksum: {REMEDY}")
        if file.name.endswith(".safetensors"):
            return tensors.map_arrays(handle, str(path))
        handle.seek(0)
        return from_json(handle.read(), path)
    except OSError as error:
        raise ModelError(f"cannot read {path}: {error}") from error


def checked(made: Callable[[], Any], what: str, place: Path) -> Any:
    """Return what is made; ModelError where the folder's content does not allow it."""
    try:
        return made()
    except (LookupError, TypeError, ValueError, ArithmeticError, MemoryError) as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise ModelError(f"{place}: {what} cannot be read ({reason}): {REMEDY}") from error


def as_json(value: Any, what: str, indent: int | None = None) -> bytes:
    """Return a value as JSON in UTF-8; ParameterError names what cannot be stored so."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=True, indent=indent, default=_plain)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"{what} cannot be stored as JSON: {error}") from error
    return text.encode("utf-8", "surrogatepass")


def _plain(value: Any) -> Any:
    """Return the Python number of a numpy one, which settings often hold without knowing."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} is neither text, number, list nor object")

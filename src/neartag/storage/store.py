"""The model folder: a model is saved whole or not at all, and loaded by memory map without running code from it.

    model.json                  format version, kind, settings; name, size and SHA-256 of each other file
    <part>.<hash>.safetensors   arrays, one file a part: model, learner-000, …, features
    texts.<hash>.safetensors    the training documents' texts
    added.<hash>.safetensors    documents added after training (segments.py)
    <what>.<hash>.json          what else there is: features (their settings), label-names, point-names
    .lock                       held by whoever saves

The hash in a file's name is that of its content, so that a new model never overwrites a file of the old one. New files
are written beside the old, then model.json is replaced, which is the only switch, then the old files go. Nothing in the
folder depends on the time or the place of saving: the same model gives the same bytes.

What can be stored has a `kind`, which a registry maps to its class, imported only when a folder asks for it. model.json
is read in manifest.py, files are written and opened in folder.py, arrays are packed and mapped in tensors.py.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np

from neartag import __version__
from neartag.core.errors import ModelError, NeartagError, ParameterError
from neartag.methods.registry import METHODS
from neartag.storage import tensors
from neartag.storage.bundle import StoredModel, as_json, checked, content
from neartag.storage.folder import Writer, lock, open_files, refuse_foreign
from neartag.storage.manifest import PART_NAME, REMEDY, FeaturesEntry, File, Manifest
from neartag.storage.texts import Texts

__all__ = ["FEATURES", "KINDS", "Storable", "StorableFeatures", "StoredModel", "inspect", "load", "lock", "save"]

KINDS: dict[str, str] = {}  # kinds that are no method's, "module:Class" by name
FEATURES = {"tfidf": "neartag.encoders.tfidf:TfidfFeatures", "vectors": "neartag.encoders.vectors:VectorFeatures"}


class Storable(Protocol):
    """What a model must offer to be stored: its kind, and its state as JSON and arrays, there and back."""

    kind: ClassVar[str]

    def to_state(self) -> tuple[dict[str, Any], dict[str, dict[str, np.ndarray]]]:
        """Return settings that JSON can hold (the order of keys is not kept), and arrays by part and name."""

    @classmethod
    def from_state(cls, settings: dict[str, Any], parts: dict[str, dict[str, np.ndarray]]) -> Any:
        """Return the model whose state this is; the arrays are read-only."""


class StorableFeatures(Protocol):
    """The same for features, whose arrays are a single part."""

    kind: ClassVar[str]

    def to_state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return settings that JSON can hold, and arrays by name."""

    @classmethod
    def from_state(cls, settings: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
        """Return the features whose state this is; the arrays are read-only."""


def save(
    model: Storable,
    folder: str | os.PathLike[str],
    *,
    label_names: Iterable[str] | None = None,
    point_names: Iterable[str] | None = None,
    features: StorableFeatures | None = None,
    texts: Texts | None = None,
    extras: dict[str, Any] | None = None,
    generation: int = 0,
    locked: bool = False,
) -> Manifest:
    """Store the model in the folder in place of the one there; whatever goes wrong, the folder holds one of the two.

    `locked`: the caller holds the folder's lock already. `generation`: how often documents were forgotten.
    """
    place = Path(folder)
    model = getattr(model, "model_", model)  # a fitted estimator is saved as what it learned
    if not hasattr(model, "kind"):
        raise ParameterError(f"{type(model).__name__} cannot be saved: give a fitted classifier or its model_")
    _model_class(model.kind)
    labels, points = _listed(label_names, "label_names"), _listed(point_names, "point_names")
    wrong = _miscounted(model, labels, points, texts)
    if wrong:
        raise ParameterError(f"the model cannot be saved with these names, {wrong}")
    settings, parts = model.to_state()
    for part in parts:
        if part == "features" or not PART_NAME.fullmatch(part):
            raise ParameterError(f"a part cannot be named {part!r}: use small letters, digits, dashes; not 'features'")
    given = {"label-names": labels, "point-names": points}
    names = {stem: as_json(value, stem) for stem, value in given.items() if value is not None}
    try:
        refuse_foreign(place)
        place.mkdir(parents=True, exist_ok=True)
        with nullcontext() if locked else lock(place), Writer(place) as writer:
            files = {part: writer.add(part, "safetensors", tensors.pack(parts[part], part)) for part in parts}
            named = {stem: writer.add(stem, "json", [text]) for stem, text in names.items()}
            manifest = Manifest(
                kind=model.kind,
                settings=settings,
                parts=files,
                features=None if features is None else _add_features(features, writer),
                label_names=named.get("label-names"),
                point_names=named.get("point-names"),
                texts=None if texts is None else writer.add("texts", "safetensors", _packed(texts)),
                extras=extras or {},
                generation=generation,
            )
            document = as_json(manifest.to_json(), f"the settings of {model.kind!r}", indent=2)
            writer.switch(document, manifest.files)
    except OSError as error:
        raise ModelError(f"cannot save the model in {place}, {error}: mend that and save it again") from error
    return manifest


def load(folder: str | os.PathLike[str], *, verify: bool = True) -> StoredModel:
    """Return the model of the folder with its names and features; `verify` compares every file with its checksum."""
    place = Path(folder)
    with ExitStack() as stack:
        manifest, handles = open_files(place, stack)
        model_class = _model_class(manifest.kind)
        features_class = _known(FEATURES, manifest.features.kind, "kind of features") if manifest.features else None
        contents = {file.name: content(handles[file.name], place, file, verify) for file in manifest.files}
    return _assembled(manifest, contents, place, model_class, features_class)


def _assembled(
    manifest: Manifest, contents: dict[str, Any], place: Path, model_class: Any, features_class: Any
) -> StoredModel:
    parts = {part: contents[file.name] for part, file in manifest.parts.items()}
    entry, features = manifest.features, None
    if entry is not None:
        features = _rebuild(features_class, contents[entry.settings.name], contents[entry.arrays.name], place)
    model = _rebuild(model_class, manifest.settings, parts, place)
    labels = _strings(contents, manifest.label_names, place)
    points = _strings(contents, manifest.point_names, place)
    texts = None
    if manifest.texts is not None:
        arrays = contents[manifest.texts.name]
        texts = checked(lambda: Texts.from_arrays(arrays["content"], arrays["ends"]), "the texts", place)
    wrong = _miscounted(model, labels, points, texts)
    if wrong:
        raise ModelError(f"{place} is damaged, {wrong}: copy or save the model again")
    stored = StoredModel(model, labels, points, features, manifest.info, texts, manifest.extras, manifest)
    if not manifest.added:
        return stored
    from neartag.storage.additions import with_added  # which needs scipy

    whole = with_added(stored, [contents[entry.file.name] for entry in manifest.added], place)
    told = sum(entry.points for entry in manifest.added)
    if whole.model.n_points - model.n_points != told:  # who follows the folder counts on it
        raise ModelError(f"{place} is damaged, it tells of other added documents than the {told} there: {REMEDY}")
    return whole


def _packed(texts: Texts) -> Iterator[bytes | memoryview]:
    content, ends = texts.to_arrays()
    return tensors.pack({"content": content, "ends": ends}, "texts")


def inspect(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """Return what model.json says, and each file's size; of the files only presence and size are checked."""
    with ExitStack() as stack:
        manifest, _ = open_files(Path(folder), stack)
        return manifest.info


def _miscounted(
    model: Any, label_names: Sequence[str] | None, point_names: Sequence[str] | None, texts: Texts | None = None
) -> str:
    """Return what is wrong with the number of names, "" if nothing; a kind that does not tell its numbers fits any."""
    for what, names in (("label", label_names), ("point", point_names)):
        count = getattr(model, f"n_{what}s", None)
        if names is not None and count is not None and len(names) != count:
            return f"it has {len(names)} {what} names for {count} {what}s"
    count = getattr(model, "n_points", None)
    if texts is not None and count is not None and len(texts) != count:
        return f"it has {len(texts)} texts for {count} points"
    return ""


def _model_class(kind: str) -> Any:
    """Return the class of models of a kind, imported now."""
    if kind in KINDS or kind not in METHODS.names():
        return _known({**dict.fromkeys(METHODS.names(), ""), **KINDS}, kind, "kind")
    try:
        return METHODS.get(kind).model_class()
    except NeartagError as error:
        raise ModelError(str(error)) from error


def _known(registry: Mapping[str, str], kind: str, what: str) -> Any:
    """Return the class of a kind, imported now."""
    if kind not in registry:
        known = ", ".join(sorted(registry))
        raise ModelError(f"the {what} {kind!r} is unknown to neartag {__version__} (it knows {known}): upgrade neartag")
    module, name = registry[kind].split(":")
    return getattr(importlib.import_module(module), name)


def _rebuild(stored_class: Any, settings: dict[str, Any], arrays: Any, place: Path) -> Any:
    try:
        return stored_class.from_state(settings, arrays)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, MemoryError) as error:
        # Only a folder that was altered, or written by another version of the class, gets here.
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise ModelError(
            f"{place}: the stored state of kind {stored_class.kind!r} does not fit ({reason}): {REMEDY}"
        ) from error


def _add_features(features: StorableFeatures, writer: Writer) -> FeaturesEntry:
    _known(FEATURES, features.kind, "kind of features")
    settings, arrays = features.to_state()
    return FeaturesEntry(
        kind=features.kind,
        settings=writer.add("features", "json", [as_json(settings, f"the settings of {features.kind!r}")]),
        arrays=writer.add("features", "safetensors", tensors.pack(arrays, "features")),
    )


def _listed(names: Iterable[str] | None, what: str) -> list[str] | None:
    if names is None:
        return None
    # Into a list before anything else: what gives its names once only would be empty when they are written.
    found = list(names) if isinstance(names, Iterable) else []
    if isinstance(names, str) or not isinstance(names, Iterable) or not all(isinstance(name, str) for name in found):
        raise ParameterError(f"{what} must be a list of strings")
    return found


def _strings(contents: Mapping[str, Any], file: File | None, place: Path) -> list[str] | None:
    if file is None:
        return None
    value = contents[file.name]
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise ModelError(f"{place / file.name} is not a list of names: {REMEDY}")
    return value

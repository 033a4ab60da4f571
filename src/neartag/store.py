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
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, Protocol

import numpy as np

from neartag import __version__, tensors
from neartag.comparators import METHODS
from neartag.errors import ModelError, ParameterError
from neartag.folder import Writer, digest, lock, open_files, refuse_foreign
from neartag.manifest import PART_NAME, REMEDY, AddedEntry, FeaturesEntry, File, Manifest, from_json
from neartag.texts import Texts

if TYPE_CHECKING:
    from neartag.segments import Segment  # which needs scipy: imported only where something was added

__all__ = ["FEATURES", "KINDS", "Storable", "StorableFeatures", "StoredModel", "inspect", "load", "lock", "save"]

KINDS = {method.name: method.model_path for method in METHODS.values()} | {"x1": "neartag.x1.model:X1Model"}
UPDATES = {"x1": "neartag.x1.update"}  # kinds whose points may be added and forgotten: the module that does it
FEATURES = {"tfidf": "neartag.features:TfidfFeatures", "vectors": "neartag.vectors:VectorFeatures"}


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
    _known(KINDS, model.kind, "kind")
    labels, points = _listed(label_names, "label_names"), _listed(point_names, "point_names")
    wrong = _miscounted(model, labels, points, texts)
    if wrong:
        raise ParameterError(f"the model cannot be saved with these names, {wrong}")
    settings, parts = model.to_state()
    for part in parts:
        if part == "features" or not PART_NAME.fullmatch(part):
            raise ParameterError(f"a part cannot be named {part!r}: use small letters, digits, dashes; not 'features'")
    given = {"label-names": labels, "point-names": points}
    names = {stem: _json(value, stem) for stem, value in given.items() if value is not None}
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
            document = _json(manifest.to_json(), f"the settings of {model.kind!r}", indent=2)
            writer.switch(document, manifest.files)
    except OSError as error:
        raise ModelError(f"cannot save the model in {place}, {error}: mend that and save it again") from error
    return manifest


def append(folder: str | os.PathLike[str], segment: Segment, manifest: Manifest) -> Manifest:
    """Add documents to the folder, whose manifest this is, under its lock; crash-safe as saving is.

    A segment no larger than the new one becomes one with it, and so on: there are never many, and a document is written
    a few times only, however many are added one by one.
    """
    from neartag.segments import merged

    place = Path(folder)
    kept = list(manifest.added)
    parts = [segment]
    while kept and kept[-1].points <= sum(map(len, parts)):
        with ExitStack() as stack:
            _, handles = open_files(place, stack)
            file = kept.pop().file
            arrays = _content(handles[file.name], place, file, True)
            # Only the features are needed to read the rest, and those are the model's.
            parts.insert(0, _segment(arrays, int(manifest.settings["n_features"]), place))
    whole = merged(parts)
    try:
        with Writer(place) as writer:
            file = writer.add("added", "safetensors", tensors.pack(whole.to_arrays(), "added"))
            fresh = replace(manifest, added=(*kept, AddedEntry(file, len(whole))), neartag_version=__version__)
            writer.switch(_json(fresh.to_json(), "model.json", indent=2), fresh.files)
    except OSError as error:
        raise ModelError(f"cannot add to the model in {place}, {error}: mend that and add again") from error
    return fresh


def load(folder: str | os.PathLike[str], *, verify: bool = True) -> StoredModel:
    """Return the model of the folder with its names and features; `verify` compares every file with its checksum."""
    place = Path(folder)
    with ExitStack() as stack:
        manifest, handles = open_files(place, stack)
        model_class = _known(KINDS, manifest.kind, "kind")
        features_class = _known(FEATURES, manifest.features.kind, "kind of features") if manifest.features else None
        contents = {file.name: _content(handles[file.name], place, file, verify) for file in manifest.files}
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
        texts = _checked(lambda: Texts.from_arrays(arrays["content"], arrays["ends"]), "the texts", place)
    wrong = _miscounted(model, labels, points, texts)
    if wrong:
        raise ModelError(f"{place} is damaged, {wrong}: copy or save the model again")
    stored = StoredModel(model, labels, points, features, manifest.info, texts, manifest.extras, manifest)
    if not manifest.added:
        return stored
    whole = with_added(stored, [contents[entry.file.name] for entry in manifest.added], place)
    told = sum(entry.points for entry in manifest.added)
    if whole.model.n_points - model.n_points != told:  # who follows the folder counts on it
        raise ModelError(f"{place} is damaged, it tells of other added documents than the {told} there: {REMEDY}")
    return whole


def with_added(stored: StoredModel, segments: Sequence[dict[str, np.ndarray]], place: Path) -> StoredModel:
    """Return the model with the documents of these segments, given as the arrays of their files."""
    from neartag.segments import merged

    read = [_segment(arrays, stored.model.n_features, place) for arrays in segments]
    width = stored.model.n_labels
    for each in read:
        width += len(each.new_labels)
        if each.Y.shape[1] != width:
            raise ModelError(
                f"{place} is damaged, added documents have {each.Y.shape[1]} labels, not {width}: {REMEDY}"
            )
    return _checked(lambda: stored.with_segment(merged(read)), "what was added", place)


def with_more(stored: StoredModel, segments: Sequence[dict[str, np.ndarray]], skip: int, place: Path) -> StoredModel:
    """Return the model with the documents of these segments but the first `skip`, which it has already."""
    from neartag.segments import merged

    if not segments:
        return stored
    read = [_segment(arrays, stored.model.n_features, place) for arrays in segments]
    ours = (stored.point_names or [])[stored.model.n_points - skip :] if skip else []
    if merged(read).ids[:skip] != ours:
        raise ModelError(f"{place} has other documents than those read before: load it again")
    return _checked(
        lambda: stored.with_segment(merged(read).after(skip, stored.model.n_labels)), "what was added", place
    )


def read_added(folder: str | os.PathLike[str], files: Sequence[File]) -> list[dict[str, np.ndarray]]:
    """Return the arrays of segments by their entries in the manifest; FileNotFoundError where one is gone by now."""
    found = []
    for file in files:
        with (Path(folder) / file.name).open("rb") as handle:
            found.append(_content(handle, Path(folder), file, True))
    return found


def updates(model: Any) -> Any:
    """Return the module that adds points to a model and forgets them."""
    kind = getattr(model, "kind", "")
    if kind not in UPDATES:
        raise ModelError(f"documents cannot be added to a model of kind {kind!r}, only to {', '.join(UPDATES)}")
    return importlib.import_module(UPDATES[kind])


def _segment(arrays: dict[str, np.ndarray], n_features: int, place: Path) -> Segment:
    from neartag.segments import Segment

    return _checked(lambda: Segment.from_arrays(arrays, n_features), "what was added", place)


def _checked(made: Callable[[], Any], what: str, place: Path) -> Any:
    try:
        return made()
    except (LookupError, TypeError, ValueError, ArithmeticError, MemoryError) as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise ModelError(f"{place}: {what} cannot be read ({reason}): {REMEDY}") from error


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


def _content(handle: BinaryIO, place: Path, file: File, verify: bool) -> Any:
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


def _add_features(features: StorableFeatures, writer: Writer) -> FeaturesEntry:
    _known(FEATURES, features.kind, "kind of features")
    settings, arrays = features.to_state()
    return FeaturesEntry(
        kind=features.kind,
        settings=writer.add("features", "json", [_json(settings, f"the settings of {features.kind!r}")]),
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


def _json(value: Any, what: str, indent: int | None = None) -> bytes:
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

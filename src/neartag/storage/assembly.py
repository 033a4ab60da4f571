"""The stored model that the files of a folder make together, checked against each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from neartag.core.errors import ModelError
from neartag.storage.bundle import StoredModel
from neartag.storage.content import REMEDY, check_list_of_names, find_miscount, report_damage
from neartag.storage.manifest import File, Manifest
from neartag.storage.texts import Texts
from neartag.vocabulary.state import from_json


def assemble(
    manifest: Manifest, contents: dict[str, Any], place: Path, model_class: Any, encoder_class: Any
) -> StoredModel:
    """Return the stored model of the files' contents, checked against each other."""
    entry, features = manifest.features, None
    if entry is not None:
        state = contents[entry.settings.name], contents[entry.arrays.name]
        with report_damage(f"the state of features {entry.kind!r}", place):
            features = encoder_class.from_state(*state)
    parts = {part: contents[file.name] for part, file in manifest.parts.items()}
    with report_damage(f"the state of kind {manifest.kind!r}", place):
        model = model_class.from_state(manifest.settings, parts)
    labels = _read_names(contents, manifest.label_names, place)
    points = _read_names(contents, manifest.point_names, place)
    texts = None
    if manifest.texts is not None:
        arrays = contents[manifest.texts.name]
        with report_damage("the texts", place):
            texts = Texts.from_arrays(arrays["content"], arrays["ends"])
    _check_counts(model, labels, points, texts, place)
    vocabulary = None
    if manifest.vocabulary is not None:
        with report_damage("the vocabulary", place):
            vocabulary = from_json(contents[manifest.vocabulary.name])
    stored = StoredModel(model, labels, points, features, manifest.info, texts, manifest.extras, manifest, vocabulary)
    if not manifest.added:
        return stored
    from neartag.storage.additions import apply_segments  # it needs scipy

    grown = apply_segments(stored, [contents[added.file.name] for added in manifest.added], place)
    listed, there = sum(added.points for added in manifest.added), grown.model.n_points - model.n_points
    if there != listed:  # whoever follows the folder relies on this number
        raise ModelError(f"{place} is damaged, model.json lists {listed} added documents of {there}: {REMEDY}")
    _check_counts(grown.model, grown.label_names, grown.point_names, grown.texts, place)
    return grown


def _check_counts(model: Any, labels: Any, points: Any, texts: Any, place: Path) -> None:
    wrong = find_miscount(model, labels, points, texts)
    if wrong:
        raise ModelError(f"{place} is damaged, {wrong}: {REMEDY}")


def _read_names(contents: dict[str, Any], file: File | None, place: Path) -> list[str] | None:
    return None if file is None else check_list_of_names(contents[file.name], place / file.name)

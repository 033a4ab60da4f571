"""Labels of a stored model renamed, merged and closed without training again: what changes in memory.

The model's vocabulary keeps the old names, so that documents added later with one of them get the label as it is now.
A model that has no vocabulary gets an open one for that.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from neartag.core.errors import DataError, ModelError, ParameterError
from neartag.storage.bundle import StoredModel, update_module
from neartag.vocabulary.concepts import Vocabulary


class LabelEntry(NamedTuple):
    """A label of a model, as it is listed."""

    label: str
    documents: int | None  # that have it; None for a method that does not tell
    uri: str
    names: dict[str, str]  # preferred names by language
    alternatives: list[str]


def list_labels(stored: StoredModel) -> list[LabelEntry]:
    """Return every label of the model, in the model's order."""
    labels, vocabulary = stored.label_names or [], stored.vocabulary or Vocabulary()
    frequency = getattr(stored.model, "frequency", None)
    counts = [None] * len(labels) if frequency is None else np.asarray(frequency).tolist()
    entries = []
    for label, count in zip(labels, counts, strict=True):
        concept = vocabulary.get(label)
        known = ("", {}, []) if concept is None else (concept.uri, dict(concept.names), list(concept.alternatives))
        entries.append(LabelEntry(label, count, *known))
    return entries


def rename_label(stored: StoredModel, label: str, new: str) -> StoredModel:
    """Return the model with another name for a label; nothing else changes."""
    number = find_label(stored, label)
    labels = list(stored.label_names or [])
    if not new.strip() or new != new.strip():
        raise ParameterError(f"a label cannot be named {new!r}: give a name without blanks around it")
    if new in labels:
        raise ParameterError(f"there is a label {new!r} already: merge {labels[number]!r} into it instead")
    vocabulary = (stored.vocabulary or Vocabulary(closed=False)).rename(labels[number], new)
    labels[number] = new
    return replace(stored, label_names=labels, vocabulary=vocabulary)


def merge_labels(stored: StoredModel, label: str, into: str) -> StoredModel:
    """Return the model with one label merged into another."""
    gone, kept = find_label(stored, label), find_label(stored, into)
    labels = list(stored.label_names or [])
    if gone == kept:
        raise ParameterError(f"{label!r} and {into!r} are the same label")
    module = update_module(stored.model)
    if not hasattr(module, "merge_labels"):
        raise ModelError(f"labels of a model of kind {stored.model.kind!r} cannot be merged: train it again")
    vocabulary = (stored.vocabulary or Vocabulary(closed=False)).merge(labels[gone], labels[kept])
    model = module.merge_labels(stored.model, gone, kept)
    return replace(stored, model=model, label_names=labels[:gone] + labels[gone + 1 :], vocabulary=vocabulary)


def close_labels(stored: StoredModel, closed: bool) -> StoredModel:
    """Return the model with its vocabulary closed, or open: whether documents added later may bring new labels."""
    return replace(stored, vocabulary=replace(stored.vocabulary or Vocabulary(), closed=closed))


def find_label(stored: StoredModel, name: str) -> int:
    """Return the number of the label of this name or URI; ParameterError where the model has none."""
    labels = stored.label_names or []
    if name in labels:
        return labels.index(name)
    try:
        concept = None if stored.vocabulary is None else stored.vocabulary.find(name)
    except DataError as error:
        raise ParameterError(str(error)) from error
    if concept is not None and concept.label in labels:
        return labels.index(concept.label)
    raise ParameterError(f"the model has no label {name!r}: neartag labels MODEL lists them")

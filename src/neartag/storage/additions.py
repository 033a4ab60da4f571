"""Documents added to a model folder after training: small files of their own, written, read and taken in.

segments.py says what such a file holds.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from neartag.core.errors import ModelError
from neartag.core.version import __version__
from neartag.linalg import tensors
from neartag.storage.bundle import StoredModel
from neartag.storage.content import REMEDY, encode_json, report_damage
from neartag.storage.folder import FolderWriter, read_content
from neartag.storage.manifest import AddedEntry, File, Manifest
from neartag.storage.segments import Segment, merge_segments

Arrays = dict[str, np.ndarray]  # of one segment's file, by name
NAME_IN_ERRORS = "what was added"  # as errors name it


def append_segment(
    folder: str | os.PathLike[str],
    segment: Segment,
    manifest: Manifest,
    announce: Callable[[str], None] | None = None,
) -> Manifest:
    """Add documents to a folder, whose manifest is given, and return its new manifest; crash-safe as saving is.

    `announce` is called with the new manifest's digest, just before that is put in place. The caller holds the folder's
    lock. The last segment of the folder, where it is no larger than the new one, is merged into it, then the one
    before, and so on. There are then never many segments, and each document is written a few times only, however many
    documents are added one by one.
    """
    place = Path(folder)
    kept = list(manifest.added)
    parts = [segment]
    try:
        while kept and kept[-1].points <= sum(map(len, parts)):
            (arrays,) = read_segment_files(place, [kept.pop().file])
            parts.insert(0, _read_segment(arrays, int(manifest.settings["n_features"]), place))
        merged = merge_segments(parts)
        with FolderWriter(place) as writer:
            file = writer.add("added", "safetensors", tensors.pack(merged.to_arrays(), "added"))
            fresh = replace(manifest, added=(*kept, AddedEntry(file, len(merged))), neartag_version=__version__)
            document = fresh.to_json()
            told = None if announce is None else partial(announce, document["digest"])
            writer.switch(encode_json(document, "model.json", indent=2), fresh.files, told)
    except OSError as error:
        raise ModelError(f"cannot add to the model in {place}, {error}: mend that and add again") from error
    return fresh


def apply_segments(stored: StoredModel, segments: Sequence[Arrays], place: Path) -> StoredModel:
    """Return the model with the documents of all segments of its folder."""
    read = [_read_segment(arrays, stored.model.n_features, place) for arrays in segments]
    width = stored.model.n_labels
    for each in read:
        width += len(each.new_labels)
        if each.Y.shape[1] != width:
            raise ModelError(
                f"{place} is damaged, added documents have {each.Y.shape[1]} labels, not {width}: {REMEDY}"
            )
    with report_damage(NAME_IN_ERRORS, place):
        return stored.with_segment(merge_segments(read))


def apply_new_documents(stored: StoredModel, segments: Sequence[Arrays], known: int, place: Path) -> StoredModel:
    """Return the model with the documents of these segments but the first `known`, which it has already."""
    if not segments:
        return stored
    merged = merge_segments([_read_segment(arrays, stored.model.n_features, place) for arrays in segments])
    ours = (stored.point_names or [])[stored.model.n_points - known :] if known else []
    if merged.ids[:known] != ours:
        raise ModelError(f"{place} has other documents than those read before: load it again")
    with report_damage(NAME_IN_ERRORS, place):
        return stored.with_segment(merged.without_first(known, stored.model.n_labels))


def read_segment_files(folder: str | os.PathLike[str], files: Sequence[File]) -> list[Arrays]:
    """Return the arrays of each segment's file; FileNotFoundError where one is gone by now."""
    segments = []
    for file in files:
        with (Path(folder) / file.name).open("rb") as handle:
            segments.append(read_content(handle, Path(folder), file, True))
    return segments


def _read_segment(arrays: Arrays, n_features: int, place: Path) -> Segment:
    with report_damage(NAME_IN_ERRORS, place):
        return Segment.from_arrays(arrays, n_features)

"""Documents added to a model folder after training: small files of their own, written, read and taken in.

segments.py says what is in such a file.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import numpy as np

from neartag import __version__
from neartag.core.errors import ModelError
from neartag.storage import tensors
from neartag.storage.bundle import StoredModel, as_json, checked, content
from neartag.storage.folder import Writer, open_files
from neartag.storage.manifest import REMEDY, AddedEntry, File, Manifest
from neartag.storage.segments import Segment, merged


def append(folder: str | os.PathLike[str], segment: Segment, manifest: Manifest) -> Manifest:
    """Add documents to the folder, whose manifest this is, under its lock; crash-safe as saving is.

    A segment no larger than the new one becomes one with it, and so on: there are never many, and a document is written
    a few times only, however many are added one by one.
    """
    place = Path(folder)
    kept = list(manifest.added)
    parts = [segment]
    while kept and kept[-1].points <= sum(map(len, parts)):
        with ExitStack() as stack:
            _, handles = open_files(place, stack)
            file = kept.pop().file
            arrays = content(handles[file.name], place, file, True)
            # Only the features are needed to read the rest, and those are the model's.
            parts.insert(0, _segment(arrays, int(manifest.settings["n_features"]), place))
    whole = merged(parts)
    try:
        with Writer(place) as writer:
            file = writer.add("added", "safetensors", tensors.pack(whole.to_arrays(), "added"))
            fresh = replace(manifest, added=(*kept, AddedEntry(file, len(whole))), neartag_version=__version__)
            writer.switch(as_json(fresh.to_json(), "model.json", indent=2), fresh.files)
    except OSError as error:
        raise ModelError(f"cannot add to the model in {place}, {error}: mend that and add again") from error
    return fresh


def with_added(stored: StoredModel, segments: Sequence[dict[str, np.ndarray]], place: Path) -> StoredModel:
    """Return the model with the documents of these segments, given as the arrays of their files."""
    read = [_segment(arrays, stored.model.n_features, place) for arrays in segments]
    width = stored.model.n_labels
    for each in read:
        width += len(each.new_labels)
        if each.Y.shape[1] != width:
            raise ModelError(
                f"{place} is damaged, added documents have {each.Y.shape[1]} labels, not {width}: {REMEDY}"
            )
    return checked(lambda: stored.with_segment(merged(read)), "what was added", place)


def with_more(stored: StoredModel, segments: Sequence[dict[str, np.ndarray]], skip: int, place: Path) -> StoredModel:
    """Return the model with the documents of these segments but the first `skip`, which it has already."""
    if not segments:
        return stored
    read = [_segment(arrays, stored.model.n_features, place) for arrays in segments]
    ours = (stored.point_names or [])[stored.model.n_points - skip :] if skip else []
    if merged(read).ids[:skip] != ours:
        raise ModelError(f"{place} has other documents than those read before: load it again")
    return checked(
        lambda: stored.with_segment(merged(read).after(skip, stored.model.n_labels)), "what was added", place
    )


def read_added(folder: str | os.PathLike[str], files: Sequence[File]) -> list[dict[str, np.ndarray]]:
    """Return the arrays of segments by their entries in the manifest; FileNotFoundError where one is gone by now."""
    found = []
    for file in files:
        with (Path(folder) / file.name).open("rb") as handle:
            found.append(content(handle, Path(folder), file, True))
    return found


def _segment(arrays: dict[str, np.ndarray], n_features: int, place: Path) -> Segment:
    return checked(lambda: Segment.from_arrays(arrays, n_features), "what was added", place)

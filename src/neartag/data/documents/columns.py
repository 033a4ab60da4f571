"""Which columns of a table hold the parts of a document."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from neartag.data.documents.fields import LABEL_FIELDS, Fields
from neartag.data.files import line_error

_OPTIONS = {"text": "--text-field", "labels": "--label-field", "id": "--id-field", "vector": "--vector-field"}


@dataclass(frozen=True)
class Columns:
    """The column numbers of a document's parts in the rows of a table."""

    text: list[int]
    labels: list[int]
    id: int | None
    vector: int | None


def find_columns(path: Path | str, header: list[str], fields: Fields, labelled: bool) -> Columns:
    """Return where a table has the parts of a document; DataError if a part that it must have is missing."""
    places: dict[str, int] = {}  # the first column of each name; a table may have many thousands
    repeats: dict[str, None] = {}
    for place, name in enumerate(header):
        if places.setdefault(name, place) != place:
            repeats[name] = None
    labels = fields.select_label_fields(places)
    wanted = wanted_columns(fields, labelled)
    missing = {repr(name): part for name, part in wanted.items() if name not in places}
    if labelled and not labels and fields.labels is None:
        missing[" or ".join(map(repr, LABEL_FIELDS))] = "labels"
    if missing:
        there = ", ".join(map(repr, header)) or "none"
        parts = dict.fromkeys(missing.values())
        python = ", ".join(f"{part}=…" for part in parts)
        name_it = f"name the right one by {', '.join(_OPTIONS[part] for part in parts)} (in Python Fields({python}))"
        raise line_error(
            path, 1, f"there is no column {', '.join(missing)}", f"the columns there are: {there}; {name_it}"
        )
    used = {*wanted, *labels, fields.id}
    repeated = [repr(name) for name in repeats if name in used]
    if repeated:
        raise line_error(path, 1, f"there is more than one column {', '.join(repeated)}", "give each a name of its own")
    return Columns(
        text=[places[name] for name in fields.text_fields],
        labels=[places[name] for name in labels] if labelled else [],
        id=None if fields.id is None else places.get(fields.id),
        vector=None if fields.vector is None else places[fields.vector],
    )


def wanted_columns(fields: Fields, labelled: bool) -> dict[str, str]:
    """Return the columns that a table must have, each with the setting that names it."""
    wanted = dict.fromkeys(fields.text_fields, "text")
    if fields.vector is not None:
        wanted.setdefault(fields.vector, "vector")
    if fields.id is not None and fields.id != Fields.id:
        wanted.setdefault(fields.id, "id")  # "id" is read if it is there; an id column that was asked for must be there
    if labelled and fields.labels is not None:
        for name in fields.label_fields:
            wanted.setdefault(name, "labels")
    return wanted

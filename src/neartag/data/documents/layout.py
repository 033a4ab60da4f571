"""How the rows of a table hold labels: names in cells, columns of 0 and 1, or a row for each label.

It is settled on the first rows. What they leave open is an error that names the setting.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from neartag.core.errors import DataError
from neartag.data.documents.cells import is_missing, parse_cells
from neartag.data.documents.columns import find_columns
from neartag.data.documents.fields import LABEL_FIELDS, Fields
from neartag.data.documents.label_cells import find_separator
from neartag.data.documents.parse import DocumentError

_MIN_REPEATED = 0.1  # of the rows have a text that another row has, with another label: a row for each label, perhaps
_INDICATORS = "--indicators (the columns of labels hold 0 or 1) or --no-indicators (their cells are names)"
_YES_NO = ({"yes", "no"}, {"y", "n"})

Rows = Sequence[Sequence[Any]]


def settle_layout(path: Path | str, header: list[str], rows: Rows, fields: Fields, labelled: bool) -> Fields:
    """Return the fields with nothing left open about labels, given the first rows of a table."""
    if not labelled:
        return settle_unlabelled(fields)
    fields = _settle_columns(path, header, rows, fields)
    columns = find_columns(path, header, fields, labelled)
    cells = [[row[column] for row in rows if column < len(row)] for column in columns.labels]
    fields = settle_cells(path, cells, fields)
    if fields.label_per_row is None:
        fields = replace(fields, label_per_row=_is_label_per_row(path, header, rows, fields))
    return fields


def settle_cells(path: Path | str, cells: list[list[Any]], fields: Fields) -> Fields:
    """Return the fields with what the cells of labels, a list for each field, say of indicators and separator."""
    if fields.indicators is None:
        fields = replace(fields, indicators=_are_indicators(path, cells))
    if fields.separator is None:
        names = [] if fields.indicators else [cell for column in cells for cell in column if isinstance(cell, str)]
        try:
            fields = replace(fields, separator=find_separator(names))
        except DataError as error:
            raise DataError(f"{path}: {error}") from None
    return fields


def settle_unlabelled(fields: Fields) -> Fields:
    """Return the fields with nothing left open, where labels are not needed: those that can be read are."""
    return replace(fields, separator=fields.separator or ";", indicators=bool(fields.indicators), label_per_row=False)


def is_flags(cells: Sequence[Any]) -> bool:
    """Return whether cells hold nothing but 0 and 1, or true and false."""
    words = _words(cells)
    return bool(words) and (words <= {"0", "1"} or words <= {"true", "false"})


def _settle_columns(path: Path | str, header: list[str], rows: Rows, fields: Fields) -> Fields:
    """Return the fields with the names of label columns: patterns written out, columns of 0 and 1 found."""
    if fields.labels is not None:
        names: list[str] = []
        for pattern in fields.label_fields:
            fitting = [name for name in header if fnmatchcase(name, pattern)] if pattern not in header else []
            names.extend(fitting or [pattern])
        return replace(fields, labels=tuple(dict.fromkeys(names)))
    if any(name in header for name in LABEL_FIELDS):
        return fields
    used = {*fields.text_fields, fields.id, fields.vector, ""}
    others = [name for name in header if name not in used]
    whole = [row for row in rows if len(row) == len(header)]
    places = {name: place for place, name in reversed(list(enumerate(header)))}  # the first column of a name
    flags = [name for name in others if is_flags([row[places[name]] for row in whole])]
    if len(flags) > 1 and (flags == others or fields.indicators):
        return replace(fields, labels=tuple(flags), indicators=True if fields.indicators is None else fields.indicators)
    if flags:
        listed = ", ".join(map(repr, flags[:5])) + (" …" if len(flags) > 5 else "")
        raise DataError(
            f"{path}:1: there is no column 'labels' or 'subjects', but columns of 0 and 1: {listed}; name those that "
            "are labels by --label-field, which may be repeated, or by a pattern such as --label-field 'tag_*'"
        )
    return fields


def _are_indicators(path: Path | str, cells: list[list[Any]]) -> bool:
    """Return whether the columns of labels hold 0 and 1; DataError where that cannot be told."""
    filled = [column for column in cells if _words(column)]
    flags = [is_flags(column) for column in filled]
    words = set().union(*map(_words, filled))
    if len(cells) > 1 and filled and all(flags) and words & {"0", "false"}:
        return True
    several = len(cells) > 1 and max(map(len, filled), default=0) > 1
    if (len(words) == 2 and all(flags)) or (several and (any(flags) or len(words) == 1 or words in _YES_NO)):
        held = " and ".join(map(repr, sorted(words)[:2]))
        raise DataError(
            f"{path}: the cells of labels hold {held}, which may be names or say yes and no; give {_INDICATORS}"
        )
    return False


def _is_label_per_row(path: Path | str, header: list[str], rows: Rows, fields: Fields) -> bool:
    """Return whether rows of one id are one document; DataError where equal texts leave it open."""
    columns = find_columns(path, header, fields, True)
    texts_of: dict[str, list[str]] = {}  # by id
    labels_of: dict[str, set[str]] = {}  # by text
    repeated = count = 0
    has_several = False
    for row in rows:
        try:
            raw = parse_cells(row, columns, header, fields)
        except (DocumentError, IndexError):
            continue
        count += 1
        has_several |= len(raw.labels) > 1
        if raw.id is not None:
            texts_of.setdefault(str(raw.id), []).append(raw.text.strip())
        known = labels_of.setdefault(raw.text, set())
        repeated += bool(known) and not known.issuperset(raw.labels)
        known.update(raw.labels)
    if any(len(texts) > 1 and len({*texts} - {""}) == 1 for texts in texts_of.values()):
        return True
    if repeated > 1 and repeated >= _MIN_REPEATED * count and not has_several:
        together = "name the column of its id by --id-field" if texts_of else "give --label-per-row"
        raise DataError(
            f"{path}: {repeated} of the first {count} rows have the text of another row, with another label; if these "
            f"are one document, {together}; otherwise give --document-per-row"
        )
    return False


def _words(cells: Sequence[Any]) -> set[str]:
    """Return the different values of cells in small letters, without empty ones; lists count as their texts."""
    words = set()
    for cell in cells:
        if not is_missing(cell) and (word := str(cell).strip().lower().removesuffix(".0")):
            words.add(word)
            if len(words) > 3:
                break
    return words

"""A row of cells, strings or other values, as a document."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from neartag.data.documents.columns import Columns
from neartag.data.documents.fields import Fields
from neartag.data.documents.parse import DocumentError, RawDocument, parse_vector

_YES = ("1", "true", "yes", "y", "x")
_NO = ("", "0", "false", "no", "n")
_EMPTY_TYPES = ("NAType", "NaTType")  # of pandas
_NAMES_REMEDY = "a label is a name or a whole number"


def parse_cells(row: Sequence[Any], columns: Columns, header: Sequence[str], fields: Fields) -> RawDocument:
    """Return the document in the cells of a row."""
    labels = [label for column in columns.labels for label in parse_labels(row[column], header[column], fields)]
    identity = None if columns.id is None else parse_identity(row[columns.id])
    vector = None if columns.vector is None else _parse_vector(row[columns.vector])
    return RawDocument(join_texts(row[column] for column in columns.text), labels, identity, vector)


def join_texts(cells: Iterable[Any]) -> str:
    """Return the texts of a document's cells as one text; cells without any are left out."""
    texts = ["" if is_missing(cell) else cell if isinstance(cell, str) else name_of(cell) for cell in cells]
    return texts[0] if len(texts) == 1 else "\n".join(text for text in texts if text.strip())


def parse_labels(cell: Any, name: str, fields: Fields) -> list[str]:
    """Return the labels in a cell, or, where a column is of one label, this label or none."""
    if fields.indicators:
        return [name] if read_flag(cell) else []
    if is_missing(cell):
        return []
    if isinstance(cell, str):
        try:
            return fields.split(cell)
        except ValueError as error:
            raise DocumentError(str(error), "give the right --separator") from None
    if isinstance(cell, Iterable) and not isinstance(cell, dict | bytes):
        return [name_of(each) for each in cell]
    return [name_of(cell)]


def read_flag(cell: Any) -> bool:
    """Return whether a cell of a column of 0 and 1 gives the label."""
    word = "" if is_missing(cell) else str(cell).strip().lower().removesuffix(".0")
    if word not in _YES and word not in _NO:
        raise DocumentError(f"a column of 0 and 1 holds {str(cell)[:40]!r}", "give --no-indicators if cells are names")
    return word in _YES


def parse_identity(cell: Any) -> str | None:
    """Return the id in a cell."""
    return None if is_missing(cell) else name_of(cell) or None


def name_of(value: Any) -> str:
    """Return a value as a name: 3.0, as spreadsheets and frames have whole numbers, is 3."""
    if isinstance(value, str):
        return str(value)  # of numpy's strings too
    if is_missing(value) or isinstance(value, bool | bytes | dict):
        raise DocumentError(f"a label, text or id is {str(value)[:40]}", _NAMES_REMEDY)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value)


def is_missing(value: Any) -> bool:
    """Return whether a cell is empty: None, or what frames have there."""
    return value is None or (isinstance(value, float) and value != value) or type(value).__name__ in _EMPTY_TYPES


def _parse_vector(cell: Any) -> Any:
    if isinstance(cell, str):
        return parse_vector(cell.strip().strip("[]()").replace(",", " ").split())
    if is_missing(cell):
        raise DocumentError("the vector is missing", "give each row its vector")
    return parse_vector(cell)

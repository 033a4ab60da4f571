"""A text with its labels, as every reader of texts gives it: where its parts stand in a file, and what they must be."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from neartag.core.errors import DataError, ParameterError
from neartag.data.files import fault

LABEL_FIELDS = ("labels", "subjects")
_MESSAGES = 5  # bad lines that are quoted; the rest are counted


class Document(NamedTuple):
    """One text and what belongs to it."""

    text: str
    labels: list[str]  # names, each once, in the file's order
    id: str | None
    vector: np.ndarray | None  # (dim,) float32, finite
    place: str  # file and line (of a Parquet file the row), as errors name them


@dataclass(frozen=True)
class Fields:
    """What a file calls the parts of a document: fields of JSON, columns of a table.

    Labels that stand in several fields are put together. In one cell of a table, or one string of a Parquet file,
    `separator` stands between them.
    """

    text: str = "text"
    labels: str | tuple[str, ...] | None = None  # None: the first of "labels" and "subjects" that is there
    id: str | None = "id"
    vector: str | None = None
    separator: str = ";"

    def __post_init__(self) -> None:
        """Refuse what cannot separate or name anything."""
        if not self.separator:
            raise ParameterError("separator='': must be what stands between two labels of a cell, such as ';'")
        if self.labels is not None and not self.labels:
            raise ParameterError(f"labels={self.labels!r}: must name a field, or be None")

    @property
    def label_fields(self) -> tuple[str, ...]:
        """The fields in which labels may stand."""
        if self.labels is None:
            return LABEL_FIELDS
        return (self.labels,) if isinstance(self.labels, str) else tuple(self.labels)

    def labels_among(self, present: Collection[str]) -> list[str]:
        """Return the fields, of those that are there, from which labels are taken."""
        there = [name for name in self.label_fields if name in present]
        return there[:1] if self.labels is None else there

    def split(self, cell: str) -> list[str]:
        """Return the labels of a cell, trimmed; what is empty is none."""
        return [label for part in cell.split(self.separator) if (label := part.strip())]


@dataclass
class BadLines:
    """What was passed over: how many lines, and what the first few errors say."""

    count: int = 0
    messages: list[str] = field(default_factory=list)

    def add(self, error: DataError) -> None:
        """Count an error, and keep what it says if it is one of the first."""
        self.count += 1
        if len(self.messages) < _MESSAGES:
            self.messages.append(str(error))


class Wrong(Exception):  # noqa: N818 (never seen by a caller)
    """What is wrong with one document, and the remedy; `attempted` adds where."""


class Parts(NamedTuple):
    """What a reader found of a document, not yet looked at."""

    text: str
    labels: Sequence[str]
    id: object = None
    vector: np.ndarray | None = None


@dataclass(frozen=True)
class Columns:
    """The places of a document's parts in the rows of a table."""

    text: int
    labels: list[int]
    id: int | None
    vector: int | None


def attempted(path: Path, number: int, make: Callable[..., Parts], *arguments: Any) -> Document | DataError:
    """Return the document that `make` finds in a line, or the error that says what is wrong there."""
    try:
        parts = make(*arguments)
        _check_unicode(parts.text, "the text")
        for label in parts.labels:
            _check_unicode(label, "a label", name=True)
        labels = list(dict.fromkeys(parts.labels))
        return Document(parts.text, labels, _id_of(parts.id), parts.vector, f"{path}:{number}")
    except Wrong as wrong:
        return fault(path, number, *wrong.args)
    except DataError as error:
        return error


def columns_of(path: Path, header: list[str], fields: Fields, labelled: bool) -> Columns:
    """Return where a table has the parts of a document; a part that it must have and has not is a DataError."""
    labels = fields.labels_among(header)
    wanted = [fields.text, *([fields.vector] if fields.vector is not None else [])]
    if fields.id is not None and fields.id != Fields.id:
        wanted.append(fields.id)  # "id" is taken where it is there; one that was asked for must be there
    if labelled and fields.labels is not None:
        wanted.extend(fields.label_fields)
    missing = [repr(name) for name in wanted if name not in header]
    if labelled and not labels and fields.labels is None:
        missing.append(" or ".join(map(repr, LABEL_FIELDS)))
    if missing:
        there = ", ".join(map(repr, header)) or "none"
        raise fault(path, 1, f"there is no column {', '.join(missing)}", f"the columns there are: {there}")
    used = {*wanted, *labels, fields.id}
    twice = [repr(name) for name in dict.fromkeys(header) if name in used and header.count(name) > 1]
    if twice:
        raise fault(path, 1, f"there is more than one column {', '.join(twice)}", "give each a name of its own")
    return Columns(
        text=header.index(fields.text),
        labels=[header.index(name) for name in labels],
        id=header.index(fields.id) if fields.id in header else None,
        vector=None if fields.vector is None else header.index(fields.vector),
    )


def vector_of(numbers: Any) -> np.ndarray:
    """Return numbers, or texts of numbers, as a vector; one that is empty or does not fit into float32 is refused."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            vector = np.asarray(numbers, dtype=np.float64).astype(np.float32)  # (dim,)
    except (ValueError, TypeError, OverflowError) as error:
        raise Wrong(f"the vector cannot be read ({error})", "a vector is a list of numbers") from error
    if vector.ndim != 1 or not vector.size:
        raise Wrong(f"the vector has the shape {vector.shape}", "a vector is a list of at least one number")
    if not np.isfinite(vector).all():
        place = int(np.flatnonzero(~np.isfinite(vector))[0])
        raise Wrong(f"number {place} of the vector is no finite float32", "correct it or leave the document out")
    return vector


def _id_of(value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise Wrong(f"the id is {str(value)[:40]}", "an id is a string or a whole number")
    identity = str(value)
    _check_unicode(identity, "the id", name=True)
    return identity


def _check_unicode(text: str, what: str, *, name: bool = False) -> None:
    """Refuse what no file could hold again, and in names the character that many programs take as a name's end."""
    if name and "\0" in text:
        raise Wrong(f"{what} holds a NUL character", "take it out")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise Wrong(f"{what} is not valid Unicode ({error.reason})", "correct or replace the character") from error

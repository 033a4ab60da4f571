"""A text with its labels, as every reader of texts yields it, and where a file has its parts."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from neartag.core.errors import DataError, ParameterError

LABEL_FIELDS = ("labels", "subjects")
_QUOTED_ERRORS = 5  # the rest are only counted


class Document(NamedTuple):
    """One text and what belongs to it.

    Parameters
    ----------
    text : str
    labels : list of str
        Label names, none twice, in the order of the file.
    id : str or None
    vector : ndarray of shape (dim,) or None
        Finite float32 numbers.
    place : str
        File and line as errors name them; of a Parquet file, file and row.

    Examples
    --------
    >>> from neartag.data.documents import Document
    >>> Document("a game of chess", ["game::board"], "gnuchess", None, "docs.jsonl:1").labels
    ['game::board']
    """

    text: str
    labels: list[str]
    id: str | None
    vector: np.ndarray | None  # (dim,)
    place: str


@dataclass(frozen=True)
class Fields:
    """What a file calls the parts of a document: fields of a JSON object, or columns of a table.

    Parameters
    ----------
    text : str, default "text"
    labels : str or tuple of str, optional
        Labels in several fields are joined. By default: "labels", or where a document has none, "subjects".
    id : str or None, default "id"
        None: ids are not read.
    vector : str, optional
        By default vectors are not read.
    separator : str, default ";"
        Stands between two labels in one cell of a table, or in one string of a Parquet file.

    Raises
    ------
    ParameterError
        If the separator or a name is empty.

    Examples
    --------
    >>> from neartag.data.documents import Fields
    >>> Fields(text="title", labels=("topic", "place")).label_fields
    ('topic', 'place')
    """

    text: str = "text"
    labels: str | tuple[str, ...] | None = None
    id: str | None = "id"
    vector: str | None = None
    separator: str = ";"

    def __post_init__(self) -> None:
        """Refuse an empty separator and empty names."""
        if not self.separator:
            raise ParameterError("separator='': must be what stands between two labels of a cell, such as ';'")
        if self.labels is not None and not self.labels:
            raise ParameterError(f"labels={self.labels!r}: must name a field, or be None")

    @property
    def label_fields(self) -> tuple[str, ...]:
        """The fields that may have labels."""
        if self.labels is None:
            return LABEL_FIELDS
        return (self.labels,) if isinstance(self.labels, str) else tuple(self.labels)

    def select_label_fields(self, present: Collection[str]) -> list[str]:
        """Return the fields from which labels are taken, given those that are present."""
        there = [name for name in self.label_fields if name in present]
        return there[:1] if self.labels is None else there

    def split(self, cell: str) -> list[str]:
        """Return the labels in a cell, without blanks around them; empty ones are left out."""
        return [label for part in cell.split(self.separator) if (label := part.strip())]


@dataclass
class BadLines:
    """What was skipped: how many lines, and the messages of the first few errors.

    Examples
    --------
    >>> from neartag.core.errors import DataError
    >>> from neartag.data.documents import BadLines
    >>> bad = BadLines()
    >>> bad.add(DataError("docs.jsonl:7: there is no 'text'"))
    >>> bad
    BadLines(count=1, messages=["docs.jsonl:7: there is no 'text'"])
    """

    count: int = 0
    messages: list[str] = field(default_factory=list)

    def add(self, error: DataError) -> None:
        """Count an error; keep its message if it is one of the first."""
        self.count += 1
        if len(self.messages) < _QUOTED_ERRORS:
            self.messages.append(str(error))

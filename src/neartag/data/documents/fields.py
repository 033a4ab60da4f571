"""Where a file has the parts of a document, and how its tables are written: what is given, and what is left open.

A setting that is None is found on the beginning of the file (`read.resolve_fields`). What cannot be told for sure is an
error that names the setting.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from neartag.core.errors import ParameterError
from neartag.data.documents.label_cells import LIST, NONE, check_separator, split_cell

LABEL_FIELDS = ("labels", "subjects")
QUOTINGS = ("double", "single", "backslash", "spaced", "none")
_CHARACTERS = {"tab": "\t", "\\t": "\t", "newline": "\n", "\\n": "\n", "space": " "}


@dataclass(frozen=True)
class Fields:
    """What a file calls the parts of a document: fields of a JSON object, or columns of a table.

    Parameters
    ----------
    text : str or tuple of str, default "text"
        Texts of several fields are joined, each on a line of its own.
    labels : str or tuple of str, optional
        Labels in several fields are joined. In a table a name may be a pattern, such as "tag_*". By default: "labels",
        or where a document has none, "subjects"; in a table without both, columns of 0 and 1.
    id : str or None, default "id"
        None: ids are not read.
    vector : str, optional
        By default vectors are not read.
    separator : str, optional
        Stands between two labels in one cell of a table, or in one string. "none": a cell is one label. "list": a cell
        is a list in brackets. "angle": a cell is <a><b>. By default it is found.
    delimiter : str, optional
        Stands between two cells of a CSV or TSV file. By default it is found.
    encoding : str, optional
        Of a text file, as Python names it, such as "cp1252". By default it is found in tables, and UTF-8 elsewhere.
    quoting : str, optional
        How cells with delimiters are written in a CSV or TSV file: in "double" or "single" quotes (a quote inside is
        doubled), in double quotes with "backslash" before a quote, in double quotes after a blank ("spaced"), or
        "none". By default it is found.
    indicators : bool, optional
        Whether each field of labels holds 0 or 1 for the label that is its name. By default it is found.
    label_per_row : bool, optional
        Whether rows of the same id (without ids: of the same text) are one document with the labels of all of them.
        By default it is found.
    sheet : str, optional
        Of an Excel file. By default its only sheet.

    Raises
    ------
    ParameterError
        If a setting cannot be used.

    Examples
    --------
    >>> from neartag.data.documents import Fields
    >>> Fields(text="title", labels=("topic", "place")).label_fields
    ('topic', 'place')
    """

    text: str | tuple[str, ...] = "text"
    labels: str | tuple[str, ...] | None = None
    id: str | None = "id"
    vector: str | None = None
    separator: str | None = None
    delimiter: str | None = None
    encoding: str | None = None
    quoting: str | None = None
    indicators: bool | None = None
    label_per_row: bool | None = None
    sheet: str | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be used, and put characters in place of their names."""
        for name in ("separator", "delimiter"):
            value = getattr(self, name)
            object.__setattr__(self, name, _CHARACTERS.get(value, value))
        if self.separator is not None:
            check_separator(self.separator)
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter in "\"'\\\r\n"):
            raise ParameterError(f"delimiter={self.delimiter!r}: must be one character, such as ';', or 'tab'")
        if self.quoting not in (None, *QUOTINGS):
            raise ParameterError(f"quoting={self.quoting!r}: must be {', '.join(QUOTINGS[:-1])} or {QUOTINGS[-1]}")
        if self.labels is not None and not self.labels:
            raise ParameterError(f"labels={self.labels!r}: must name a field, or be None")
        if not self.text:
            raise ParameterError(f"text={self.text!r}: must name a field")
        if self.encoding is not None:
            _check_encoding(self.encoding)

    @property
    def text_fields(self) -> tuple[str, ...]:
        """The fields whose texts are joined."""
        return (self.text,) if isinstance(self.text, str) else tuple(self.text)

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
        return split_cell(cell, self.separator or ";")

    def describe_separator(self) -> str:
        """Return in words how labels stand in a cell."""
        names = {NONE: "one in a cell", LIST: "a list in brackets", "angle": "as <a><b>"}
        return names.get(self.separator or ";", f"separated by {self.separator or ';'!r}")


def _check_encoding(name: str) -> None:
    """Refuse what is no encoding of texts."""
    try:
        "a".encode(name)
    except (LookupError, ValueError) as error:
        raise ParameterError(f"encoding={name!r}: is not known; try utf-8, cp1252, latin-1 or utf-16") from error

"""Documents from data frames of pandas and polars, which are known by how they behave: neither is imported."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from neartag.core.errors import DataError, ParameterError
from neartag.data.documents.cells import join_texts, parse_cells
from neartag.data.documents.columns import find_columns
from neartag.data.documents.document import Document
from neartag.data.documents.fields import Fields
from neartag.data.documents.grouping import group_rows
from neartag.data.documents.layout import settle_layout
from neartag.data.documents.parse import DocumentError, DocumentsOrErrors, parse_document

_SAMPLE_ROWS = 2000
_NAME = "the frame"
_FIELDS = Fields()


def is_frame(value: Any) -> bool:
    """Return whether a value is a data frame: it has columns, and a way to its rows."""
    return hasattr(value, "columns") and (hasattr(value, "itertuples") or hasattr(value, "iter_rows"))


def read_frame(frame: Any, fields: Fields | None = None) -> Iterator[Document]:
    """Yield the labelled documents of a frame, as a table of the same columns would give them."""
    header = [str(name) for name in frame.columns]
    fields = settle_layout(_NAME, header, list(islice(_rows(frame), _SAMPLE_ROWS)), fields or _FIELDS, labelled=True)
    columns = find_columns(_NAME, header, fields, labelled=True)

    def read() -> DocumentsOrErrors:
        for number, row in enumerate(_rows(frame), start=1):
            yield parse_document(_NAME, number, parse_cells, row, columns, header, fields)

    for document in group_rows(read) if fields.label_per_row else read():
        if isinstance(document, DataError):
            raise document
        yield document


def frame_texts(frame: Any, fields: Fields | None = None) -> list[str]:
    """Return the texts of a frame, a row each; ParameterError where it has no such column."""
    header = [str(name) for name in frame.columns]
    wanted = (fields or _FIELDS).text_fields
    missing = [name for name in wanted if name not in header]
    if missing:
        raise ParameterError(
            f"the frame has no column {missing[0]!r}, only {', '.join(map(repr, header))}: give its column of texts, "
            "such as frame['body'], or fields=Fields(text='body')"
        )
    columns = [header.index(name) for name in wanted]
    try:
        return [join_texts(row[column] for column in columns) for row in _rows(frame)]
    except DocumentError as error:
        raise ParameterError(f"the frame cannot be read: {'; '.join(error.args)}") from error


def _rows(frame: Any) -> Iterator[Sequence[Any]]:
    return frame.itertuples(index=False, name=None) if hasattr(frame, "itertuples") else frame.iter_rows()

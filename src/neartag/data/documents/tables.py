"""Documents from tables with a header: CSV with commas between cells, TSV with tabs, quoted in the same way."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import IO

from neartag.core.errors import DataError
from neartag.data.documents.columns import Columns, find_columns
from neartag.data.documents.document import Fields
from neartag.data.documents.parse import (
    DocumentError,
    DocumentsOrErrors,
    RawDocument,
    decode_line,
    parse_document,
    parse_vector,
)
from neartag.data.files import line_error, open_to_read

# A quote that is never closed would take the rest of the file into one cell, and csv needs 4 bytes per character.
MAX_CELL_CHARACTERS = 2**25
_REMEDY = "a cell in quotes ends with a quote, and a quote inside it is doubled"


def read_csv(path: Path, fields: Fields, labelled: bool, *, max_cell: int = MAX_CELL_CHARACTERS) -> DocumentsOrErrors:
    """Yield the documents of a table with a header and commas between its cells."""
    return _read_table(path, fields, labelled, ",", max_cell)


def read_tsv(path: Path, fields: Fields, labelled: bool, *, max_cell: int = MAX_CELL_CHARACTERS) -> DocumentsOrErrors:
    """Yield the documents of a table with a header and tabs between its cells, quoted as in CSV."""
    return _read_table(path, fields, labelled, "\t", max_cell)


class _TableLines:
    """The lines of a table as csv's reader wants them; keeps the first error in those that it took."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream = stream
        self.error: tuple[int, DocumentError] | None = None

    def __iter__(self) -> Iterator[str]:
        for number, line in enumerate(self.stream, start=1):
            try:
                text = decode_line(line, number)
            except DocumentError as error:
                # The parser must see the line all the same, to find where the row ends.
                self.error = self.error or (number, error)
                text = line.decode(errors="replace").replace("\0", "\N{REPLACEMENT CHARACTER}")
            yield text


def _read_table(path: Path, fields: Fields, labelled: bool, delimiter: str, max_cell: int) -> DocumentsOrErrors:
    # csv has one limit for all its readers in a process, so it is never made smaller.
    csv.field_size_limit(max(csv.field_size_limit(), max_cell))
    with open_to_read(path) as stream:
        rows = _read_rows(path, stream, delimiter)
        _, header = next(rows, (1, None))
        if header is None:
            raise line_error(path, 1, "the file is empty", "begin it with a line of the columns' names")
        if isinstance(header, DataError):
            raise header
        header = [name.strip() for name in header]
        columns = find_columns(path, header, fields, labelled)
        for number, row in rows:
            if isinstance(row, DataError):
                yield row
            else:
                yield parse_document(path, number, _parse_row, row, columns, len(header), fields)


def _read_rows(path: Path, stream: IO[bytes], delimiter: str) -> Iterator[tuple[int, list[str] | DataError]]:
    """Yield the first line number of each row, and its cells or its error; empty lines are no rows."""
    lines = _TableLines(stream)
    parser = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        number = parser.line_num + 1
        lines.error = None
        row: list[str] | DataError | None
        try:
            row = next(parser, None)
        except csv.Error as error:
            row = line_error(path, number, f"cannot be read as a row of cells ({error})", _REMEDY)
        if lines.error is not None:
            row = line_error(path, lines.error[0], *lines.error[1].args)
        if row is None:
            return
        if row != []:
            yield number, row


def _parse_row(row: list[str], columns: Columns, width: int, fields: Fields) -> RawDocument:
    if len(row) != width:
        raise DocumentError(f"there are {len(row)} cells, but {width} in the header", _REMEDY)
    labels = list(chain.from_iterable(fields.split(row[column]) for column in columns.labels))
    identity = None if columns.id is None else row[columns.id] or None
    vector = None
    if columns.vector is not None:
        vector = parse_vector(row[columns.vector].strip().strip("[]()").replace(",", " ").split())
    return RawDocument(row[columns.text], labels, identity, vector)

"""Documents from tables with a header: CSV and TSV, whatever stands between cells and around them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO

from neartag.core.errors import DataError
from neartag.data.documents.cells import parse_cells
from neartag.data.documents.columns import Columns, find_columns
from neartag.data.documents.dialect import FORMATS, MAX_CELL_CHARACTERS, allow_large_cells, delimiter_hint, find_dialect
from neartag.data.documents.document import Document
from neartag.data.documents.encodings import UTF8, find_encoding, is_by_lines
from neartag.data.documents.fields import Fields
from neartag.data.documents.layout import settle_layout, settle_unlabelled
from neartag.data.documents.parse import DocumentError, DocumentsOrErrors, RawDocument, decode_line, parse_document
from neartag.data.files import line_error, open_to_read
from neartag.data.read_limits import iterate_lines

SAMPLE_BYTES = 2**20  # of the file, on which everything left open is settled
_REMEDY = (
    "a cell in quotes ends with a quote, and a quote inside it is doubled; --delimiter and --quoting say otherwise"
)
_SAVED_AS = "save the file as UTF-8, or give its encoding by --encoding"
_ZIP_START = b"PK\x03\x04"


def read_csv(path: Path, fields: Fields, labelled: bool, *, max_cell: int = MAX_CELL_CHARACTERS) -> DocumentsOrErrors:
    """Yield the documents of a table with a header; `settle_csv` says how fields are settled first."""
    with open_csv(path, fields, labelled, max_cell=max_cell) as (_, rows):
        for _, document in rows:
            yield document


@contextmanager
def open_csv(
    path: Path, fields: Fields, labelled: bool, *, max_cell: int = MAX_CELL_CHARACTERS
) -> Iterator[tuple[list[str], Iterator[tuple[list[str], Document | DataError]]]]:
    """Open a table: its header, and every row's cells, as they are, with its document or what is wrong with it."""
    allow_large_cells(max_cell)
    with open_to_read(path) as stream:
        rows = _read_rows(path, stream, fields)
        _, header = next(rows, (1, None))
        if header is None:
            raise line_error(path, 1, "the file is empty", "begin it with a line of the columns' names")
        if isinstance(header, DataError):
            raise header
        names = [name.strip() for name in header]
        columns = find_columns(path, names, fields, labelled)

        def parse(number: int, row: list[str] | DataError) -> tuple[list[str], Document | DataError]:
            if isinstance(row, DataError):
                return [], row
            return row, parse_document(path, number, _parse_row, row, columns, names, fields)

        yield header, (parse(*each) for each in rows)


def settle_csv(path: Path, fields: Fields, labelled: bool) -> Fields:
    """Return the fields with nothing left open, by the beginning of a file whose usual delimiter is a comma."""
    return _settle(path, fields, labelled, ",")


def settle_tsv(path: Path, fields: Fields, labelled: bool) -> Fields:
    """Return the fields with nothing left open, by the beginning of a file whose usual delimiter is a tab."""
    return _settle(path, fields, labelled, "\t")


def _settle(path: Path, fields: Fields, labelled: bool, usual: str) -> Fields:
    with open_to_read(path) as stream:
        sample = stream.read(SAMPLE_BYTES)
    if sample.startswith(_ZIP_START):
        remedy = "if it is an Excel file, let its name end in .xlsx; else unpack it"
        raise line_error(path, 1, "this is no text but a zip archive, as Excel files are", remedy)
    is_cut = len(sample) == SAMPLE_BYTES
    encoding = fields.encoding or find_encoding(sample[: sample.rfind(b"\n") + 1] if is_cut else sample)
    fields = replace(fields, encoding=encoding)
    text = sample.decode(encoding, errors="replace").removeprefix("\ufeff").replace("\0", "\N{REPLACEMENT CHARACTER}")
    fields, parsed = find_dialect(path, text, is_cut, fields, labelled, usual)
    if not parsed.rows or any("\N{REPLACEMENT CHARACTER}" in name for name in parsed.rows[0]):
        return settle_unlabelled(fields)  # reading it tells what is wrong
    header = [name.strip() for name in parsed.rows[0]]
    rows = [row for row in parsed.rows[1:] if len(row) == len(header)]
    return settle_layout(path, header, rows, fields, labelled)


class _TableLines:
    """The lines of a table as csv's reader wants them; keeps the first error in those that it took."""

    def __init__(self, stream: IO[bytes], encoding: str, path: Path) -> None:
        self.stream, self.encoding, self.path = stream, encoding, path
        self.n_skipped = 0
        self.error: tuple[int, DocumentError] | None = None

    def __iter__(self) -> Iterator[str]:
        for number, line in enumerate(self._read(), start=1):
            if number == 1:
                line = line.removeprefix("\ufeff")
                self.n_skipped = int(delimiter_hint(line) is not None)
            if number > self.n_skipped:
                yield line

    def _read(self) -> Iterator[str]:
        if not is_by_lines(self.encoding):
            try:
                yield from iterate_lines(io.TextIOWrapper(self.stream, self.encoding, newline="\n"), self.path)
            except UnicodeError as error:
                raise DataError(f"cannot be read as {self.encoding} ({error}); {_SAVED_AS}") from error
            return
        for number, line in enumerate(iterate_lines(self.stream, self.path), start=1):
            try:
                text = decode_line(line, number, self.encoding)
            except DocumentError as error:
                # The parser must see the line all the same, to find where the row ends.
                self.error = self.error or (number, error)
                text = line.decode(self.encoding, errors="replace").replace("\0", "\N{REPLACEMENT CHARACTER}")
            yield text


def _read_rows(path: Path, stream: IO[bytes], fields: Fields) -> Iterator[tuple[int, list[str] | DataError]]:
    """Yield the first line number of each row, and its cells or its error; empty lines are no rows."""
    lines = _TableLines(stream, fields.encoding or UTF8, path)
    how = FORMATS[fields.quoting or "double"]
    parser = csv.reader(lines, delimiter=fields.delimiter or ",", strict=True, **how)
    while True:
        number = parser.line_num + 1
        lines.error = None
        row: list[str] | DataError | None
        try:
            row = next(parser, None)
        except csv.Error as error:
            row = line_error(path, number + lines.n_skipped, f"cannot be read as a row of cells ({error})", _REMEDY)
        except DataError as error:
            raise line_error(path, number + lines.n_skipped, *str(error).split("; ", 1)) from error
        if lines.error is not None:
            row = line_error(path, lines.error[0], *lines.error[1].args)
        if row is None:
            return
        if row != []:
            yield number + lines.n_skipped, row


def _parse_row(row: list[str], columns: Columns, header: list[str], fields: Fields) -> RawDocument:
    if len(row) != len(header):
        raise DocumentError(f"there are {len(row)} cells, but {len(header)} in the header", _REMEDY)
    return parse_cells(row, columns, header, fields)

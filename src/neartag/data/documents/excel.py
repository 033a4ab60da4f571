"""Documents from Excel files; only this reader needs openpyxl, which `neartag[excel]` installs.

Rows are read one at a time. Formulas count with the values that Excel saved; where it saved none, that is told. A file
of several sheets needs `--sheet`.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime
from itertools import islice
from pathlib import Path
from typing import Any

from neartag.core.errors import DataError, NeartagError
from neartag.core.extras import install_hint
from neartag.data.documents.cells import parse_cells
from neartag.data.documents.columns import Columns, find_columns
from neartag.data.documents.document import Document
from neartag.data.documents.excel_formulas import warn_of_unsaved_formulas
from neartag.data.documents.fields import Fields
from neartag.data.documents.layout import settle_layout
from neartag.data.documents.parse import DocumentError, DocumentsOrErrors, RawDocument, parse_document
from neartag.data.files import line_error, open_to_read
from neartag.data.read_limits import check_zip

_SAMPLE_ROWS = 2000


def read_excel(path: Path, fields: Fields, labelled: bool) -> DocumentsOrErrors:
    """Yield the documents of a sheet; their places are row numbers, as Excel shows them."""
    with open_excel(path, fields, labelled) as (_, rows):
        for _, document in rows:
            yield document


@contextmanager
def open_excel(
    path: Path, fields: Fields, labelled: bool
) -> Iterator[tuple[list[str], Iterator[tuple[list[Any], Document | DataError]]]]:
    """Open a sheet: its header, and every row's values, as they are, with its document or what is wrong with it."""
    with _open_sheet(path, fields.sheet) as rows:
        header = _read_header(path, rows)
        columns = find_columns(path, header, fields, labelled)

        def parse(number: int, row: list[Any]) -> tuple[list[Any], Document | DataError]:
            cells = [*row[: len(header)], *[None] * (len(header) - len(row))]
            return cells, parse_document(path, number, _parse_row, row, columns, header, fields)

        yield header, (parse(*each) for each in rows)


def settle_excel(path: Path, fields: Fields, labelled: bool) -> Fields:
    """Return the fields with nothing left open, by the first rows of the sheet."""
    with _open_sheet(path, fields.sheet, warn=True) as rows:
        header = _read_header(path, rows)
        first = [
            [_to_value(cell) for cell in [*row, *[None] * len(header)][: len(header)]]
            for _, row in islice(rows, _SAMPLE_ROWS)
        ]
    return settle_layout(path, header, first, fields, labelled)


@contextmanager
def _open_sheet(path: Path, sheet: str | None, *, warn: bool = False) -> Iterator[Iterator[tuple[int, list[Any]]]]:
    """Open a sheet: an iterator of its rows that are not empty, with their numbers; `warn` of missing values."""
    try:
        import openpyxl
    except ImportError as error:
        raise DataError(install_hint(f"{path}: reading Excel files needs openpyxl", "excel")) from error
    with open_to_read(path) as stream:
        with _report_damage(path):
            check_zip(path, stream)
            book = openpyxl.load_workbook(stream, read_only=True, data_only=True)
            chosen = _choose_sheet(path, book, sheet)
            if warn:
                warn_of_unsaved_formulas(path, chosen.title, openpyxl)
        yield _read_rows(path, chosen)


@contextmanager
def _report_damage(path: Path) -> Iterator[None]:
    """Turn what openpyxl raises into a DataError: of a damaged file it may be any exception."""
    try:
        yield
    except (NeartagError, OSError, EOFError, zlib.error, MemoryError):
        raise  # told by others
    except Exception as error:
        raise DataError(f"{path}: is damaged or no Excel file of the kind .xlsx ({error})") from error


def _choose_sheet(path: Path, book: Any, name: str | None) -> Any:
    listed = ", ".join(map(repr, book.sheetnames))
    if name is not None:
        if name not in book.sheetnames:
            raise DataError(f"{path}: there is no sheet {name!r}; its sheets are {listed}")
        return book[name]
    filled = [sheet for sheet in book.worksheets if next(_read_rows(path, sheet), None) is not None]
    if len(filled) > 1:
        raise DataError(f"{path}: has several sheets, {listed}; name the one to read by --sheet")
    if not filled:
        raise line_error(path, 1, "the file is empty", "begin it with a row of the columns' names")
    return filled[0]


def _read_rows(path: Path, sheet: Any) -> Iterator[tuple[int, list[Any]]]:
    with _report_damage(path):
        sheet.reset_dimensions()  # some programs write them wrong, and rows would be cut
        for number, row in enumerate(sheet.iter_rows(values_only=True), start=1):
            if any(cell not in (None, "") for cell in row):
                yield number, list(row)


def _to_value(cell: Any) -> Any:
    return cell.isoformat(" ") if isinstance(cell, datetime) else cell.isoformat() if isinstance(cell, date) else cell


def _read_header(path: Path, rows: Iterator[tuple[int, list[Any]]]) -> list[str]:
    _, row = next(rows, (1, None))
    if row is None:
        raise line_error(path, 1, "the sheet is empty", "begin it with a row of the columns' names")
    header = ["" if cell is None else str(_to_value(cell)).strip() for cell in row]
    while not header[-1]:
        header.pop()
    return header


def _fit(row: list[Any], width: int) -> list[Any]:
    """Return a row as long as the header; Excel keeps no empty cells at the end."""
    if any(cell not in (None, "") for cell in row[width:]):
        raise DocumentError(f"there are cells to the right of the {width} columns", "give each column a name")
    return [*row[:width], *[None] * (width - len(row))]


def _parse_row(row: list[Any], columns: Columns, header: list[str], fields: Fields) -> RawDocument:
    return parse_cells([_to_value(cell) for cell in _fit(row, len(header))], columns, header, fields)

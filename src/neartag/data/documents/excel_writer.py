"""A table written as an Excel file, row by row; needs openpyxl, which `neartag[excel]` installs.

Texts are always written as texts: one that begins with = does not become a formula.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import IO, Any

from neartag.core.errors import DataError
from neartag.core.extras import install_hint
from neartag.data.documents.added_columns import AddedColumns, Answer
from neartag.data.documents.table_writers import Writer, align, as_text
from neartag.data.documents.whole_rows import Chunk

MAX_ROWS = 2**20  # of a sheet, the header among them
MAX_CELL_CHARACTERS = 32_767
_OTHERWISE = "write CSV, JSON lines or Parquet instead"
_OWN_TYPES = (bool, int, float, datetime, date, time, timedelta)
_MAX_WHOLE_NUMBER = 2**53  # Excel has floating point numbers only


@contextmanager
def open_excel_writer(path: Path, stream: IO[bytes], header: list[str], added: AddedColumns) -> Iterator[Writer]:
    """Open a sheet to write it; the file is written at the end, from a temporary one that holds the rows."""
    try:
        from openpyxl import Workbook
    except ImportError as error:
        raise DataError(install_hint(f"{path}: writing Excel files needs openpyxl", "excel")) from error
    book = Workbook(write_only=True)
    sheet = book.create_sheet("tagged")
    try:
        yield _ExcelWriter(path, sheet, header, added)
    except BaseException:
        sheet.close()  # or it would complain, when it is collected, that nobody did
        raise
    book.save(stream)


class _ExcelWriter:
    def __init__(self, path: Path, sheet: Any, header: list[str], added: AddedColumns) -> None:
        self._path, self._sheet, self._header, self._added, self._n_rows = path, sheet, header, added, 0
        self._append([*header, *added.names])

    def write(self, chunk: Chunk, answers: Sequence[Answer]) -> None:
        for cells, answer in zip(chunk.rows(), answers, strict=True):
            labels, scores, _ = self._added.as_cells(answer)
            self._append([*align(cells, self._header), labels, scores, answer.found])

    def _append(self, cells: list[Any]) -> None:
        self._n_rows += 1
        if self._n_rows > MAX_ROWS:
            raise DataError(f"{self._path}: an Excel sheet holds {MAX_ROWS:,} rows at most: {_OTHERWISE}")
        self._sheet.append([self._to_cell(cell) for cell in cells])

    def _to_cell(self, value: Any) -> Any:
        from openpyxl.cell import WriteOnlyCell
        from openpyxl.utils.exceptions import IllegalCharacterError

        if value is None or value == "":
            return None
        is_large = isinstance(value, int) and not isinstance(value, bool) and abs(value) > _MAX_WHOLE_NUMBER
        if isinstance(value, _OWN_TYPES) and not is_large and value == value and getattr(value, "tzinfo", None) is None:
            return value
        text = as_text(value)
        if len(text) > MAX_CELL_CHARACTERS:
            raise DataError(
                f"{self._path}: row {self._n_rows} has a cell of {len(text):,} characters, and Excel's hold "
                f"{MAX_CELL_CHARACTERS:,} at most: {_OTHERWISE}"
            )
        try:
            cell = WriteOnlyCell(self._sheet, text)
        except IllegalCharacterError as error:
            raise DataError(
                f"{self._path}: row {self._n_rows} has a control character, which Excel cannot hold: {_OTHERWISE}"
            ) from error
        cell.data_type = "s"  # whatever the text looks like
        return cell

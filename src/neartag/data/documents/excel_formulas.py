"""Formulas of Excel files whose values were never saved: they are read as empty cells, and that is told.

A spreadsheet program saves the value beside each formula. Programs that only write files do not.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any
from zipfile import ZipFile

from neartag.data.files import open_to_read

_FORMULA = (b"<f>", b"<f ")
_CHUNK = 2**20


def warn_of_unsaved_formulas(path: Path, sheet: str, openpyxl: Any) -> None:
    """Warn where formulas of a sheet have no saved value, and name the first cell."""
    with open_to_read(path) as stream:
        if not _has_formulas(stream):  # most files: the second reading is spared
            return
        stream.seek(0)
        formulas = openpyxl.load_workbook(stream, read_only=True)[sheet]
        with open_to_read(path) as again:
            values = openpyxl.load_workbook(again, read_only=True, data_only=True)[sheet]
            cells = list(_find_unsaved(formulas, values))
    if cells:
        more = f", and those of {len(cells) - 1} more" if len(cells) > 1 else ""
        warnings.warn(
            f"{path}: the formula of cell {cells[0]} has no saved value{more}: read as empty. Open the file in a "
            "spreadsheet program and save it",
            UserWarning,
            stacklevel=2,
        )


def _has_formulas(stream: IO[bytes]) -> bool:
    with ZipFile(stream) as parts:
        for name in parts.namelist():
            if not name.startswith("xl/worksheets/") or not name.endswith(".xml"):
                continue
            with parts.open(name) as content:
                end = b""
                while chunk := content.read(_CHUNK):
                    if any(mark in end + chunk for mark in _FORMULA):
                        return True
                    end = chunk[-2:]
    return False


def _find_unsaved(formulas: Any, values: Any) -> Iterator[str]:
    """Yield the names of cells that have a formula and no value."""
    for sheet in (formulas, values):
        sheet.reset_dimensions()  # as where rows are read
    for row, saved in zip(formulas.iter_rows(), values.iter_rows(values_only=True), strict=True):
        for cell, value in zip(row, saved, strict=True):
            if value is None and cell.data_type == "f":
                yield cell.coordinate

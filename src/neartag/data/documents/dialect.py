"""What stands between the cells of a CSV or TSV file, and how cells are quoted, found on its beginning.

The header decides: read in the right way, it has the columns that are asked for. Where several ways of quoting give
them, plain CSV (double quotes, doubled inside) is taken, unless only another one gives rows that are all as long as the
header. Where two ways fit and give different rows, that is an error which names `--quoting`.
"""

from __future__ import annotations

import csv
import re
from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import product, repeat
from pathlib import Path
from typing import Any, NamedTuple

from neartag.core.errors import DataError
from neartag.data.documents.columns import wanted_columns
from neartag.data.documents.fields import QUOTINGS, Fields

DELIMITERS = (",", ";", "\t", "|")
FORMATS: dict[str, dict[str, Any]] = {  # of csv's reader, for each way of quoting
    "double": {"quotechar": '"', "doublequote": True},
    "single": {"quotechar": "'", "doublequote": True},
    "backslash": {"quotechar": '"', "doublequote": False, "escapechar": "\\"},
    "spaced": {"quotechar": '"', "doublequote": True, "skipinitialspace": True},
    "none": {"quoting": csv.QUOTE_NONE},
}
_HINT = re.compile(r'"?sep=(.)"?[;,\t|]*\r?\n?')  # Excel's own first line, which is no part of the table
# A quote that is never closed would take the rest of the file into one cell, and csv needs 4 bytes per character.
MAX_CELL_CHARACTERS = 2**25

Way = tuple[str, str]  # a delimiter, and a way of quoting


class Parsed(NamedTuple):
    """The rows of a sample; `clean` where none is wrong, and all are as long as the header."""

    rows: list[list[str]]
    clean: bool


def delimiter_hint(line: str) -> str | None:
    """Return the delimiter that a first line such as sep=; names; None where the first line is the header."""
    match = _HINT.fullmatch(line)
    return match[1] if match else None


def find_dialect(
    path: Path, sample: str, is_cut: bool, fields: Fields, labelled: bool, usual: str
) -> tuple[Fields, Parsed]:
    """Return the fields with delimiter and quoting, and the rows of the sample; `usual` is the ending's delimiter."""
    first, _, rest = sample.partition("\n")
    hint = delimiter_hint(first)
    if hint is not None:
        sample, usual = rest, hint
    delimiters = (
        [fields.delimiter] if fields.delimiter else [hint] if hint else sorted(DELIMITERS, key=lambda d: d != usual)
    )
    quotings = [fields.quoting] if fields.quoting else QUOTINGS
    ways = [way for way in product(delimiters, quotings) if _has_columns(sample, *way, fields, labelled)]
    if not ways:  # the error that tells of missing columns names those of the likeliest way
        ways = [max(product(delimiters, quotings[:1]), key=lambda way: len(_read_header(sample, *way)))]
    likely = [way for way in ways if fields.quoting or _may_be(sample, *way)] or ways[:1]
    parsed = {way: parse(sample, *way, is_cut=is_cut) for way in likely}
    clean = [way for way in likely if parsed[way].clean]
    best = next((way for way in clean if way[1] == "double"), (clean or likely)[0])
    for name, shows in (("single", _shows_single_quotes), ("spaced", _shows_late_quotes)):
        other = (best[0], name)
        if other in clean and best in clean and shows(parsed[best].rows, parsed[other].rows):
            best = other
    for other, rival in parsed.items():
        if other[0] == best[0] and rival.clean and parsed[best].clean and _differ(best, parsed[best], other, rival):
            raise DataError(
                f"{path}: its cells may be quoted in two ways, {best[1]} and {other[1]}; say which by --quoting "
                f"(in Python Fields(quoting=…)): {', '.join(QUOTINGS)}"
            )
    return replace(fields, delimiter=best[0], quoting=best[1]), parsed[best]


def parse(sample: str, delimiter: str, quoting: str, *, is_cut: bool = False) -> Parsed:
    """Return the rows of a sample, without the last one where it may be cut; wrong rows are left out."""
    allow_large_cells()
    reader = csv.reader(_lines(sample), delimiter=delimiter, strict=True, **FORMATS[quoting])
    rows: list[list[str]] = []
    wrong = last_wrong = 0
    while True:
        try:
            row = next(reader)
        except StopIteration:
            break
        except csv.Error:
            wrong, last_wrong = wrong + 1, 1
            continue
        last_wrong = 0
        if row:
            rows.append(row)
    if is_cut and len(rows) > 1:
        wrong -= last_wrong
        rows = rows if last_wrong else rows[:-1]
    return Parsed(rows, not wrong and bool(rows) and all(len(row) == len(rows[0]) for row in rows))


def allow_large_cells(limit: int = MAX_CELL_CHARACTERS) -> None:
    """Let csv read cells up to a limit: it has one for all its readers in a process, so it is never made smaller."""
    csv.field_size_limit(max(csv.field_size_limit(), limit))


def _lines(sample: str) -> list[str]:
    """Return the lines of a text with their ends; unlike splitlines, only line feeds end them."""
    return [line + "\n" for line in sample.removesuffix("\n").split("\n")] if sample else []


def _read_header(sample: str, delimiter: str, quoting: str) -> list[str]:
    lines = (line for line in _lines(sample) if line.strip("\r\n"))
    try:
        row = next(csv.reader(lines, delimiter=delimiter, strict=True, **FORMATS[quoting]), [])
    except csv.Error:
        return []
    return [name.strip() for name in row]


def _has_columns(sample: str, delimiter: str, quoting: str, fields: Fields, labelled: bool) -> bool:
    header = _read_header(sample, delimiter, quoting)
    return all(
        name in header or any(map(fnmatchcase, header, repeat(name))) for name in wanted_columns(fields, labelled)
    )


def _may_be(sample: str, delimiter: str, quoting: str) -> bool:
    """Return whether a way of quoting is worth a look: it would give other rows than plain CSV, and is in use."""
    if quoting == "none":
        return '"' in sample and delimiter == "\t"  # dumps of data bases; in CSV a lone quote is more likely a mistake
    if quoting == "backslash":
        return '\\"' in sample or f"\\{delimiter}" in sample
    if quoting == "spaced":
        return f'{delimiter} "' in sample
    return quoting == "double" or "'" in sample


def _shows_single_quotes(rows: list[list[str]], rival: list[list[str]]) -> bool:
    """Return whether all cells of a column stand in single quotes, which then are no part of them."""
    if any(cell.startswith('"') for row in rival for cell in row):
        return False  # double quotes are in use
    columns = ([cell for cell in column if cell] for column in zip(*rows[1:], strict=True))
    return any(cells and all(len(cell) > 1 and cell[0] == cell[-1] == "'" for cell in cells) for cells in columns)


def _shows_late_quotes(rows: list[list[str]], rival: list[list[str]]) -> bool:
    """Return whether a cell, as plain CSV has it, is a blank and something in quotes."""
    return any(
        cell[:1] == " " and len(cell) > 2 and cell.strip()[:1] == '"' == cell[-1] for row in rows for cell in row
    )


def _differ(best: Way, rows: Parsed, other: Way, rival: Parsed) -> bool:
    """Return whether two ways give different documents; without quoting, quotes around a cell alone do not count."""
    names = {best[1], other[1]}
    if names == {"double", "backslash"}:
        # Of a backslash before anything but a quote, as in LaTeX and in paths, plain CSV makes nothing.
        return any('\\"' in cell for row in rows.rows for cell in row) and rows.rows != rival.rows
    return names == {"double", "none"} and len(rows.rows) != len(rival.rows)

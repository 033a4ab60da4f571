"""The folder of results: one file of JSON lines per experiment, sorted, one line per cell.

Several processes may write to the same folder. Each takes the folder's lock, reads the file again, puts its line in and
replaces the file as a whole: no line is lost, and a reader never sees half a file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from neartag.core.errors import DataError
from neartag.data.files import open_to_replace, read_lines
from neartag.experiments.plan import Cell
from neartag.experiments.results import Record
from neartag.storage.locking import lock

ENDING = ".jsonl"
BEHAVIOURS = f"behaviours{ENDING}"  # what methods answered on fixed data, which is no experiment


def write_record(folder: Path, record: Record) -> None:
    """Write a record to its experiment's file, in place of an earlier one of the same cell."""
    write_records(folder, [record])


def write_records(folder: Path, records: Iterable[Record]) -> None:
    """Write records, each to the file of its experiment."""
    by_name: dict[str, list[Record]] = {}
    for record in records:
        by_name.setdefault(record.cell.experiment, []).append(record)
    for name, own in by_name.items():
        path = folder / f"{name}{ENDING}"
        update_lines(path, partial(_merge, records=own, path=path))


def read_records(folder: Path) -> dict[Cell, Record]:
    """Return all records in a folder by cell, in a fixed order, those of low seeds first."""
    records = {}
    for path in sorted(folder.glob(f"*{ENDING}")):
        if path.name != BEHAVIOURS:
            for record in (parse_record(value, path) for value in load_lines(path)):
                records[record.cell] = record
    return dict(sorted(records.items(), key=lambda entry: entry[0].seed))


def parse_record(value: Mapping[str, Any], path: Path) -> Record:
    """Return a record that a file has; DataError names the file where it is none."""
    try:
        return Record.from_json(value)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{path}: has a line that is not a result ({error!r}); delete that line") from error


def load_lines(path: Path) -> list[dict[str, Any]]:
    """Return the JSON objects of a file; none if there is no such file."""
    if not path.exists():
        return []
    found = []
    for number, line in read_lines(path):
        try:
            value = json.loads(line)
        except ValueError:
            value = None
        if not isinstance(value, dict):
            raise DataError(f"{path}:{number}: is not a JSON object; delete the line, and it is measured again")
        found.append(value)
    return found


def update_lines(path: Path, change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> None:
    """Replace the objects of a file by what `change` makes of them; nobody else writes in between."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{path.parent}: cannot be made: {error.strerror or error}") from error
    with lock(path.parent):
        values = change(load_lines(path))
        lines = [json.dumps(each, ensure_ascii=False, allow_nan=False, default=_to_python) for each in values]
        with open_to_replace(path) as stream:
            stream.write("".join(f"{line}\n" for line in lines).encode())


def _merge(lines: list[dict[str, Any]], records: list[Record], path: Path) -> list[dict[str, Any]]:
    """Return the lines with the records in their places, sorted by cell."""
    kept = {parse_record(value, path).cell: value for value in lines}
    kept |= {record.cell: record.as_json() for record in records}
    return [kept[cell] for cell in sorted(kept, key=Cell.order)]


def _to_python(value: Any) -> Any:
    """Return a number or an array of numpy as one of Python."""
    return value.tolist()

"""A table given back with added columns: CSV, TSV, JSON lines, Excel or Parquet, by the ending of the file.

Every writer takes rows in chunks and keeps none. The file appears whole, at the end, or not at all.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime, time
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

from neartag.core.errors import DataError, ParameterError
from neartag.data.documents.added_columns import AddedColumns, Answer
from neartag.data.files import open_to_replace, split_ending

if TYPE_CHECKING:
    from neartag.data.documents.whole_rows import Cells, Chunk

ENDINGS = {".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".xlsx": "excel", ".parquet": "parquet"}
HAVE_LISTS = ("jsonl", "parquet")  # labels are lists there; elsewhere they are joined in a cell
_UNCOMPRESSED = ("excel", "parquet")  # they are compressed inside


class Writer(Protocol):
    """What takes the rows."""

    def write(self, chunk: Chunk, answers: Sequence[Answer]) -> None:
        """Write some rows with what is added to each."""


def find_output_kind(path: Path | str) -> str:
    """Return the kind of an output by its ending; ParameterError where it has none."""
    _, ending, compression = split_ending(path)
    kind = ENDINGS.get(ending)
    if kind is None or (compression and kind in _UNCOMPRESSED):
        raise ParameterError(
            f"--output {path}: its ending does not say how to write it; known are {', '.join(ENDINGS)}, and .gz, "
            ".xz or .bz2 after any of them but .xlsx and .parquet"
        )
    return kind


@contextmanager
def open_writer(
    path: Path,
    header: list[str],
    added: AddedColumns,
    *,
    schema: Any = None,
    delimiter: str | None = None,
    byte_order_mark: bool = False,
) -> Iterator[Writer]:
    """Open a table to write it with this header; what is there is replaced at the end, or stays.

    `schema` is that of a Parquet file which the rows come from. `delimiter` and `byte_order_mark` are for CSV.
    """
    kind = find_output_kind(path)
    with open_to_replace(path) as stream:
        if kind == "parquet":
            from neartag.data.documents.parquet_writer import open_parquet_writer

            with open_parquet_writer(path, stream, header, added, schema) as writer:
                yield writer
        elif kind == "excel":
            from neartag.data.documents.excel_writer import open_excel_writer

            with open_excel_writer(path, stream, header, added) as writer:
                yield writer
        elif kind == "jsonl":
            yield _JsonLinesWriter(path, stream, header, added)
        else:
            text = io.TextIOWrapper(
                stream, "utf-8-sig" if byte_order_mark else "utf-8", errors="backslashreplace", newline=""
            )
            mark = "\t" if kind == "tsv" else delimiter or ","
            yield _CsvWriter(text, mark, header, added)
            text.flush()
            text.detach()


class _CsvWriter:
    def __init__(self, text: IO[str], delimiter: str, header: list[str], added: AddedColumns) -> None:
        self._writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
        self._header, self._added = header, added
        self._writer.writerow([*header, *added.names])

    def write(self, chunk: Chunk, answers: Sequence[Answer]) -> None:
        as_cells = self._added.as_cells
        self._writer.writerows(
            [*map(as_text, align(cells, self._header)), *as_cells(answer)]
            for cells, answer in zip(chunk.rows(), answers, strict=True)
        )


class _JsonLinesWriter:
    def __init__(self, path: Path, stream: IO[bytes], header: list[str], added: AddedColumns) -> None:
        self._path, self._stream, self._header, self._added = path, stream, header, added
        repeated = [name for name in dict.fromkeys(header) if header.count(name) > 1]
        if repeated:
            raise DataError(
                f"{path}: JSON lines cannot have two columns of one name, {repeated[0]!r}: write another format"
            )

    def write(self, chunk: Chunk, answers: Sequence[Answer]) -> None:
        lines = []
        for document, cells, answer in zip(chunk.documents, chunk.rows(), answers, strict=True):
            if isinstance(cells, dict):
                self._added.check_header(document.place, cells)
            else:
                cells = dict(zip(self._header, cells, strict=True))
            scores = [round(score, 4) for score in answer.scores]
            row = {**cells, **dict(zip(self._added.names, (answer.labels, scores, answer.found), strict=True))}
            lines.append(_to_json(row))
        self._stream.write(b"".join(lines))


def align(cells: Cells, header: list[str]) -> list[Any]:
    """Return the cells in the order of the header; an object may lack some."""
    return [cells.get(name) for name in header] if isinstance(cells, dict) else cells


def as_text(value: Any) -> str:
    """Return a value as the text of a cell: nothing for None, JSON for lists and objects."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.isoformat(" ")
    if isinstance(value, bool | list | dict | tuple):
        return json.dumps(value, ensure_ascii=False, default=_to_json_value)
    return str(_to_json_value(value) if isinstance(value, date | time | bytes) else value)


def _to_json(row: dict[str, Any]) -> bytes:
    try:
        return (json.dumps(row, ensure_ascii=False, default=_to_json_value) + "\n").encode()
    except UnicodeEncodeError:  # half a character, which JSON can hold as an escape only
        return (json.dumps(row, default=_to_json_value) + "\n").encode()


def _to_json_value(value: Any) -> Any:
    """Return what JSON has in place of other types of Excel and Parquet files."""
    if isinstance(value, bytes):
        return value.hex()
    return value.isoformat() if hasattr(value, "isoformat") else str(value)

"""Files that are sent to the server: read by the same readers as on the command line, within limits."""

from __future__ import annotations

import codecs
import re
import tempfile
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from fastapi.responses import Response

from neartag.core.errors import NeartagError
from neartag.data.documents import Document, Fields, resolve_fields
from neartag.data.documents.added_columns import AddedColumns, choose_separator
from neartag.data.documents.describe import describe_fields
from neartag.data.documents.table_writers import open_writer
from neartag.data.documents.whole_rows import Cells, Chunk, WholeTable, open_whole_table
from neartag.data.files import split_ending
from neartag.serve.errors import Refusal
from neartag.tagging.batches import Asked
from neartag.tagging.tables import write_answers
from neartag.tagging.tagger import TextTagger

# By ending. Compressed files and Parquet are left out: what they unpack to is not known before.
ENDINGS = (".csv", ".tsv", ".jsonl", ".ndjson", ".xlsx")
MAX_ROWS = 100_000
MAX_GROWTH = 10  # a file may unpack to, and an answer grow to, so many times the largest upload


@dataclass(frozen=True)
class Limits:
    """How much of a file is taken, and until when."""

    bytes: int
    characters: int  # of a text
    deadline: float  # of time.monotonic


@dataclass(frozen=True)
class Upload:
    """A file and how to read it."""

    name: str
    content: bytes
    fields: Fields
    limits: Limits


def tag_file(tagger: TextTagger, upload: Upload, asked: Asked, prefix: str) -> Response:
    """Return the table with added columns, to be saved as a file; headers tell how many rows there are."""
    with _opened(upload) as (table, fields, folder):
        ending = split_ending(upload.name)[1]
        delimiter = {".csv": fields.delimiter or ",", ".tsv": "\t"}.get(ending)
        added = AddedColumns(prefix, choose_separator(tagger.labels, None, delimiter))
        added.check_header(upload.name, table.header)
        mark = fields.encoding not in (None, "utf-8") or upload.content.startswith(codecs.BOM_UTF8)
        target = folder / f"answer{ending}"
        chunks = _within_limits(table.chunks, upload.limits)
        size = _SizeCheck(folder, MAX_GROWTH * upload.limits.bytes)
        with open_writer(target, table.header, added, delimiter=delimiter, byte_order_mark=mark) as writer:
            counts = write_answers(tagger, chunks, asked, writer, size)
        headers = {
            "Content-Disposition": f"attachment; filename*=UTF-8''{quote(_tagged_name(upload.name), safe='')}",
            "X-Neartag-Rows": str(counts.rows),
            "X-Neartag-With-Labels": str(counts.labelled),
            "X-Neartag-Not-Found": str(counts.rows - counts.found),
            "X-Neartag-Read-As": quote(describe_fields(fields, labelled=False)),
            "X-Neartag-Delimiter": quote(delimiter or "", safe=""),
        }
        return Response(target.read_bytes(), headers=headers, media_type="application/octet-stream")


def read_texts(upload: Upload) -> list[Document]:
    """Return the documents of a file."""
    with _opened(upload) as (table, _, _):
        return [document for chunk in _within_limits(table.chunks, upload.limits) for document in chunk.documents]


@contextmanager
def _opened(upload: Upload) -> Iterator[tuple[WholeTable, Fields, Path]]:
    """Open the file as a table; Refusal, which names it as its sender does, where that is not possible."""
    ending = split_ending(upload.name)[1]
    if ending not in ENDINGS or not upload.name.lower().endswith(ending):
        raise Refusal(422, f"name: a file must end in one of {', '.join(ENDINGS)}; {upload.name!r} does not")
    with tempfile.TemporaryDirectory(prefix="neartag-") as place:
        path = Path(place) / f"file{ending}"
        path.write_bytes(upload.content)
        try:
            if ending == ".xlsx":
                _check_unpacked(path, MAX_GROWTH * upload.limits.bytes)
            fields = resolve_fields(path, upload.fields, labelled=False)
            with open_whole_table(path, fields, need_header=ending not in (".jsonl", ".ndjson")) as table:
                yield table, fields, Path(place)
        except NeartagError as error:
            raise Refusal(422, _say_for_requests(str(error).replace(str(path), upload.name))) from error


def _say_for_requests(told: str) -> str:
    """Return an error of the readers, who name options of the command line, with the `names` of parameters."""
    told = re.sub(r" \(in Python [^()]*(\([^()]*\))?\)", "", told)
    return re.sub(r"--([a-z]+(?:-[a-z]+)*)", lambda found: f"`{found[1].replace('-', '_')}`", told)


def _within_limits(chunks: Iterator[Chunk], limits: Limits) -> Iterator[Chunk]:
    rows = characters = 0
    for chunk in chunks:
        rows += len(chunk.documents)
        characters += sum(map(_count_characters, chunk.rows()))
        if characters > MAX_GROWTH * limits.bytes:  # a workbook may name one long text in every row
            raise Refusal(413, f"the cells hold more than {MAX_GROWTH * limits.bytes:,} characters: send it in parts")
        if rows > MAX_ROWS:
            raise Refusal(422, f"the file has more than {MAX_ROWS:,} rows: send it in parts, or use neartag tag -o")
        for document in chunk.documents:
            if len(document.text) > limits.characters:
                size = len(document.text)
                raise Refusal(422, f"{Path(document.place).name}: the text has {size} characters, more than allowed")
        if time.monotonic() > limits.deadline:
            raise Refusal(503, "the file takes too long: send it in parts, or use neartag tag -o", {"Retry-After": "1"})
        yield chunk


def _count_characters(cells: Cells) -> int:
    return sum(len(cell) for cell in (cells.values() if isinstance(cells, dict) else cells) if isinstance(cell, str))


def _check_unpacked(path: Path, most: int) -> None:
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
    except (zipfile.BadZipFile, OSError, ValueError) as error:
        raise Refusal(422, "the file is no Excel workbook: save it as .xlsx, or send CSV") from error
    if size > most:
        raise Refusal(413, f"the workbook unpacks to {size:,} bytes, more than {most:,}: send it in parts")


class _SizeCheck:
    """Refuses an answer that grows too large; called after each chunk."""

    def __init__(self, folder: Path, most: int) -> None:
        self._folder, self._most = folder, most

    def __call__(self, rows: int) -> None:
        if sum(file.stat().st_size for file in self._folder.iterdir()) > 2 * self._most:
            raise Refusal(413, "the answer would be too large: send the file in parts, or ask for fewer labels")


def _tagged_name(name: str) -> str:
    stem, dot, ending = name.rpartition(".")
    return f"{stem}-tagged{dot}{ending}"

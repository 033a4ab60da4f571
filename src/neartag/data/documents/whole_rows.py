"""A user's table as it is: the cells of every column, row by row, and the document in each row.

`documents` keeps only what is learned from; this is for those who give the table back. Rows come in chunks, so that a
table of any length is never in memory as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from neartag.core.errors import DataError
from neartag.data.documents.document import BadLines, Document
from neartag.data.documents.excel import open_excel
from neartag.data.documents.fields import Fields
from neartag.data.documents.jsonlines import parse_line, read_keys
from neartag.data.documents.parquet import open_parquet
from neartag.data.documents.read import KINDS, find_kind
from neartag.data.documents.tables import open_csv
from neartag.data.files import read_lines

CHUNK_ROWS = 8192
CHUNK_CHARACTERS = 2**23  # of texts: a chunk of long ones has fewer rows

# The cells of a row: a list as long as the header, or the object of a line of JSON.
Cells = list[Any] | dict[str, Any]
Rows = Iterator[tuple[Cells, Document | DataError]]


@dataclass
class Chunk:
    """Some rows of a table, and their documents."""

    documents: list[Document]
    cells: list[Cells] | None  # None: the batch has them
    batch: Any = None  # the rows as pyarrow has them, of a Parquet file

    def rows(self) -> list[Cells]:
        """Return the cells of every row."""
        if self.cells is not None:
            return self.cells
        columns = [_to_values(self.batch, column) for column in range(self.batch.num_columns)]
        return [list(row) for row in zip(*columns, strict=True)]


def _to_values(batch: Any, column: int) -> list[Any]:
    """Return the values of a column of pyarrow; DataError for one that Python has no value for, such as a far date."""
    try:
        values: list[Any] = batch.column(column).to_pylist()
    except (ArithmeticError, ValueError) as error:
        name = batch.schema.names[column]
        raise DataError(f"the column {name!r} has a value that cannot be read ({error}): leave it out") from error
    return values


@dataclass(frozen=True)
class WholeTable:
    """A table to be read once."""

    header: list[str]  # empty where objects of JSON bring their own names, and nobody asked for all of them
    chunks: Iterator[Chunk]
    schema: Any = None  # of pyarrow, of a Parquet file


@contextmanager
def open_whole_table(
    path: Path, fields: Fields, kind: str | None = None, *, bad: BadLines | None = None, need_header: bool = True
) -> Iterator[WholeTable]:
    """Open a table with settled fields; files without columns have the columns `id` and `text`.

    `bad` notes bad rows, which are then skipped; without it they are errors. With `need_header`, JSON lines are read
    once more before, to find all names.
    """
    kind = kind or find_kind(path)
    if kind == "parquet":
        with open_parquet(path, fields) as (schema, batches):
            yield WholeTable(list(schema.names), _take_batches(batches, bad), schema)
        return
    openers: dict[str, Callable[..., AbstractContextManager[tuple[list[str], Rows]]]] = {
        "csv": open_csv,
        "tsv": open_csv,
        "excel": open_excel,
    }
    if kind in openers:
        with openers[kind](path, fields, False) as (header, rows):
            yield WholeTable(header, make_chunks(rows, bad))
    elif kind == "jsonl":
        yield WholeTable(read_keys(path) if need_header else [], make_chunks(_read_objects(path, fields), bad))
    else:
        yield table_of_documents(KINDS[kind](path, fields, False), bad)


def table_of_documents(documents: Iterable[Document | DataError], bad: BadLines | None = None) -> WholeTable:
    """Return a table of documents that stand in no table."""
    rows = ((["", ""] if isinstance(each, DataError) else [each.id or "", each.text], each) for each in documents)
    return WholeTable(["id", "text"], make_chunks(rows, bad))


def make_chunks(rows: Iterable[tuple[Cells, Document | DataError]], bad: BadLines | None = None) -> Iterator[Chunk]:
    """Yield rows in chunks; an error is raised, or noted in `bad`."""
    documents: list[Document] = []
    kept: list[Cells] = []
    characters = 0
    for cells, document in rows:
        if isinstance(document, DataError):
            if bad is None:
                raise document
            bad.add(document)
            continue
        documents.append(document)
        kept.append(cells)
        characters += len(document.text)
        if len(documents) == CHUNK_ROWS or characters > CHUNK_CHARACTERS:
            yield Chunk(documents, kept)
            documents, kept, characters = [], [], 0
    if documents:
        yield Chunk(documents, kept)


def _read_objects(path: Path, fields: Fields) -> Rows:
    for number, line in read_lines(path):
        if line.strip():
            yield parse_line(path, number, line, fields)


def _take_batches(batches: Iterator[tuple[Any, list[Document | DataError]]], bad: BadLines | None) -> Iterator[Chunk]:
    for batch, documents in batches:
        places = [place for place, document in enumerate(documents) if isinstance(document, Document)]
        errors = [document for document in documents if isinstance(document, DataError)]
        for error in islice(errors, 1 if bad is None else None):
            if bad is None:
                raise error
            bad.add(error)
        kept = batch if not errors else batch.take(places)
        yield Chunk([each for each in documents if isinstance(each, Document)], None, kept)

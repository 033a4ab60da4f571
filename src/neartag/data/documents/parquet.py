"""Documents from Parquet files; only this reader needs pyarrow, which `neartag[parquet]` installs."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import IO, Any, NamedTuple

from neartag.core.errors import DataError
from neartag.core.extras import install_hint
from neartag.core.processes import map_in_order, offered_processes
from neartag.data.documents.cells import join_texts, parse_labels
from neartag.data.documents.columns import Columns, find_columns
from neartag.data.documents.document import Document
from neartag.data.documents.fields import Fields
from neartag.data.documents.layout import settle_layout, settle_unlabelled
from neartag.data.documents.packed import IN_A_SECOND, PackedDocuments, pack, unpack
from neartag.data.documents.parse import (
    DocumentError,
    DocumentsOrErrors,
    RawDocument,
    parse_document,
    parse_vector,
)
from neartag.data.files import line_error, open_to_read
from neartag.data.line_blocks import BLOCK_BYTES
from neartag.data.read_limits import Unpacking

_BATCH_ROWS = 256  # decoded at a time: few, because texts may be long
_WHOLE_BATCH_ROWS = 2048  # of all columns: enough that answering them at once is worth while
_BUFFER_BYTES = 2**20  # read at a time from each column, however large the file's row groups are
_UNBUFFERED_BYTES = 16 * 2**20  # of a whole file
_BLOCK_ROWS = 4096  # that another process parses at a time
_SAMPLE_ROWS = 1024
_TEXT_TYPES = ("string", "large_string", "string_view")
_NULL_TYPE = "null"  # of a column without any value


class _Batch(NamedTuple):
    """The columns of some rows."""

    text: list[Any]
    labels: list[Any]
    label_names: list[str]
    id: Any | None
    vector: Any | None


def read_parquet(path: Path, fields: Fields, labelled: bool) -> DocumentsOrErrors:
    """Yield the documents of a Parquet file; their places are row numbers, from 1."""
    with _open_table(path) as table:
        columns = find_columns(path, table.schema_arrow.names, fields, labelled)
        _check_types(path, table.schema_arrow, fields, labelled)
        header = table.schema_arrow.names
        if offered_processes() is None:
            batches = _read_batches(table, columns)
            for _, document in _parse_batches(path, batches, 0, header, columns, fields, labelled):
                yield document
            return
        parse = partial(parse_block, path, header, columns, fields, labelled)
        for _, packed in map_in_order(parse, _read_blocks(table, columns), lambda block: block[1] / IN_A_SECOND):
            yield from unpack(path, packed)


def parse_block(
    path: Path, header: list[str], columns: Columns, fields: Fields, labelled: bool, before: int, _: int, content: bytes
) -> PackedDocuments:
    """Return the documents in a block of rows, before which so many others stand; the rows as Arrow writes them."""
    from pyarrow import ipc

    return pack(_parse_batches(path, ipc.open_stream(content), before, header, columns, fields, labelled))


def _parse_batches(
    path: Path,
    batches: Iterable[Any],
    before: int,
    header: list[str],
    columns: Columns,
    fields: Fields,
    labelled: bool,
) -> Iterator[tuple[int, Document | DataError]]:
    """Yield the number of each row, where so many others stand before the first one, and its document."""
    number = before
    for batch in batches:
        part = _select(batch, columns, header)
        for row in range(batch.num_rows):
            number += 1
            yield number, parse_document(path, number, _parse_row, row, part, fields, labelled)


@contextmanager
def open_parquet(path: Path, fields: Fields) -> Iterator[tuple[Any, Iterator[tuple[Any, list[Document | DataError]]]]]:
    """Open a Parquet file: its schema, and some rows of all columns after others, with their documents, unlabelled."""
    with _open_table(path) as table:
        schema = table.schema_arrow
        columns = replace(find_columns(path, schema.names, fields, False), labels=[])
        _check_types(path, schema, fields, False)
        yield schema, _read_whole_batches(path, table, columns, fields)


def _read_whole_batches(
    path: Path, table: Any, columns: Columns, fields: Fields
) -> Iterator[tuple[Any, list[Document | DataError]]]:
    number = 0
    for batch in table.iter_batches(_WHOLE_BATCH_ROWS, use_threads=False):
        part = _select(batch, columns, batch.schema.names)
        rows = range(batch.num_rows)
        yield batch, [parse_document(path, number + row + 1, _parse_row, row, part, fields, False) for row in rows]
        number += batch.num_rows


def settle_parquet(path: Path, fields: Fields, labelled: bool) -> Fields:
    """Return the fields with nothing left open; only where labels are no lists, the first rows are looked at."""
    if not labelled:
        return settle_unlabelled(fields)
    with _open_table(path) as table:
        schema = table.schema_arrow
        names = fields.select_label_fields(schema.names)
        if names and all(
            _item_type(schema.field(name).type) is not None for name in names if schema.names.count(name) == 1
        ):
            return replace(settle_unlabelled(fields), label_per_row=bool(fields.label_per_row))
        flat = [name for name in schema.names if schema.names.count(name) == 1 and _is_flat(schema.field(name).type)]
        rows: list[list[Any]] = []
        for batch in table.iter_batches(_SAMPLE_ROWS, columns=flat, use_threads=False):
            try:
                rows = [[row.get(name) for name in schema.names] for row in batch.to_pylist()]
            except UnicodeDecodeError:
                rows = []  # told when it is read
            break
        return settle_layout(path, schema.names, rows, fields, labelled)


@contextmanager
def _open_table(path: Path) -> Iterator[Any]:
    try:
        import pyarrow
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise DataError(install_hint(f"{path}: reading Parquet needs pyarrow", "parquet")) from error
    with open_to_read(path) as stream:
        try:
            # Without pre_buffer=False pyarrow would fetch all of the columns before the first row. With a buffer it
            # sets aside what the head of a page claims, up to 2 GB: a small file is read without.
            buffer = _BUFFER_BYTES if path.stat().st_size > _UNBUFFERED_BYTES else 0
            table = ParquetFile(_WithinFile(stream, path), pre_buffer=False, buffer_size=buffer)
            _check_unpacked(path, table.metadata)
            yield table
        except (pyarrow.ArrowException, OSError) as error:
            raise DataError(f"{path}: is damaged or no Parquet file ({error})") from error
        except UnicodeDecodeError as error:  # of texts each row tells by itself; here it is the name of a column
            raise DataError(f"{path}: a column's name is not UTF-8 ({error.reason}): write the file again") from error


class _WithinFile(io.RawIOBase):
    """A file from which no more is asked than it has, whatever it claims: memory is set aside for what is asked."""

    def __init__(self, stream: IO[bytes], path: Path) -> None:
        self._stream, self._size = stream, path.stat().st_size

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def seekable(self) -> bool:
        """Say that any place in it can be read."""
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        """Go to a place."""
        return self._stream.seek(offset, whence)

    def tell(self) -> int:
        """Return the place."""
        return self._stream.tell()

    def read(self, size: int = -1) -> bytes:
        """Return so many bytes, fewer at the end."""
        left = max(0, self._size - self._stream.tell())
        return self._stream.read(left if size < 0 else min(size, left))


def _check_unpacked(path: Path, metadata: Any) -> None:
    """Refuse rows that unpack to far more than they are in the file; a page of a column is in memory as a whole.

    By groups of rows, not by columns: for what a damaged file says of a column, pyarrow ends the process.
    """
    unpacked = Unpacking(path)
    for group in range(metadata.num_row_groups):
        unpacked.count(metadata.row_group(group).total_byte_size, member=False)


def _read_batches(table: Any, columns: Columns) -> Iterator[Any]:
    """Yield a few rows at a time, of the columns that are used."""
    header = table.schema_arrow.names
    used = [*columns.text, *columns.labels, *(column for column in (columns.id, columns.vector) if column is not None)]
    yield from table.iter_batches(_BATCH_ROWS, columns=[header[column] for column in used], use_threads=False)


def _read_blocks(table: Any, columns: Columns) -> Iterator[tuple[int, int, bytes]]:
    """Yield some thousand rows at a time: how many stand before them, how many they are, and they as Arrow has them."""
    number, batches = 0, []
    for batch in _read_batches(table, columns):
        batches.append(batch)
        if len(batches) * _BATCH_ROWS >= _BLOCK_ROWS or sum(each.nbytes for each in batches) > BLOCK_BYTES:
            yield number, *_to_bytes(batches)
            number, batches = number + sum(each.num_rows for each in batches), []
    if batches:
        yield number, *_to_bytes(batches)


def _to_bytes(batches: list[Any]) -> tuple[int, bytes]:
    """Return how many rows these are, and their bytes: of the rows alone, not of the whole arrays that hold them."""
    from pyarrow import ipc

    stream = io.BytesIO()
    with ipc.new_stream(stream, batches[0].schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return sum(batch.num_rows for batch in batches), stream.getvalue()


def _select(batch: Any, columns: Columns, header: list[str]) -> _Batch:
    """Return the columns of a batch that hold the parts of documents."""

    def column_of(number: int | None) -> Any:
        return None if number is None else batch.column(header[number])

    labels = [column_of(column) for column in columns.labels]
    texts, names = [column_of(column) for column in columns.text], [header[column] for column in columns.labels]
    return _Batch(texts, labels, names, column_of(columns.id), column_of(columns.vector))


def _parse_row(row: int, batch: _Batch, fields: Fields, labelled: bool) -> RawDocument:
    try:
        texts = [column[row].as_py() for column in batch.text]
        labels = list(
            chain.from_iterable(
                _parse_labels(column[row].as_py(), name, fields, labelled)
                for name, column in zip(batch.label_names, batch.labels, strict=True)
            )
        )
        identity = None if batch.id is None else batch.id[row].as_py()
    except UnicodeDecodeError as error:
        raise DocumentError(f"not UTF-8 ({error.reason})", "write the file with strings in UTF-8") from error
    if all(text is None for text in texts):
        raise DocumentError("the text is null", "give each row its text, an empty string if it has none")
    vector = None
    if batch.vector is not None:
        if not batch.vector[row].is_valid:
            raise DocumentError("the vector is null", "give each row its vector")
        vector = parse_vector(batch.vector[row].values.to_numpy(zero_copy_only=False))
    return RawDocument(join_texts(texts), labels, identity, vector)


def _parse_labels(value: Any, name: str, fields: Fields, labelled: bool) -> list[str]:
    if fields.indicators:
        return parse_labels(value, name, fields)
    if value is None:
        if labelled:
            raise DocumentError("the labels are null", "give each row its labels, an empty list if it has none")
        return []
    if isinstance(value, str):
        return parse_labels(value, name, fields)
    if None in value:
        raise DocumentError("a label is null", "labels must be strings")
    return value


def _check_types(path: Path, schema: Any, fields: Fields, labelled: bool) -> None:
    """Refuse a file whose columns hold something else: all its rows would be wrong."""
    from pyarrow import types

    def check(name: str, fits: bool, wanted: str) -> None:
        if not fits:
            held = schema.field(name).type
            raise line_error(path, 1, f"the column {name!r} holds {held}", f"it must hold {wanted}")

    for name in fields.text_fields:
        check(name, _is_text(schema.field(name).type), "strings")
    for name in fields.select_label_fields(schema.names):
        kind = schema.field(name).type
        item = _item_type(kind)
        if fields.indicators:
            check(name, _is_flat(kind), "0 and 1")
            continue
        fits = _is_text(kind) or _is_text(item) or str(item) == _NULL_TYPE
        check(name, fits or (str(kind) == _NULL_TYPE and not labelled), "strings or lists of strings")
    if fields.id is not None and fields.id in schema.names:
        kind = schema.field(fields.id).type
        fits = _is_text(kind) or types.is_integer(kind) or str(kind) == _NULL_TYPE
        check(fields.id, fits, "strings or whole numbers")
    if fields.vector is not None:
        item = _item_type(schema.field(fields.vector).type)
        fits = item is not None and (types.is_floating(item) or types.is_integer(item))
        check(fields.vector, fits, "lists of numbers")


def _item_type(kind: Any) -> Any:
    """Return the type of a list's items, None for what is no list."""
    from pyarrow import types

    is_list = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    return kind.value_type if is_list else None


def _is_flat(kind: Any) -> bool:
    """Return whether a column holds texts, numbers or booleans."""
    from pyarrow import types

    return _is_text(kind) or types.is_integer(kind) or types.is_boolean(kind) or types.is_floating(kind)


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    return str(kind.value_type if kind is not None and types.is_dictionary(kind) else kind) in _TEXT_TYPES

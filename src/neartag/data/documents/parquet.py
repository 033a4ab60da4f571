"""Documents from Parquet files; only this reader needs pyarrow, which `neartag[parquet]` installs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from neartag.core.errors import DataError
from neartag.core.extras import install_hint
from neartag.data.documents.columns import Columns, find_columns
from neartag.data.documents.document import Fields
from neartag.data.documents.parse import (
    DocumentError,
    DocumentsOrErrors,
    RawDocument,
    parse_document,
    parse_vector,
)
from neartag.data.files import line_error, open_to_read

_BATCH_ROWS = 256  # decoded at a time: few, because texts may be long
_BUFFER_BYTES = 2**20  # read at a time from each column, however large the file's row groups are
_TEXT_TYPES = ("string", "large_string", "string_view")
_NULL_TYPE = "null"  # of a column without any value


class _Batch(NamedTuple):
    """The columns of some rows."""

    text: Any
    labels: list[Any]
    id: Any | None
    vector: Any | None


def read_parquet(path: Path, fields: Fields, labelled: bool) -> DocumentsOrErrors:
    """Yield the documents of a Parquet file; their places are row numbers, from 1."""
    try:
        import pyarrow
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise DataError(install_hint(f"{path}: reading Parquet needs pyarrow", "parquet")) from error
    with open_to_read(path) as stream:
        try:
            # Without pre_buffer=False pyarrow would fetch all of the columns before the first row.
            table = ParquetFile(stream, pre_buffer=False, buffer_size=_BUFFER_BYTES)
            columns = find_columns(path, table.schema_arrow.names, fields, labelled)
            _check_types(path, table.schema_arrow, fields, labelled)
            number = 0
            for batch, rows in _read_batches(table, columns):
                for row in range(rows):
                    number += 1
                    yield parse_document(path, number, _parse_row, row, batch, fields, labelled)
        except (pyarrow.ArrowException, OSError) as error:
            raise DataError(f"{path}: is damaged or no Parquet file ({error})") from error


def _read_batches(table: Any, columns: Columns) -> Iterator[tuple[_Batch, int]]:
    """Yield the columns that are used of a few rows at a time, and the number of these rows."""
    header = table.schema_arrow.names
    used = [columns.text, *columns.labels, *(column for column in (columns.id, columns.vector) if column is not None)]
    for batch in table.iter_batches(_BATCH_ROWS, columns=[header[column] for column in used], use_threads=False):

        def column_of(number: int | None, batch: Any = batch) -> Any:
            return None if number is None else batch.column(header[number])

        labels = [column_of(column) for column in columns.labels]
        yield _Batch(column_of(columns.text), labels, column_of(columns.id), column_of(columns.vector)), batch.num_rows


def _parse_row(row: int, batch: _Batch, fields: Fields, labelled: bool) -> RawDocument:
    try:
        text = batch.text[row].as_py()
        labels = list(
            chain.from_iterable(_parse_labels(column[row].as_py(), fields, labelled) for column in batch.labels)
        )
        identity = None if batch.id is None else batch.id[row].as_py()
    except UnicodeDecodeError as error:
        raise DocumentError(f"not UTF-8 ({error.reason})", "write the file with strings in UTF-8") from error
    if text is None:
        raise DocumentError("the text is null", "give each row its text, an empty string if it has none")
    vector = None
    if batch.vector is not None:
        if not batch.vector[row].is_valid:
            raise DocumentError("the vector is null", "give each row its vector")
        vector = parse_vector(batch.vector[row].values.to_numpy(zero_copy_only=False))
    return RawDocument(text, labels, identity, vector)


def _parse_labels(value: Any, fields: Fields, labelled: bool) -> list[str]:
    if value is None:
        if labelled:
            raise DocumentError("the labels are null", "give each row its labels, an empty list if it has none")
        return []
    if isinstance(value, str):
        return fields.split(value)
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

    check(fields.text, _is_text(schema.field(fields.text).type), "strings")
    for name in fields.select_label_fields(schema.names):
        kind = schema.field(name).type
        item = _item_type(kind)
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


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    return str(kind.value_type if kind is not None and types.is_dictionary(kind) else kind) in _TEXT_TYPES

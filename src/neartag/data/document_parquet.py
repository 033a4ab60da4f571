"""The reader of texts with labels in Parquet files; it alone needs pyarrow, which `neartag[parquet]` installs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from neartag.core.errors import DataError
from neartag.core.extras import install_hint
from neartag.data.document import Document, Fields, Parts, Wrong, attempted, columns_of, vector_of
from neartag.data.files import fault, reading

_BATCH_ROWS = 256  # rows decoded at a time: few, for texts may be long
_BUFFER_BYTES = 2**20  # read at a time of each column, however large the file's row groups are
_TEXTS = ("string", "large_string", "string_view")
_NULL = "null"  # the type of a column that has no value at all


def read_parquet(path: Path, fields: Fields, labelled: bool) -> Iterator[Document | DataError]:
    """Yield the documents of a Parquet file; their places count rows, from 1."""
    try:
        import pyarrow
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise DataError(install_hint(f"{path}: reading Parquet needs pyarrow", "parquet")) from error
    with reading(path) as stream:
        try:
            # Without pre_buffer=False all of the columns would be fetched ahead of the first row.
            table = ParquetFile(stream, pre_buffer=False, buffer_size=_BUFFER_BYTES)
            header = table.schema_arrow.names
            columns = columns_of(path, header, fields, labelled)
            used = [columns.text, *columns.labels, *(c for c in (columns.id, columns.vector) if c is not None)]
            _check_types(path, table.schema_arrow, fields, labelled)
            number = 0
            for batch in table.iter_batches(_BATCH_ROWS, columns=[header[c] for c in used], use_threads=False):
                text, *rest = (batch.column(header[column]) for column in used)
                labels = rest[: len(columns.labels)]
                others = iter(rest[len(columns.labels) :])
                identity = next(others) if columns.id is not None else None
                vector = next(others) if columns.vector is not None else None
                for row in range(batch.num_rows):
                    number += 1
                    yield attempted(path, number, _parts, row, text, labels, identity, vector, fields, labelled)
        except (pyarrow.ArrowException, OSError) as error:
            raise DataError(f"{path}: is damaged or no Parquet file ({error})") from error


def _parts(row: int, text: Any, labels: list[Any], identity: Any, vector: Any, fields: Fields, labelled: bool) -> Parts:
    try:
        content = text[row].as_py()
        names = list(chain.from_iterable(_labels(column[row].as_py(), fields, labelled) for column in labels))
        name = None if identity is None else identity[row].as_py()
    except UnicodeDecodeError as error:
        raise Wrong(f"not UTF-8 ({error.reason})", "write the file with strings in UTF-8") from error
    if content is None:
        raise Wrong("the text is null", "give each row its text, an empty string if it has none")
    numbers = None
    if vector is not None:
        if not vector[row].is_valid:
            raise Wrong("the vector is null", "give each row its vector")
        numbers = vector_of(vector[row].values.to_numpy(zero_copy_only=False))
    return Parts(content, names, name, numbers)


def _labels(value: Any, fields: Fields, labelled: bool) -> list[str]:
    if value is None:
        if labelled:
            raise Wrong("the labels are null", "give each row its labels, an empty list if it has none")
        return []
    if isinstance(value, str):
        return fields.split(value)
    if None in value:
        raise Wrong("a label is null", "labels must be strings")
    return value


def _check_types(path: Path, schema: Any, fields: Fields, labelled: bool) -> None:
    """Refuse a file whose columns hold something else: its rows would all be wrong."""
    from pyarrow import types

    def items(kind: Any) -> Any:
        listed = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
        return kind.value_type if listed else None

    def is_text(kind: Any) -> bool:
        return str(kind.value_type if kind is not None and types.is_dictionary(kind) else kind) in _TEXTS

    def is_number(kind: Any) -> bool:
        return kind is not None and (types.is_floating(kind) or types.is_integer(kind))

    def check(name: str, fits: bool, wanted: str) -> None:
        if not fits:
            raise fault(path, 1, f"the column {name!r} holds {schema.field(name).type}", f"it must hold {wanted}")

    check(fields.text, is_text(schema.field(fields.text).type), "strings")
    for name in fields.labels_among(schema.names):
        kind = schema.field(name).type
        listed = is_text(items(kind)) or str(items(kind)) == _NULL
        check(name, is_text(kind) or listed or (str(kind) == _NULL and not labelled), "strings or lists of strings")
    if fields.id is not None and fields.id in schema.names:
        kind = schema.field(fields.id).type
        check(fields.id, is_text(kind) or types.is_integer(kind) or str(kind) == _NULL, "strings or whole numbers")
    if fields.vector is not None:
        check(fields.vector, is_number(items(schema.field(fields.vector).type)), "lists of numbers")

"""A table written as a Parquet file, some rows at a time; needs pyarrow, which `neartag[parquet]` installs.

Columns that come from a Parquet file keep their types; those of other files are strings.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from neartag.core.errors import DataError
from neartag.core.extras import install_hint
from neartag.data.documents.added_columns import AddedColumns, Answer
from neartag.data.documents.table_writers import Writer, align, as_text
from neartag.data.documents.whole_rows import Chunk


@contextmanager
def open_parquet_writer(
    path: Path, stream: IO[bytes], header: list[str], added: AddedColumns, schema: Any
) -> Iterator[Writer]:
    """Open a Parquet file to write it; its last part is written at the end."""
    try:
        import pyarrow
        from pyarrow.parquet import ParquetWriter
    except ImportError as error:
        raise DataError(install_hint(f"{path}: writing Parquet needs pyarrow", "parquet")) from error
    if schema is None:
        schema = pyarrow.schema([(name, pyarrow.string()) for name in header])
    kinds = (pyarrow.list_(pyarrow.string()), pyarrow.list_(pyarrow.float64()), pyarrow.bool_())
    for name, kind in zip(added.names, kinds, strict=True):
        schema = schema.append(pyarrow.field(name, kind))
    try:
        with ParquetWriter(stream, schema) as writer:
            yield _ParquetWriter(writer, schema, header, kinds)
    except pyarrow.ArrowException as error:
        raise DataError(f"{path}: cannot be written as Parquet ({error})") from error


class _ParquetWriter:
    def __init__(self, writer: Any, schema: Any, header: list[str], kinds: Sequence[Any]) -> None:
        self._writer, self._schema, self._header, self._kinds = writer, schema, header, kinds

    def write(self, chunk: Chunk, answers: Sequence[Answer]) -> None:
        import pyarrow

        if chunk.batch is not None:
            columns = list(chunk.batch.columns)
        else:
            rows = [align(cells, self._header) for cells in chunk.rows()]
            columns = [
                pyarrow.array([None if row[column] is None else as_text(row[column]) for row in rows], pyarrow.string())
                for column in range(len(self._header))
            ]
        given = zip(*answers, strict=True)
        columns += [pyarrow.array(list(values), kind) for values, kind in zip(given, self._kinds, strict=True)]
        self._writer.write_batch(pyarrow.RecordBatch.from_arrays(columns, schema=self._schema))

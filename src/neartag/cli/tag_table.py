"""`neartag tag MODEL docs.csv -o tagged.csv`: a table given back with the labels of each row."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neartag.cli import output
from neartag.cli.output_file import check_output
from neartag.cli.reading import Reading
from neartag.cli.text_lines import STDIN, iterate_text_lines
from neartag.cli.text_or_file import check_table
from neartag.core.errors import DataError, ParameterError
from neartag.data.files import open_to_read

if TYPE_CHECKING:
    from neartag.data.documents.whole_rows import WholeTable
    from neartag.tagging.batches import Asked
    from neartag.tagging.tagger import TextTagger


def check_paths(source: str, target: str, model: str, overwrite: bool) -> None:
    """Raise an error, before anything heavy is imported, where a table cannot be read or must not be written."""
    from neartag.data.documents.table_writers import find_output_kind

    check_table(source)
    find_output_kind(target)
    check_output(target, source, model, overwrite)


def tag_table(
    tagger: TextTagger, source: str, target: str, asked: Asked, prefix: str, reading: Reading, quiet: bool
) -> dict[str, Any]:
    """Write a table with the labels of each row, and return what there is to tell of it."""
    from neartag.core.usage import Usage
    from neartag.data.documents.added_columns import AddedColumns, choose_separator
    from neartag.data.documents.table_writers import find_output_kind, open_writer
    from neartag.tagging.tables import write_answers

    kind = find_output_kind(target)
    choose_separator(tagger.labels, reading.separator)  # one that was given and cannot be used is told at once
    progress = output.progress(quiet)
    usage = Usage()
    with _open_source(source, reading, need_header=kind != "jsonl") as (table, settled):
        delimiter = {"csv": settled.get("delimiter") or ",", "tsv": "\t"}.get(kind)
        added = AddedColumns(prefix, choose_separator(tagger.labels, reading.separator, delimiter))
        reading.tell_understood(quiet)
        added.check_header(source, table.header)
        how = {"schema": table.schema, "delimiter": delimiter, "byte_order_mark": bool(settled.get("mark"))}
        with open_writer(Path(target), table.header, added, **how) as writer, progress.start(None, f"tagging {source}"):
            counts = write_answers(tagger, table.chunks, asked, writer, progress.advance)
    reading.warn_skipped()
    if kind in ("csv", "tsv"):
        _warn_of_formulas(tagger, target)
    return {
        "output": target,
        "rows": counts.rows,
        "with_labels": counts.labelled,
        "not_found": counts.rows - counts.found,
        "columns": list(added.names),
        "separator": added.separator,
        **usage.measure(),
        **reading.skipped,
    }


def show_report(report: dict[str, Any], quiet: bool) -> None:
    """Say in a few lines what was written."""
    if quiet:
        return
    from neartag.data.documents.table_writers import HAVE_LISTS, find_output_kind

    rows, unknown = report["rows"], report["not_found"]
    separator = "as a list in brackets" if report["separator"] == "list" else f"separated by {report['separator']!r}"
    if find_output_kind(report["output"]) in HAVE_LISTS:
        separator = "as lists"
    pairs = [
        ("output", f"{report['output']}, {rows:,} rows"),
        ("added columns", f"{', '.join(report['columns'])}; labels {separator}"),
        ("with labels", f"{report['with_labels']:,} rows"),
        ("nothing known of", f"{unknown:,} rows, where {report['columns'][2]} is false"),
        ("time", f"{report['seconds']:.1f} s, {rows / max(report['seconds'], 1e-9):,.0f} rows per second"),
    ]
    output.show_pairs(pairs)


@contextmanager
def _open_source(source: str, reading: Reading, *, need_header: bool) -> Iterator[tuple[WholeTable, dict[str, Any]]]:
    """Open the table: a file of documents, lines of input, or documents that stand in no table."""
    from neartag.data.dataset import Dataset
    from neartag.data.documents.whole_rows import make_chunks, table_of_documents

    if reading.vectors is not None:
        raise ParameterError("--vectors: tag -o takes vectors from the table only: name their column by --vector-field")
    if source == STDIN:
        from neartag.data.documents import Document
        from neartag.data.documents.whole_rows import WholeTable

        lines = (Document(line, [], None, None, f"line {number}") for number, line in iterate_text_lines())
        yield WholeTable(["text"], make_chunks(([each.text], each) for each in lines)), {}
        return
    path = Path(source)
    if path.exists() and (reading.means_documents or _holds_documents(path, reading)):
        with reading.open_table(path, need_header=need_header) as (table, fields):
            is_utf8 = fields.encoding in (None, "utf-8") and not _begins_with_mark(path)
            yield table, {"delimiter": fields.delimiter, "mark": not is_utf8}
        return
    from neartag.cli.sources import read_data

    points = read_data(source, "test", reading, labelled=False)
    if isinstance(points, Dataset):
        raise DataError(f"{source} holds rows of features, not texts: neartag predict MODEL {source} -o FILE tags them")
    yield table_of_documents(points), {}


def _holds_documents(path: Path, reading: Reading) -> bool:
    from neartag.data.documents import holds_documents

    return holds_documents(path, reading.fields)


def _begins_with_mark(path: Path) -> bool:
    if not path.is_file():
        return False
    with open_to_read(path) as stream:
        return stream.read(len(codecs.BOM_UTF8)) == codecs.BOM_UTF8


def _warn_of_formulas(tagger: TextTagger, target: str) -> None:
    """Warn where a spreadsheet would take labels of a text file for formulas; they are written as they are."""
    import warnings

    from neartag.data.documents.added_columns import FORMULA_STARTS

    odd = [label for label in tagger.labels if label.startswith(FORMULA_STARTS)]
    if odd:
        warnings.warn(
            f"{len(odd):,} labels of the model begin as formulas do, such as {odd[0][:40]!r}: a spreadsheet may take "
            f"them for formulas where it opens {target}; in .xlsx they are texts",
            UserWarning,
            stacklevel=2,
        )

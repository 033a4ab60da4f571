"""How to read documents: options that every command with documents shares, and what they stand for.

Heavy imports stand inside the functions: `neartag --help` reads this file.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from neartag.cli.limit_options import with_limits
from neartag.cli.option_groups import Option, add_group
from neartag.cli.urls import name_urls
from neartag.core.errors import DataError, ParameterError

if TYPE_CHECKING:
    from neartag.data.documents import BadLines, Document, Fields
    from neartag.data.documents.whole_rows import WholeTable

# Options of every command that reads documents.
_OPTIONS: tuple[Option, ...] = (
    (
        "text_field",
        list[str] | None,
        None,
        typer.Option(
            "--text-field", metavar="NAME", help="Field or column of the text; several are joined.  [default: text]"
        ),
    ),
    (
        "label_field",
        list[str] | None,
        None,
        typer.Option(
            "--label-field",
            metavar="NAME",
            help="Field of labels; may be repeated, or be a pattern, such as 'tag_*'.  [default: labels, subjects]",
        ),
    ),
    ("id_field", str, "id", typer.Option("--id-field", metavar="NAME", help="Field or column of a document's id.")),
    (
        "vector_field",
        str | None,
        None,
        typer.Option("--vector-field", metavar="NAME", help="Field of your own vectors, used instead of texts."),
    ),
    (
        "vectors",
        str | None,
        None,
        typer.Option("--vectors", metavar="FILE.npy", help="Your own vectors, a row per document, instead of texts."),
    ),
    (
        "separator",
        str | None,
        None,
        typer.Option(
            "--separator",
            metavar="MARK|none",
            help="What separates labels in a cell; none: a cell is one label.  [default: found]",
        ),
    ),
    (
        "delimiter",
        str | None,
        None,
        typer.Option("--delimiter", metavar="MARK|tab", help="What separates cells of CSV and TSV.  [default: found]"),
    ),
    (
        "encoding",
        str | None,
        None,
        typer.Option("--encoding", metavar="NAME", help="Encoding of a text file, such as cp1252.  [default: found]"),
    ),
    (
        "quoting",
        str | None,
        None,
        typer.Option(
            "--quoting",
            metavar="KIND",
            help="How cells of CSV and TSV are quoted: double, single, backslash, spaced or none.  [default: found]",
        ),
    ),
    (
        "indicators",
        bool | None,
        None,
        typer.Option(
            "--indicators/--no-indicators",
            help="Whether fields of labels hold 0 or 1, each for the label that it is named after.  [default: found]",
        ),
    ),
    (
        "label_per_row",
        bool | None,
        None,
        typer.Option(
            "--label-per-row/--document-per-row",
            help="Whether rows of one id, or of one text, are a document with all their labels.  [default: found]",
        ),
    ),
    ("sheet", str | None, None, typer.Option("--sheet", metavar="NAME", help="Sheet of an Excel file.")),
    (
        "kind",
        str | None,
        None,
        typer.Option(
            "--format",
            metavar="KIND",
            help="jsonl, csv, tsv, excel, parquet, fasttext or folder.  [default: by ending]",
        ),
    ),
    (
        "skip_bad",
        bool,
        False,
        typer.Option("--skip-bad", help="Skip bad lines and count them, instead of stopping."),
    ),
)


def with_reading(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command with options that say how to read documents; it gets them as its argument `reading`.

    Also with those for the limits of what files may unpack to.
    """
    return with_limits(add_group(command, "reading", _OPTIONS, Reading))


@dataclass
class Reading:
    """How to read documents, as the options say."""

    text_field: list[str] | None = None
    label_field: list[str] | None = None
    id_field: str = "id"
    vector_field: str | None = None
    vectors: str | None = None  # a file of them, for documents that have none
    separator: str | None = None
    delimiter: str | None = None
    encoding: str | None = None
    quoting: str | None = None
    indicators: bool | None = None
    label_per_row: bool | None = None
    sheet: str | None = None
    kind: str | None = None
    skip_bad: bool = False
    bad: BadLines | None = field(default=None, init=False)  # what was skipped, once something was read
    understood: list[str] = field(default_factory=list, init=False)  # how each file was read, in a line

    def documents(self, path: Path, *, labelled: bool = True) -> Iterator[Document]:
        """Return the documents of a file or folder, read one at a time."""
        from neartag.data.documents import documents

        settled = self._settle(path, labelled)
        read = documents(path, settled, labelled=labelled, bad=self.bad, kind=self.kind)
        return read if self.vectors is None else self._with_vectors(read)

    @contextmanager
    def open_table(self, path: Path, *, need_header: bool) -> Iterator[tuple[WholeTable, Fields]]:
        """Open a file or folder of documents with all its columns, and tell how it is read; labels are not needed."""
        from neartag.data.documents.whole_rows import open_whole_table

        settled = self._settle(path, labelled=False)
        with open_whole_table(path, settled, self.kind, bad=self.bad, need_header=need_header) as table:
            yield table, settled

    def _settle(self, path: Path, labelled: bool) -> Fields:
        """Return the fields with nothing left open, and note what was understood."""
        from neartag.data.documents import KINDS, BadLines, resolve_fields
        from neartag.data.documents.describe import describe_fields

        if self.kind is not None and self.kind not in KINDS:
            raise ParameterError(f"--format must be {list_words(list(KINDS))}, not {self.kind!r}")
        self.bad = BadLines() if self.skip_bad else None
        settled = resolve_fields(path, self.fields, labelled=labelled, kind=self.kind)
        self.understood.append(f"{path}: {describe_fields(settled, labelled)}")
        return settled

    def _with_vectors(self, documents: Iterator[Document]) -> Iterator[Document]:
        """Yield the documents, each with its row of the file of vectors."""
        import numpy as np

        from neartag.data.formats.npz import DAMAGE_ERRORS

        try:
            rows = np.load(str(self.vectors), mmap_mode="r", allow_pickle=False)
        except (OSError, *DAMAGE_ERRORS) as error:
            raise DataError(f"--vectors {self.vectors} cannot be read as .npy: {error}") from error
        if rows.ndim != 2:
            raise DataError(f"--vectors {self.vectors} has {rows.ndim} dimensions: give one row for each document")
        if self.skip_bad:
            raise DataError("--skip-bad and --vectors do not go together: which row is whose would be lost")
        count = 0
        for document in documents:
            if count < len(rows):
                yield document._replace(vector=np.asarray(rows[count], np.float32))
            count += 1
        if count != len(rows):
            raise DataError(f"--vectors {self.vectors} has {len(rows)} rows for {count} documents: give one for each")

    @property
    def fields(self) -> Fields:
        """What the file calls a document's parts."""
        from neartag.data.documents import Fields

        return Fields(
            tuple(self.text_field or ["text"]),
            None if not self.label_field else tuple(self.label_field),
            self.id_field,
            self.vector_field,
            self.separator,
            self.delimiter,
            self.encoding,
            self.quoting,
            self.indicators,
            self.label_per_row,
            self.sheet,
        )

    def as_options(self) -> str:
        """Return the options that say where the parts of a document stand, to be put after a command that is shown."""
        given = [*(("--text-field", name) for name in self.text_field or [])]
        given += [("--label-field", name) for name in self.label_field or []]
        given += [("--id-field", self.id_field)] * (self.id_field != "id")
        given += [("--sheet", self.sheet)] if self.sheet else []
        return "".join(f" {option} {shlex.quote(name)}" for option, name in given)

    @property
    def part(self) -> str:
        """The part of documents to learn from: "vector" where the options say where vectors are, else "text"."""
        return "text" if self.vector_field is None and self.vectors is None else "vector"

    @property
    def means_documents(self) -> bool:
        """Whether the options leave no doubt that DATA holds documents."""
        named = self.text_field or self.label_field or self.sheet or self.delimiter
        return self.kind is not None or bool(named) or self.part != "text"

    @property
    def skipped(self) -> dict[str, Any]:
        """For a report: how many lines were skipped, and the first few errors; nothing without --skip-bad."""
        return {} if self.bad is None else {"skipped": self.bad.count, "skipped_because": self.bad.messages}

    def refuse_label_options(self, command: str) -> None:
        """Raise ParameterError for options that say where labels are, where a command reads none."""
        options = {"--label-field": self.label_field or None, "--indicators": self.indicators}
        for name, value in {**options, "--label-per-row": self.label_per_row}.items():
            if value is not None:
                raise ParameterError(f"{name} says how labels are read, and {command} reads none: leave it out")

    def tell_understood(self, quiet: bool) -> None:
        """Print how files were read, once for each."""
        from neartag.cli import output

        for line in self.understood:
            output.message(output.escape_controls(name_urls(line)), quiet=quiet)
        self.understood.clear()

    def warn_skipped(self) -> None:
        """Warn of bad lines that were skipped."""
        import warnings

        if self.bad is not None and self.bad.count:
            warnings.warn(
                f"{self.bad.count} bad line{'s were' if self.bad.count > 1 else ' was'} skipped, the first: "
                f"{name_urls(self.bad.messages[0])}",
                UserWarning,
                stacklevel=2,
            )


def list_words(words: list[str]) -> str:
    """Return words with commas and an 'or' between them."""
    return f"{', '.join(words[:-1])} or {words[-1]}"

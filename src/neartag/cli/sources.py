"""What a DATA argument stands for: rows of features or documents, in a file, a folder, or a data set known by name.

Heavy imports stand inside the functions: `neartag --help` reads this file.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from neartag.cli.text_lines import STDIN
from neartag.core.errors import DataError, ParameterError

if TYPE_CHECKING:
    from neartag.data.dataset import Dataset
    from neartag.data.documents import BadLines, Document

EMBEDDED = "debian"
HELP = (
    "Documents (.jsonl, .csv, .tsv, .xlsx, .parquet, .ft, a folder of texts), rows of features (.txt, .npz, .jsonl), a "
    "folder with train.txt and test.txt, or a data set's name, such as debian."
)

# Options of every command that reads documents: name, type, default, and typer's option.
_OPTIONS: tuple[tuple[str, Any, Any, Any], ...] = (
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
            help="How cells of CSV and TSV are quoted: double, single, backslash or none.  [default: found]",
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
    """Return the command with options that say how to read documents; it gets them as its argument `reading`."""
    own = inspect.signature(command, eval_str=True)
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, option])
        for name, kind, default, option in _OPTIONS
    ]

    @functools.wraps(command)
    def run(*arguments: Any, **given: Any) -> None:
        reading = Reading(**{name: given.pop(name) for name, *_ in _OPTIONS})
        command(*arguments, **given, reading=reading)

    kept = [entry for entry in own.parameters.values() if entry.name != "reading"]
    rest = [entry for entry in kept if entry.kind is inspect.Parameter.VAR_KEYWORD]
    kept = [entry for entry in kept if entry.kind is not inspect.Parameter.VAR_KEYWORD]
    # typer reads both: the signature for order and defaults, the annotations for types.
    run.__signature__ = own.replace(parameters=[*kept, *added, *rest])  # type: ignore[attr-defined]
    run.__annotations__ = {entry.name: entry.annotation for entry in (*kept, *added)}
    return run


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
        from neartag.data.documents import KINDS, BadLines, documents, resolve_fields
        from neartag.data.documents.describe import describe_fields

        if self.kind is not None and self.kind not in KINDS:
            raise ParameterError(f"--format must be {_list_words(list(KINDS))}, not {self.kind!r}")
        self.bad = BadLines() if self.skip_bad else None
        settled = resolve_fields(path, self.fields, labelled=labelled, kind=self.kind)
        self.understood.append(f"{path}: {describe_fields(settled, labelled)}")
        read = documents(path, settled, labelled=labelled, bad=self.bad, kind=self.kind)
        return read if self.vectors is None else self._with_vectors(read)

    def _with_vectors(self, documents: Iterator[Document]) -> Iterator[Document]:
        """Yield the documents, each with its row of the file of vectors."""
        import numpy as np

        try:
            rows = np.load(str(self.vectors), mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
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
    def fields(self) -> Any:
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

    def tell_understood(self, quiet: bool) -> None:
        """Print how files were read, once for each."""
        from neartag.cli import output

        for line in self.understood:
            output.message(output.escape_controls(line), quiet=quiet)
        self.understood.clear()

    def warn_skipped(self) -> None:
        """Warn of bad lines that were skipped."""
        import warnings

        if self.bad is not None and self.bad.count:
            warnings.warn(
                f"{self.bad.count} bad line{'s were' if self.bad.count > 1 else ' was'} skipped, the first: "
                f"{self.bad.messages[0]}",
                UserWarning,
                stacklevel=2,
            )


def read_data(
    data: str, part: str, reading: Reading | None = None, *, labelled: bool = True
) -> Dataset | Iterator[Document]:
    """Return the points that DATA stands for: rows of features, or documents that are read one at a time.

    `part` says which part of a data set to read. Without `labelled`, documents need no labels.
    """
    from neartag.data import registry
    from neartag.data.documents import holds_documents
    from neartag.data.registry.set_files import part_files, split_files

    reading = reading or Reading()
    if data == EMBEDDED:
        return _embedded_documents(part)
    path = Path(data)
    known = data in registry.names()
    if path.exists() and not known and (reading.means_documents or _is_documents(path, part, reading, holds_documents)):
        return reading.documents(path, labelled=labelled)
    if path.is_file() and not known:
        _check_ending(path)
        return registry.load(path, labelled=labelled)
    if path.is_dir() and not known:
        _check_folder(path)
    folder = path if path.is_dir() and not known else _find_folder(data)
    has_rows = bool(part_files(folder, ".txt")) or split_files(folder) is not None
    if any(folder.glob(f"{part}.txt*")) or (has_rows and not any(folder.glob(f"{part}.jsonl*"))):
        return registry.load(data, part)
    return reading.documents(registry.text_file(data, part), labelled=labelled)


def check_source(data: str) -> None:
    """Raise DataError where DATA names nothing that there is: at once, before anything heavy is imported."""
    if not data.strip():
        raise DataError("DATA is empty: name a file, a folder or a data set, such as debian")
    if data not in (EMBEDDED, STDIN) and not Path(data).exists():
        _find_folder(data)


def _is_documents(path: Path, part: str, reading: Reading, holds_documents: Any) -> bool:
    """Return whether a file or folder holds documents, not rows of features or a data set with parts."""
    if path.is_dir() and any(path.glob(f"{part}.*")):
        return False
    return bool(holds_documents(path, reading.fields))


def _check_ending(path: Path) -> None:
    """Raise DataError where a file's ending does not say how it is written, and name all endings that do."""
    from neartag.data.documents import ENDINGS, KINDS
    from neartag.data.files import COMPRESSIONS
    from neartag.data.formats import FORMATS, is_data_file

    if not is_data_file(path):
        raise DataError(
            f"{path}: its ending does not say how it is written; known are {', '.join(ENDINGS)} for documents and "
            f"{', '.join(FORMATS)} for rows of features, and {', '.join(COMPRESSIONS)} after most of them; give "
            f"documents with another ending --format, {_list_words(list(KINDS))}"
        )


def _check_folder(folder: Path) -> None:
    """Raise DataError where a folder, which is none of texts, has no part of a data set either."""
    from neartag.data.registry.set_files import part_files, split_files

    if not part_files(folder, ".txt") and not part_files(folder, ".jsonl") and split_files(folder) is None:
        raise DataError(
            f"{folder} holds no data: a folder may hold train.txt and test.txt (rows of features), train.jsonl and "
            "test.jsonl (documents), texts NAME.txt, each with its labels in NAME.labels, or subfolders of texts, each "
            "named after a label"
        )


def _list_words(words: list[str]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"


def _embedded_documents(part: str) -> Iterator[Document]:
    """Yield the packages of the embedded corpus as documents."""
    from neartag.data import debian
    from neartag.data.documents import Document

    packages = debian.load("train" if part == "train" else "test")
    for name, words, tags in zip(packages.names, packages.words, packages.tags, strict=True):
        yield Document(" ".join(words), tags, name, None, f"the package {name}")


def _find_folder(data: str) -> Path:
    """Return the folder of a data set known by name; the folder of its texts where it has no other."""
    from neartag.data import registry
    from neartag.data.files import split_ending
    from neartag.data.registry import dataset_facts
    from neartag.data.registry.folders import describe_problem

    names = registry.names()
    try:
        return registry.find(data)
    except DataError:
        if data in names:
            return registry.find(f"{data}-text")
        if data in dataset_facts.SETS:
            raise  # it says where to put the data set
    if len(Path(data).parts) > 1 or split_ending(data)[1]:
        raise DataError(f"{data}: there is no such file or folder")
    known = ", ".join([f"{EMBEDDED} (always there)", *names])
    problem = describe_problem(registry.data_folder())
    raise DataError(f"{data}: there is no such file or folder, nor a data set of that name; known are {known}{problem}")

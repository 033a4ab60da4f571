"""Documents from files of any known format, one at a time: a file's texts are never in memory together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from neartag.core.errors import DataError, ParameterError
from neartag.data.documents.class_folders import find_class_folders
from neartag.data.documents.document import BadLines, Document
from neartag.data.documents.excel import read_excel, settle_excel
from neartag.data.documents.fasttext import read_fasttext
from neartag.data.documents.fields import Fields
from neartag.data.documents.folder import find_text_files, read_folder
from neartag.data.documents.grouping import group_rows
from neartag.data.documents.jsonlines import read_json_lines, settle_json_lines
from neartag.data.documents.layout import settle_unlabelled
from neartag.data.documents.parquet import read_parquet, settle_parquet
from neartag.data.documents.parse import DocumentsOrErrors
from neartag.data.documents.tables import read_csv, settle_csv, settle_tsv
from neartag.data.files import COMPRESSIONS, read_lines, split_ending
from neartag.data.json_objects import parse_object

Reader = Callable[[Path, Fields, bool], DocumentsOrErrors]

KINDS: dict[str, Reader] = {
    "jsonl": read_json_lines,
    "csv": read_csv,
    "tsv": read_csv,
    "excel": read_excel,
    "parquet": read_parquet,
    "fasttext": read_fasttext,
    "folder": read_folder,
}
_SETTLERS: dict[str, Callable[[Path, Fields, bool], Fields]] = {  # of the kinds that leave something to find
    "jsonl": settle_json_lines,
    "csv": settle_csv,
    "tsv": settle_tsv,
    "excel": settle_excel,
    "parquet": settle_parquet,
}
_ONLY_FOR = {  # settings of Fields that only some kinds have
    "vector": ("jsonl", "csv", "tsv", "excel", "parquet"),
    "delimiter": ("csv", "tsv"),
    "quoting": ("csv", "tsv"),
    "encoding": ("csv", "tsv", "fasttext", "folder"),
    "sheet": ("excel",),
}
ENDINGS = {  # of files, with their kinds
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".xlsx": "excel",
    ".xlsm": "excel",
    ".parquet": "parquet",
    ".ft": "fasttext",
    ".fasttext": "fasttext",
}
_UNCOMPRESSED = (".parquet", ".xlsx", ".xlsm")  # they are compressed inside
_DEFAULT_FIELDS = Fields()
_PROBED_LINES = 100  # among them a .jsonl file must show what it holds


def documents(
    path: Path | str,
    fields: Fields = _DEFAULT_FIELDS,
    *,
    labelled: bool = True,
    bad: BadLines | None = None,
    kind: str | None = None,
) -> Iterator[Document]:
    """Return the documents of a file or folder; each is read when it is asked for.

    Parameters
    ----------
    path : Path or str
        A file, whose ending says its format and its compression, or a folder of texts.
    fields : Fields
        What the file calls the parts of a document.
    labelled : bool, default True
        Whether each document must say which labels it has.
    bad : BadLines, optional
        Where bad lines are noted, which are then skipped. By default a bad line is an error.
    kind : str, optional
        One of KINDS, the format, if the ending does not say it.

    Returns
    -------
    iterator of Document

    Raises
    ------
    ParameterError
        If the format is not known, or has no vectors and `fields` asks for them.
    DataError
        While reading: if a line is wrong and `bad` is not given, or if the file as a whole is wrong.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from neartag.data.documents import documents
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "docs.csv")
    ...     _ = path.write_text("text,labels\\na game of chess,game;board\\n")
    ...     [(document.text, document.labels) for document in documents(path)]
    [('a game of chess', ['game', 'board'])]
    """
    path = Path(path)
    kind = _check_kind(path, fields, kind)
    return _raise_or_skip_errors(_read(path, fields, labelled, kind), bad)


def resolve_fields(
    path: Path | str, fields: Fields = _DEFAULT_FIELDS, *, labelled: bool = True, kind: str | None = None
) -> Fields:
    """Return the fields with nothing left open: what is None in them is found on the beginning of the file.

    `documents` does this by itself; it is for those who want to know what was found.

    Parameters
    ----------
    path, fields, labelled, kind
        As in `documents`.

    Returns
    -------
    Fields

    Raises
    ------
    ParameterError
        If the format is not known, or has no such setting.
    DataError
        If the file cannot be read, or can be understood in several ways: the error names the setting that decides.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from neartag.data.documents import resolve_fields
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "docs.csv")
    ...     _ = path.write_text("text;labels\\nchess;game|board\\ngo;board|old\\n")
    ...     found = resolve_fields(path)
    >>> found.delimiter, found.separator
    (';', '|')
    """
    path = Path(path)
    kind = _check_kind(path, fields, kind)
    is_pipe = path.exists() and not path.is_file() and not path.is_dir()
    if is_pipe and kind in _SETTLERS and kind != "jsonl":
        raise DataError(
            f"{path}: is no file, and a table is read twice, first to find how it is written; save it as a file"
        )
    if is_pipe or kind not in _SETTLERS:
        return settle_unlabelled(fields)
    return _SETTLERS[kind](path, fields, labelled)


def holds_documents(path: Path | str, fields: Fields = _DEFAULT_FIELDS) -> bool:
    """Return whether a file or folder has texts that `documents` can read.

    The ending of a file decides, except for .jsonl: there the first object decides, because rows of features may be
    written so too. A folder has texts if one of them has labels beside it, or if it has only files NAME.txt and the
    first of them does not look like feature rows; or if it has nothing but subfolders, of which one holds texts.

    Parameters
    ----------
    path : Path or str
    fields : Fields

    Returns
    -------
    bool

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from neartag.data.documents import holds_documents
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "data.jsonl")
    ...     _ = path.write_text('{"features": {"3": 0.5}, "labels": [1]}\\n')
    ...     holds_documents(path)
    False
    """
    path = Path(path)
    if path.is_dir():
        return _is_folder_of_texts(path) or bool(find_class_folders(path))
    if not path.is_file():
        return False
    _, ending, compression = split_ending(path)
    if ending != ".jsonl":
        return ending in ENDINGS and not (compression and ending in _UNCOMPRESSED)
    for number, line in islice(read_lines(path), _PROBED_LINES):
        try:
            record = parse_object(path, number, line)
        except DataError:
            continue
        return any(name in record for name in fields.text_fields) and "features" not in record
    return False


def _check_kind(path: Path, fields: Fields, kind: str | None) -> str:
    """Return the kind of a file; ParameterError where it is not known, or has no such setting."""
    if kind is None:
        kind = find_kind(path)
    elif kind not in KINDS:
        raise ParameterError(f"kind={kind!r}: must be one of {', '.join(map(repr, KINDS))}")
    for name, kinds in _ONLY_FOR.items():
        value = getattr(fields, name)
        if value is not None and kind not in kinds:
            raise ParameterError(f"{name}={value!r}: {path} has none, for its format ({kind}) has none")
    return kind


def _read(path: Path, fields: Fields, labelled: bool, kind: str) -> DocumentsOrErrors:
    """Yield the documents of a file of a kind; what its fields leave open is settled first."""
    settled = resolve_fields(path, fields, labelled=labelled, kind=kind)

    def read() -> DocumentsOrErrors:
        return KINDS[kind](path, settled, labelled)

    yield from group_rows(read) if settled.label_per_row else read()


def find_kind(path: Path) -> str:
    """Return the kind of a file or folder by its ending; ParameterError where it does not say it."""
    if path.is_dir():
        return "folder"
    _, ending, compression = split_ending(path)
    if ending not in ENDINGS or (compression and ending in _UNCOMPRESSED):
        raise ParameterError(
            f"{path}: its ending does not say how its texts are written; known are {', '.join(ENDINGS)}, "
            f"and {', '.join(COMPRESSIONS)} after any of them but .xlsx and .parquet; or say what kind it is"
        )
    return ENDINGS[ending]


def _raise_or_skip_errors(source: DocumentsOrErrors, bad: BadLines | None) -> Iterator[Document]:
    """Yield the documents; an error, or a vector not as long as the first one, is raised or noted in `bad`."""
    length: int | None = None
    for document in source:
        if isinstance(document, Document):
            vector = document.vector
            if vector is None or length in (None, vector.size):
                length = length if vector is None else vector.size
                yield document
                continue
            document = DataError(
                f"{document.place}: the vector has {vector.size} numbers, but the first has {length}; "
                "make all of them as long"
            )
        if bad is None:
            raise document
        bad.add(document)


def _is_folder_of_texts(folder: Path) -> bool:
    texts, labels = find_text_files(folder)
    if labels:
        return True
    visible = (file for file in folder.iterdir() if file.is_file() and not file.name.startswith("."))
    names = sorted(texts.keys() - {"labels", "features"})  # beside feature rows, these two files hold names
    if not names or any(split_ending(file)[1] != ".txt" for file in visible):
        return False
    # Feature rows begin with the numbers of points, features and labels.
    counts = next((line for _, line in read_lines(texts[names[0]])), b"").split()
    return not (len(counts) == 3 and all(count.isdigit() for count in counts))

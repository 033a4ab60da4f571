"""From what a reader takes out of a line to a Document, or to the error that says what is wrong with the line."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from neartag.core.errors import DataError
from neartag.data.documents.document import Document
from neartag.data.files import line_error

# What a reader yields: a document or, for a line that is wrong, its error. What is wrong with the file it raises.
DocumentsOrErrors = Iterator[Document | DataError]

_UTF8_REMEDY = "save the file as UTF-8"
_OR_ENCODING = ", or give its encoding by --encoding, such as cp1252"


class DocumentError(Exception):
    """What is wrong with one document, and the remedy: two strings. `parse_document` adds the file and the line."""


class RawDocument(NamedTuple):
    """The parts of a document as a reader took them out of a file, not yet checked."""

    text: str
    labels: Sequence[str]
    id: object = None
    vector: np.ndarray | None = None


def parse_document(
    path: Path | str, number: int, parse: Callable[..., RawDocument], *arguments: Any
) -> Document | DataError:
    """Return the document that `parse` makes of a line, or the error that says what is wrong there."""
    try:
        raw = parse(*arguments)
        _check_unicode(raw.text, "the text")
        for label in raw.labels:
            _check_unicode(label, "a label", is_name=True)
        labels = list(dict.fromkeys(raw.labels))
        return Document(raw.text, labels, _parse_id(raw.id), raw.vector, f"{path}:{number}")
    except DocumentError as error:
        return line_error(path, number, *error.args)
    except DataError as error:
        return error


def decode_line(line: bytes, number: int, encoding: str = "utf-8") -> str:
    """Return the text of a line, of the first one without a byte order mark."""
    if b"\0" in line:
        raise DocumentError("there is a NUL byte", "it may be UTF-16 or no text at all: " + _UTF8_REMEDY)
    try:
        return (line.removeprefix(codecs.BOM_UTF8) if number == 1 else line).decode(encoding)
    except UnicodeDecodeError as error:
        name = "UTF-8" if encoding == "utf-8" else encoding
        raise DocumentError(f"not {name} ({error.reason})", _UTF8_REMEDY + _OR_ENCODING) from error


def parse_vector(numbers: Any) -> np.ndarray:
    """Return numbers, or texts of numbers, as a vector (dim,) of at least one finite float32."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            vector = np.asarray(numbers, dtype=np.float64).astype(np.float32)  # (dim,)
    except (ValueError, TypeError, OverflowError) as error:
        raise DocumentError(f"the vector cannot be read ({error})", "a vector is a list of numbers") from error
    if vector.ndim != 1 or not vector.size:
        raise DocumentError(f"the vector has the shape {vector.shape}", "a vector is a list of at least one number")
    if not np.isfinite(vector).all():
        place = int(np.flatnonzero(~np.isfinite(vector))[0])
        raise DocumentError(
            f"number {place} of the vector is no finite float32", "correct it or leave the document out"
        )
    return vector


def _parse_id(value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise DocumentError(f"the id is {str(value)[:40]}", "an id is a string or a whole number")
    name = str(value)
    _check_unicode(name, "the id", is_name=True)
    return name


def _check_unicode(text: str, what: str, *, is_name: bool = False) -> None:
    """Refuse what no file could hold; in names also the NUL character, which many programs take as the end."""
    if is_name and "\0" in text:
        raise DocumentError(f"{what} holds a NUL character", "take it out")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            problem = f"{what} is not valid Unicode ({error.reason})"
            raise DocumentError(problem, "correct or replace the character") from error

"""Documents in fastText's format: one text per line, its labels before it as `__label__NAME`."""

from __future__ import annotations

import re
from pathlib import Path

from neartag.data.documents.encodings import UTF8
from neartag.data.documents.fields import Fields
from neartag.data.documents.parse import DocumentError, DocumentsOrErrors, RawDocument, decode_line, parse_document
from neartag.data.files import read_lines

_LABEL = re.compile(r"__label__([^ \t\v\f]*)[ \t\v\f]*")


def read_fasttext(path: Path, fields: Fields, labelled: bool) -> DocumentsOrErrors:
    """Yield the documents of a file with one text per line; empty lines are skipped."""
    for number, line in read_lines(path):
        if line.strip():
            yield parse_document(path, number, _parse_line, line, number, fields.encoding or UTF8)


def _parse_line(line: bytes, number: int, encoding: str) -> RawDocument:
    text = decode_line(line, number, encoding).lstrip(" \t\v\f")
    labels, start = [], 0
    while match := _LABEL.match(text, start):
        if not match[1]:
            raise DocumentError("there is a __label__ without a name", "write the name right after it")
        labels.append(match[1])
        start = match.end()
    return RawDocument(text[start:], labels)

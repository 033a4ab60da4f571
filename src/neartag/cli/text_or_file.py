"""A path where a text was meant, and a text where a path was meant: recognised, and told what to do."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from neartag.cli.text_lines import STDIN
from neartag.core.errors import DataError, ParameterError

# Of names without a blank, which are hardly ever texts; a text that only ends so has blanks before.
_FILE_ENDINGS = (
    *(".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".xlsx", ".xlsm", ".xls", ".ods", ".parquet", ".ft", ".fasttext"),
    *(".txt", ".npz", ".npy", ".gz", ".xz", ".bz2", ".zip", ".pdf", ".docx", ".html", ".md"),
)
_MAX_SHOWN = 60


def refuse_paths(texts: Sequence[str]) -> None:
    """Raise ParameterError where a text is the name of a file, or looks like that of one that is not there."""
    for text in texts:
        if text == STDIN or not text.strip():
            continue
        words = f"to tag these words as a text, give them by standard input: echo '{text}' | neartag tag MODEL -"
        if is_path(text):
            kind = "a folder" if os.path.isdir(text) else "a file"
            raise ParameterError(
                f"{text} is {kind}, and tag takes texts: to tag its documents, say where to write them, such as "
                f"-o tagged.csv; {words}"
            )
        if looks_like_path(text):
            raise ParameterError(f"{text} looks like a file, but there is none of that name: check the path; {words}")


def check_table(source: str) -> None:
    """Raise DataError where a text stands in place of a table."""
    if source == STDIN or os.path.exists(source):
        return
    if not source.strip():
        raise DataError("TEXT is empty: with -o, name the table to tag, or - for lines of input")
    if any(character.isspace() for character in source) and not looks_like_path(source):
        shown = source if len(source) <= _MAX_SHOWN else source[: _MAX_SHOWN - 1] + "…"
        raise DataError(
            f"there is no file {shown!r}: with -o, tag takes a table of texts, such as docs.csv; to tag a single text, "
            "leave -o out"
        )
    from neartag.cli.sources import check_source

    check_source(source)


def is_path(text: str) -> bool:
    """Return whether a text is the name of a file; or of a folder, where it looks like a path."""
    try:
        has_separator = any(each in text for each in (os.sep, os.altsep) if each)  # Windows has two
        return os.path.isfile(text) or (os.path.isdir(text) and (has_separator or text in (".", "..")))
    except ValueError:  # a NUL character, which no path has
        return False


def looks_like_path(text: str) -> bool:
    """Return whether a text without blanks ends as names of files do."""
    return not any(character.isspace() for character in text) and Path(text).suffix.lower() in _FILE_ENDINGS

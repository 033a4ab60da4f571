"""Vocabulary files, by their ending: a list, TSV with URI and name as Annif has it, SKOS in several notations."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from neartag.core.errors import DataError
from neartag.data.files import line_error, read_lines, split_ending
from neartag.vocabulary.concepts import NO_LANGUAGE, Vocabulary
from neartag.vocabulary.labelling import Described, label_concepts

# Endings of SKOS files, and what rdflib calls their notation.
SKOS_ENDINGS = {".ttl": "turtle", ".rdf": "xml", ".xml": "xml", ".nt": "nt"}
ENDINGS = (".txt", ".tsv", *SKOS_ENDINGS)


def read_vocabulary(path: str | os.PathLike[str], *, closed: bool = True, language: str | None = None) -> Vocabulary:
    """Return the vocabulary of a file.

    Parameters
    ----------
    path : str or path
        `.txt` has one label on each line; `.tsv` a URI (in angle brackets or not) and a name, as Annif's do; `.ttl`,
        `.rdf`, `.xml` and `.nt` are SKOS, which needs rdflib. Each may be compressed: `.ttl.gz`.
    closed : bool, default True
        Whether labels that are no concept of it are refused.
    language : str, optional
        Language of the labels, such as "fi"; the one in which most concepts have a name unless given.

    Raises
    ------
    DataError
        The file cannot be read, or is not such a file.
    """
    place = Path(path)
    check_vocabulary_file(place)
    ending = split_ending(place)[1]
    if ending in SKOS_ENDINGS:
        from neartag.vocabulary.skos import read_skos  # it needs rdflib

        described: Iterator[Described] = iter(read_skos(place, SKOS_ENDINGS[ending]))
    else:
        reader: Callable[[Path], Iterator[Described]] = _read_list if ending == ".txt" else _read_tsv
        described = reader(place)
    try:
        vocabulary = label_concepts(described, closed=closed, language=language)
    except DataError as error:
        raise error if str(place) in str(error) else DataError(f"{place}: {error}") from error
    if not vocabulary.concepts:
        raise DataError(f"{place}: there is no concept in it: check that it is a vocabulary")
    return vocabulary


def check_vocabulary_file(path: Path) -> None:
    """Raise DataError, before any work, where a file is not there or its ending is none of a vocabulary."""
    if split_ending(path)[1] not in ENDINGS:
        raise DataError(f"{path}: a vocabulary's name ends in one of {', '.join(ENDINGS)}: rename the file")
    if not path.is_file():
        raise DataError(f"{path}: there is no such file")


def _read_list(path: Path) -> Iterator[Described]:
    seen: set[str] = set()
    for number, line in _text_lines(path):
        if "\t" in line:
            raise line_error(path, number, "a tab in a list of labels", "give a file with URIs the ending .tsv")
        if line not in seen:
            seen.add(line)
            yield Described("", {NO_LANGUAGE: line})


def _read_tsv(path: Path) -> Iterator[Described]:
    """Yield a concept for each URI: its first name is preferred, those of further lines are alternatives."""
    names: dict[str, list[str]] = {}
    for number, line in _text_lines(path):
        uri, _, rest = line.partition("\t")
        name = rest.partition("\t")[0].strip()  # a third column is Annif's notation code
        uri = uri.strip()
        uri = uri[1:-1] if uri.startswith("<") and uri.endswith(">") else uri
        if not uri or not name:
            raise line_error(path, number, "not a URI, a tab and a name", "write each line so, or name a list .txt")
        names.setdefault(uri, []).append(name)
    for uri, (first, *others) in names.items():
        yield Described(uri, {NO_LANGUAGE: first}, tuple(dict.fromkeys(others)))


def _text_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of each line that is not empty."""
    for number, line in read_lines(path):
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8").strip()
        except UnicodeDecodeError as error:
            raise line_error(path, number, "not UTF-8", "save the file as UTF-8") from error
        if text:
            yield number, text

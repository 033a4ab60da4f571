"""The vocabulary that a command is given: its options, checked before any work."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from neartag.core.errors import ParameterError

if TYPE_CHECKING:
    from neartag.vocabulary.concepts import Vocabulary

VocabularyFile = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Map labels to the concepts of a vocabulary, and refuse others: a list (.txt), URI and name (.tsv), or "
        "SKOS (.ttl, .rdf, .xml, .nt).",
    ),
]
OpenVocabulary = Annotated[bool, typer.Option("--open-vocabulary", help="Keep labels that are not in the vocabulary.")]
LabelLanguage = Annotated[
    str | None,
    typer.Option(
        "--label-language",
        metavar="CODE",
        help="Language of the vocabulary's names to answer with, such as fi.  [default: the most frequent one]",
    ),
]


def check_options(vocabulary: str | None, is_open: bool, language: str | None) -> None:
    """Raise an error where the vocabulary is not there, or an option needs one."""
    if vocabulary is None:
        for given, name in ((is_open, "--open-vocabulary"), (language is not None, "--label-language")):
            if given:
                raise ParameterError(f"{name} is for a vocabulary: give --vocabulary FILE too")
        return
    from neartag.vocabulary.read import check_vocabulary_file

    check_vocabulary_file(Path(vocabulary))


def load_vocabulary(path: str, is_open: bool, language: str | None) -> Vocabulary:
    """Return the vocabulary of the options."""
    from neartag.vocabulary.read import read_vocabulary

    return read_vocabulary(path, closed=not is_open, language=language)

"""Labels of documents mapped to the concepts of a vocabulary."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator

from neartag.core.errors import DataError
from neartag.data.documents import Document
from neartag.data.near_duplicates import fold
from neartag.vocabulary.concepts import Vocabulary

MAX_GUESSES = 3  # labels that an error suggests


def map_documents(documents: Iterable[Document], vocabulary: Vocabulary) -> Iterator[Document]:
    """Yield the documents with their labels mapped; DataError, which names file and line, for one that is refused."""
    for document in documents:
        yield document._replace(labels=map_labels(document.labels, vocabulary, (), document.place))


def map_labels(labels: Iterable[str], vocabulary: Vocabulary, known: Container[str], place: str = "") -> list[str]:
    """Return the labels by which a model knows these names and URIs, none twice.

    `known` holds the model's labels, which are always taken. Other labels that are no concept are kept where the
    vocabulary is open; where it is closed they are a DataError, which `place` begins.
    """
    mapped: dict[str, None] = {}
    for name in labels:
        try:
            concept = vocabulary.find(name)
        except DataError as error:
            raise DataError(f"{place}: {error}" if place else str(error)) from error
        if concept is None and name not in known and vocabulary.closed:
            raise DataError(f"{place + ': ' if place else ''}{_refusal(name, vocabulary)}")
        mapped[name if concept is None else concept.label] = None
    return list(mapped)


def _refusal(name: str, vocabulary: Vocabulary) -> str:
    wanted = fold(name)
    near = [each.label for each in vocabulary.concepts if wanted in map(fold, (each.label, *each.other_names))]
    guess = f"did you mean {' or '.join(map(repr, near[:MAX_GUESSES]))}? " if near else ""
    remedy = f"{guess}{'Correct' if guess else 'correct'} it, or open the vocabulary (neartag labels MODEL --open)"
    return f"the label {name!r} is not in the vocabulary, which is closed: {remedy}"

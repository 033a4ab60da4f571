"""A label for each concept that a file describes: its preferred name in one language, made unique by its URI."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from neartag.core.errors import DataError
from neartag.vocabulary.concepts import NO_LANGUAGE, Concept, Vocabulary


class Described(NamedTuple):
    """A concept as a file describes it, before it has a label."""

    uri: str
    names: Mapping[str, str]  # preferred, by language
    alternatives: tuple[str, ...] = ()
    broader: tuple[str, ...] = ()


def label_concepts(described: Iterable[Described], *, closed: bool = True, language: str | None = None) -> Vocabulary:
    """Return the vocabulary of these concepts, labelled in a language; None: in the one in which most have a name.

    A concept without a name in that language is labelled in the first of its others, or by its URI. Where two would
    have the same label, each has its URI behind the name. DataError where no concept has a name in the language.
    """
    listed = list(described)
    counts = Counter(each for concept in listed for each in concept.names)
    if language is not None and listed and language not in counts:
        there = ", ".join(sorted(filter(None, counts))) or "none is told"
        raise DataError(f"no concept has a name in the language {language!r}; languages of the names: {there}")
    if language is None:
        language = min(counts, key=lambda each: (-counts[each], each), default=NO_LANGUAGE)
    labels = [_label(each, language) for each in listed]
    shared = {label for label, many in Counter(labels).items() if many > 1}
    concepts = [
        Concept(f"{label} ({each.uri})" if label in shared and each.uri else label, *each)
        for label, each in zip(labels, listed, strict=True)
    ]
    return Vocabulary(tuple(concepts), closed, language)


def _label(concept: Described, language: str) -> str:
    names = concept.names
    if language in names:
        return names[language]
    return names[min(names)] if names else concept.uri

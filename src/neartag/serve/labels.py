"""Labels by what somebody has typed, quickly enough to answer at each key; and whether a label is new."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from neartag.core.errors import DataError
from neartag.data.near_duplicates import fold
from neartag.tagging.tagger import TextTagger
from neartag.vocabulary.concepts import Vocabulary

SEPARATOR = "\n"  # between two names
MAX_HITS = 100_000  # of millions of labels, a single letter fits nearly all
MAX_SIMILAR = 5  # labels named that are written nearly the same
# What `fold` leaves out, as a pattern; what is found with it is folded again.
_BETWEEN = "[^\\w\n]*_*[^\\w\n]*"


@dataclass(frozen=True)
class _Index:
    """All names of all labels in one long string: finding in it is a single scan in C."""

    names: list[str]  # the model's label names, by which it is known whether the index is theirs
    vocabulary: Vocabulary | None
    labels: list[str]  # the model's, then concepts of the vocabulary that no document has yet
    known: frozenset[str]  # the same
    string: str
    starts: np.ndarray  # (names,) where each name's break stands in the string
    owner: np.ndarray  # (names,) the label of each name

    def label_numbers(self, places: Iterable[int]) -> np.ndarray:
        """Return the numbers of the labels whose names stand at these places of the string."""
        at = np.searchsorted(self.starts, np.array(list(places), np.int64), side="right") - 1
        return np.unique(self.owner[at])


class LabelSearch:
    """Finds labels by a part of any of their names."""

    def __init__(self) -> None:
        self._index = _make_index([], None)  # one value, which threads may exchange

    def find(self, tagger: TextTagger, typed: str, limit: int) -> dict[str, Any]:
        """Return labels, how many points have each, and how many labels fit; and what is typed exactly.

        First come labels with a name that begins with what was typed, then those with a word that begins so, then
        those that have it elsewhere; of each kind the most frequent first.
        """
        index = self._refresh(tagger)
        frequency = _frequency(tagger.stored.model, len(index.names), len(index.labels))
        wanted = typed.casefold().replace(SEPARATOR, " ")
        chosen = np.empty(0, np.int64)
        for numbers in _match_names(index, wanted) if wanted else [np.arange(len(index.labels))]:
            more = np.setdiff1d(numbers, chosen)
            chosen = np.concatenate([chosen, more[np.argsort(-frequency[more], kind="stable")]])
        shown = chosen[:limit].tolist()
        labels = [index.labels[place] for place in shown]
        known = _known_label(index, typed.strip())
        concepts = [None if index.vocabulary is None else index.vocabulary.get(label) for label in labels]
        return {
            "labels": labels,
            "points": [int(frequency[place]) for place in shown],
            "uris": [None if concept is None else concept.uri or None for concept in concepts],
            "names": [{} if concept is None else dict(concept.names) for concept in concepts],
            "total": len(chosen),
            "known": known,
            "similar": [label for label in self._similar(index, typed) if label != known],
            "closed": index.vocabulary is not None and index.vocabulary.closed,
        }

    def describe_new(self, tagger: TextTagger, labels: Iterable[str]) -> str | None:
        """Return what to say about labels that the model does not have, None where it has all of them."""
        index = self._refresh(tagger)
        unknown = [label for label in dict.fromkeys(labels) if label not in index.known]
        new = [label for label in unknown if _known_label(index, label) is None]
        if not new or (index.vocabulary is not None and index.vocabulary.closed):
            return None  # adding them is refused in its own words
        similar = self._similar(index, new[0])
        guess = f"did you mean {' or '.join(map(repr, similar))}? " if similar else ""
        more = f", nor {len(new) - 1} more of these labels" if len(new) > 1 else ""
        return f'no document has the label {new[0]!r} yet{more}; {guess}Send "new_labels": true to add new labels'

    def _similar(self, index: _Index, typed: str) -> list[str]:
        """Return labels with a name that differs from what was typed only in how it is written."""
        folded = fold(typed)
        if not folded:
            return []
        body = _BETWEEN.join(map(re.escape, folded))
        pattern = re.compile(f"{SEPARATOR}{_BETWEEN}{body}{_BETWEEN}(?={SEPARATOR}|$)")
        found = [each for each in pattern.finditer(index.string) if fold(each.group()[1:]) == folded]
        numbers = index.label_numbers(each.start() for each in found)
        return [index.labels[number] for number in numbers[:MAX_SIMILAR]]

    def _refresh(self, tagger: TextTagger) -> _Index:
        index, names, vocabulary = self._index, tagger.stored.label_names or [], tagger.stored.vocabulary
        if index.vocabulary is not vocabulary or (names is not index.names and names != index.names):
            self._index = index = _make_index(names, vocabulary)
        return index


def names_of(vocabulary: Vocabulary | None, labels: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return the names by language of those labels that are concepts with names."""
    if vocabulary is None:
        return {}
    concepts = {label: vocabulary.get(label) for label in labels}
    return {label: dict(concept.names) for label, concept in concepts.items() if concept is not None and concept.names}


def _make_index(names: list[str], vocabulary: Vocabulary | None) -> _Index:
    own = set(names)
    concepts = () if vocabulary is None else vocabulary.concepts
    labels = [*names, *(concept.label for concept in concepts if concept.label not in own)]
    number = {label: place for place, label in enumerate(labels)} if concepts else {}
    others = [(name, number[concept.label]) for concept in concepts for name in concept.other_names]
    folded = [name.casefold().replace(SEPARATOR, " ") for name in (*labels, *(name for name, _ in others))]
    owner = np.array([*range(len(labels)), *(place for _, place in others)], np.int64)
    lengths = np.array([len(name) + 1 for name in folded], np.int64)
    string = SEPARATOR + SEPARATOR.join(folded)
    return _Index(names, vocabulary, labels, frozenset(labels), string, np.cumsum(lengths) - lengths, owner)


def _known_label(index: _Index, typed: str) -> str | None:
    """Return the label that a name or URI stands for, None where it is none's."""
    try:
        concept = None if index.vocabulary is None else index.vocabulary.find(typed)
    except DataError:  # it stands for several
        return None
    if concept is not None:
        return concept.label
    return typed if typed in index.names else None


def _match_names(index: _Index, wanted: str) -> list[np.ndarray]:
    """Return the numbers of labels with a name that begins so, with a word that begins so, and that have it at all."""
    begins, holds = _find_hits(index.string, SEPARATOR + wanted), _find_hits(index.string, wanted)
    words = [at for at in holds if not index.string[at - 1].isalnum()]
    return [index.label_numbers(hits) for hits in (begins, words, holds)]


def _find_hits(string: str, wanted: str) -> list[int]:
    hits: list[int] = []
    at = string.find(wanted)
    while at >= 0 and len(hits) < MAX_HITS:
        hits.append(at)
        at = string.find(wanted, at + 1)
    return hits


def _frequency(model: Any, names: int, labels: int) -> np.ndarray:
    """Return how many points have each label; 0 for unused concepts, and where the model does not tell."""
    counts = np.zeros(labels, np.int64)
    frequency = getattr(model, "frequency", None)
    if frequency is not None and len(frequency) == names:
        counts[:names] = frequency
    return counts

"""Vocabulary: concepts as frozen values, found by URI or by any of their names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from neartag.core.errors import DataError, ParameterError

if TYPE_CHECKING:
    import numpy as np

    from neartag.vocabulary.hierarchy import Hierarchy

NO_LANGUAGE = ""  # of names whose language is not told


class Concept(NamedTuple):
    """One concept of a vocabulary."""

    label: str  # the name that models use for it; no other concept has it
    uri: str = ""  # "" where the vocabulary has none
    names: Mapping[str, str] = MappingProxyType({})  # preferred names by language
    alternatives: tuple[str, ...] = ()  # other names, in any language
    broader: tuple[str, ...] = ()  # URIs of broader concepts

    @property
    def other_names(self) -> list[str]:
        """Every name but the label."""
        return [name for name in dict.fromkeys((*self.names.values(), *self.alternatives)) if name != self.label]


@dataclass(frozen=True)
class Vocabulary:
    """Concepts, and whether other labels are refused.

    Parameters
    ----------
    concepts : tuple of Concept
        No two have the same label or the same URI.
    closed : bool, default True
        Whether labels are refused that are neither a concept's nor in the model already.
    language : str, default ""
        The language of the labels.

    Examples
    --------
    >>> from neartag.vocabulary.concepts import Concept, Vocabulary
    >>> vocabulary = Vocabulary((Concept("dogs", "http://example.org/dogs", {"en": "dogs"}, ("hounds",)),))
    >>> vocabulary.find("hounds").uri
    'http://example.org/dogs'
    """

    concepts: tuple[Concept, ...] = ()
    closed: bool = True
    language: str = NO_LANGUAGE

    def __post_init__(self) -> None:
        """Refuse labels and URIs that two concepts have."""
        for what, values in (("label", self._by_label), ("URI", self._by_uri)):
            count = sum(1 for each in self.concepts if what == "label" or each.uri)
            if len(values) < count:
                counts = Counter(each.label if what == "label" else each.uri for each in self.concepts)
                twice = next(value for value, many in counts.items() if value and many > 1)
                raise DataError(f"two concepts of the vocabulary have the {what} {twice!r}: give each its own")

    def __len__(self) -> int:
        return len(self.concepts)

    def get(self, label: str) -> Concept | None:
        """Return the concept of this label, None where there is none."""
        number = self._by_label.get(label)
        return None if number is None else self.concepts[number]

    def find(self, name: str) -> Concept | None:
        """Return the concept of this label, URI, preferred or alternative name, in this order; None without one.

        DataError where the name stands for several concepts.
        """
        for numbers in (self._by_label, self._by_uri):
            if name in numbers:
                return self.concepts[numbers[name]]
        for index in (self._by_own_name, self._by_any_name, self._by_alternative):
            if name in index.shared:
                own = dict.fromkeys(index.shared[name])
                named = ", ".join(self.concepts[number].uri or self.concepts[number].label for number in list(own)[:3])
                raise DataError(f"the label {name!r} stands for {len(own)} concepts ({named}): give the URI instead")
            if name in index.first:
                return self.concepts[index.first[name]]
        return None

    def narrower(self, concept: Concept) -> set[str]:
        """Return the labels of a concept and of all below it, however far."""
        return {self.concepts[number].label for number in self.numbers_below(concept).tolist()}

    def numbers_below(self, concept: Concept) -> np.ndarray:
        """Return the numbers of a concept and of all below it, however far, as an array."""
        return self._hierarchy.below(self._by_label[concept.label])

    def rename(self, label: str, new: str) -> Vocabulary:
        """Return the vocabulary with another label for a concept; the old one becomes an alternative name.

        A label that is no concept becomes one.
        """
        if new in self._by_label:
            raise ParameterError(f"the vocabulary has a label {new!r} already: merge the two instead")
        old = self.get(label) or Concept(label)
        language = next((each for each, name in old.names.items() if name == label), self.language)
        others = tuple(dict.fromkeys(name for name in (*old.alternatives, label) if name != new))
        return self._put(label, old._replace(label=new, names={**old.names, language: new}, alternatives=others))

    def merge(self, label: str, into: str) -> Vocabulary:
        """Return the vocabulary without a concept, whose names and URI lead to another from now on."""
        gone, kept = self.get(label) or Concept(label), self.get(into) or Concept(into)
        names = (*kept.alternatives, gone.label, *gone.other_names, *([gone.uri] if gone.uri else []))
        others = tuple(name for name in dict.fromkeys(names) if name != kept.label)
        merged = self._put(into, kept._replace(alternatives=others))
        concepts = [each for each in merged.concepts if each.label != label]
        if gone.uri:
            concepts = [_with_broader(each, gone.uri, kept.uri) for each in concepts]
        return replace(self, concepts=tuple(concepts))

    def _put(self, label: str, concept: Concept) -> Vocabulary:
        """Return the vocabulary with a concept in the place of the one of this label, or at the end."""
        concepts = list(self.concepts)
        number = self._by_label.get(label, len(concepts))
        concepts[number : number + 1] = [concept]
        return replace(self, concepts=tuple(concepts))

    @cached_property
    def languages(self) -> list[str]:
        """The languages in which concepts have preferred names, sorted; NO_LANGUAGE is not among them."""
        return sorted({language for concept in self.concepts for language in concept.names} - {NO_LANGUAGE})

    @cached_property
    def _by_label(self) -> dict[str, int]:
        return {each.label: number for number, each in enumerate(self.concepts)}

    @cached_property
    def _by_uri(self) -> dict[str, int]:
        return {each.uri: number for number, each in enumerate(self.concepts) if each.uri}

    # Each is made when it is first needed: most labels are found by the first.

    @cached_property
    def _by_own_name(self) -> _Index:
        return _Index((each.names[self.language],) if self.language in each.names else () for each in self.concepts)

    @cached_property
    def _by_any_name(self) -> _Index:
        return _Index(each.names.values() for each in self.concepts)

    @cached_property
    def _by_alternative(self) -> _Index:
        return _Index(each.alternatives for each in self.concepts)

    @cached_property
    def _hierarchy(self) -> Hierarchy:
        from neartag.vocabulary.hierarchy import Hierarchy  # here: loading a model needs no kernels

        numbers = self._by_uri
        return Hierarchy([[numbers[uri] for uri in each.broader if uri in numbers] for each in self.concepts])


class _Index:
    """Numbers of concepts by a text that some have: the first, and all where there are several."""

    def __init__(self, texts: Iterable[Iterable[str]]) -> None:
        self.first: dict[str, int] = {}
        self.shared: dict[str, list[int]] = {}
        for number, own in enumerate(texts):
            for text in own:
                first = self.first.setdefault(text, number)
                if first != number:
                    self.shared.setdefault(text, [first]).append(number)


def _with_broader(concept: Concept, gone: str, kept: str) -> Concept:
    """Return the concept with one broader URI in place of another, or without it where that would be itself or none."""
    if gone not in concept.broader:
        return concept
    uris = dict.fromkeys(kept if uri == gone else uri for uri in concept.broader)
    return concept._replace(broader=tuple(uri for uri in uris if uri and uri != concept.uri))

"""Which labels a request asks for: by name, by prefix, or by a broader concept."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property
from itertools import islice, takewhile

import numpy as np

from neartag.core.errors import DataError, ParameterError
from neartag.vocabulary.concepts import Vocabulary

PREFIX, UNDER = "*", "under:"


class LabelSelection:
    """A model's labels, laid out once so that each request for some of them is found at once.

    Parameters
    ----------
    labels : sequence of str
        The model's labels.
    vocabulary : Vocabulary, optional
        It gives labels other names and URIs, and tells which are below others.
    """

    def __init__(self, labels: Sequence[str], vocabulary: Vocabulary | None) -> None:
        self.labels, self.vocabulary = labels, vocabulary
        self._number = {label: place for place, label in enumerate(labels)}

    @cached_property
    def _sorted(self) -> list[str]:
        return sorted(self._number)

    @cached_property
    def _number_of_concept(self) -> np.ndarray:
        """The label (C,) of each concept; −1 where the model does not have it."""
        concepts = () if self.vocabulary is None else self.vocabulary.concepts
        return np.array([self._number.get(each.label, -1) for each in concepts], np.int64)

    def select(self, include: Sequence[str] | None, exclude: Sequence[str] | None) -> np.ndarray:
        """Return which of the labels are asked for, (L,) bool.

        Each of `include` and `exclude` is the name or the URI of a label; or "fruit*", all labels that begin so; or
        "under:fruit", the label and all that are narrower. Without `include` all labels are asked for but those
        excluded. ParameterError where there is no such label.
        """
        flags = bytearray(len(self.labels)) if include is not None else bytearray(b"\1") * len(self.labels)
        asked = np.frombuffer(flags, bool)  # (L,) the same memory: single flags are set sooner without numpy
        find_label = self._number.get
        for wishes, value in ((include, True), (exclude, False)):
            if isinstance(wishes, str):
                raise ParameterError(f"give a list of labels, not the string {wishes!r:.60}")
            for wish in wishes or ():
                number = find_label(wish)
                if number is None:
                    asked[self._find_others(wish)] = value
                else:
                    flags[number] = value
        return asked

    def _find_others(self, wish: str) -> int | list[int] | np.ndarray:
        """Return the numbers of the labels that a wish stands for which is no label itself."""
        try:
            if wish.startswith(UNDER):
                return self._find_below(wish[len(UNDER) :])
            concept = None if self.vocabulary is None else self.vocabulary.find(wish)
            if concept is not None:
                number = self._number.get(concept.label)
                return [] if number is None else number
        except DataError as error:
            raise ParameterError(str(error)) from error
        if wish.endswith(PREFIX):
            return self._find_begun(wish[: -len(PREFIX)])
        raise ParameterError(f"there is no label {wish!r}: give a name, {'fruit' + PREFIX!r} or {UNDER + 'fruit'!r}")

    def _find_begun(self, prefix: str) -> list[int]:
        first = bisect_left(self._sorted, prefix)
        begun = list(takewhile(lambda label: label.startswith(prefix), islice(self._sorted, first, None)))
        if not begun:
            raise ParameterError(f"no label of the model begins with {prefix!r}")
        return [self._number[label] for label in begun]

    def _find_below(self, name: str) -> np.ndarray:
        if self.vocabulary is None:
            raise ParameterError(f"{UNDER}{name}: the model has no vocabulary, which would tell what is narrower")
        concept = self.vocabulary.find(name)
        if concept is None:
            raise ParameterError(f"{UNDER}{name}: the vocabulary has no concept {name!r}")
        numbers = self._number_of_concept[self.vocabulary.numbers_below(concept)]
        return numbers[numbers >= 0]

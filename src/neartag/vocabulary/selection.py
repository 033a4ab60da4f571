"""Which labels a request asks for: by name, by prefix, or by a broader concept."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from neartag.core.errors import DataError, ParameterError
from neartag.vocabulary.concepts import Vocabulary

PREFIX, UNDER = "*", "under:"


def select_labels(
    labels: Sequence[str], vocabulary: Vocabulary | None, include: Sequence[str] | None, exclude: Sequence[str] | None
) -> np.ndarray:
    """Return which of a model's labels are asked for, (L,) bool.

    Parameters
    ----------
    labels : sequence of str
        The model's labels.
    vocabulary : Vocabulary, optional
        It gives labels other names and URIs, and tells which are below others.
    include, exclude : sequence of str, optional
        Each is the name or the URI of a label; or "fruit*", all labels that begin so; or "under:fruit", the label and
        all that are narrower. Without `include` all labels are asked for but those excluded.

    Raises
    ------
    ParameterError
        There is no such label.
    """
    everything = include is None
    asked = np.full(len(labels), everything)
    number = {label: place for place, label in enumerate(labels)}
    for wishes, value in ((include, True), (exclude, False)):
        if isinstance(wishes, str):
            raise ParameterError(f"give a list of labels, not the string {wishes!r:.60}")
        for wish in wishes or ():
            chosen = [number[label] for label in _find(wish, number, vocabulary) if label in number]
            asked[chosen] = value
    return asked


def _find(wish: str, number: dict[str, int], vocabulary: Vocabulary | None) -> set[str]:
    """Return the labels that one wish stands for; a name comes before a prefix."""
    if wish in number:
        return {wish}
    try:
        concept = None if vocabulary is None else vocabulary.find(wish)
        if concept is not None:
            return {concept.label}
        if wish.startswith(UNDER):
            return _below(wish[len(UNDER) :], vocabulary)
    except DataError as error:
        raise ParameterError(str(error)) from error
    if wish.endswith(PREFIX):
        begun = {label for label in number if label.startswith(wish[: -len(PREFIX)])}
        if begun:
            return begun
        raise ParameterError(f"no label of the model begins with {wish[: -len(PREFIX)]!r}")
    raise ParameterError(f"there is no label {wish!r}: give a name, {'fruit' + PREFIX!r} or {UNDER + 'fruit'!r}")


def _below(name: str, vocabulary: Vocabulary | None) -> set[str]:
    if vocabulary is None:
        raise ParameterError(f"{UNDER}{name}: the model has no vocabulary, which would tell what is narrower")
    concept = vocabulary.find(name)
    if concept is None:
        raise ParameterError(f"{UNDER}{name}: the vocabulary has no concept {name!r}")
    return vocabulary.narrower(concept)

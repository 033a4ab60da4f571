"""Why two texts are near in meaning, though they may have no word in common.

A sentence encoder's vector is of the whole text. What a word counts for shows when it is left out: the words without
which the text is less like the document are those that make it alike. In a long text, sentences are left out instead.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from neartag.encoders.terms import spans_of
from neartag.storage.bundle import StoredModel
from neartag.tagging.explained_words import Word, telling_words

MAX_LEFT_OUT = 40  # words of a text that are left out, one after the other; a text of more is taken by sentences
MIN_SHARE_OF_WEIGHTIEST = 0.2  # a word whose absence matters less than this share of the weightiest is not shown
_SENTENCE = re.compile(r"[^.!?。！？\n]+[.!?。！？]*")


def sentence_encoder(features: Any) -> Any:
    """Return what makes the vectors of texts in an encoder; None where nothing does."""
    vectors = getattr(features, "vectors_", features)
    return vectors if hasattr(vectors, "identities_") else None


class TextMeaning:
    """The words of a text by what they count for in its nearness to documents. Texts are encoded when asked for."""

    def __init__(self, stored: StoredModel, text: Any, most: int) -> None:
        encoder = sentence_encoder(stored.features)
        usable = most > 0 and encoder is not None and stored.texts is not None and isinstance(text, str)
        self._encoder, self._stored, self._text, self._most = encoder if usable else None, stored, text, most
        self._rows: np.ndarray | None = None
        self._parts: list[str] = []

    def near_words(self, point: int) -> list[Word]:
        """Return the words, or sentences, without which the text is less like a document; the weightiest first.

        The weight is what the cosine of the two texts loses.
        """
        if self._encoder is None or self._stored.texts is None:
            return []
        if self._rows is None:
            self._parts, shortened = _leave_out(self._text)
            self._rows = self._encoder.transform([self._text, *shortened])  # (1 + parts, e)
        cosines = self._rows @ self._document_vector(point)
        losses = np.maximum(cosines[0] - cosines[1:], 0.0)  # (parts,)
        return telling_words(self._parts, losses, self._most, MIN_SHARE_OF_WEIGHTIEST)

    def _document_vector(self, point: int) -> np.ndarray:
        """Return a document's vector (e,): as the model keeps it beside the words, else encoded again."""
        kept = getattr(self._stored.model, "vectors", None)
        if kept is not None:
            return np.asarray(kept.rows.decode(slice(point, point + 1))[0])
        assert self._encoder is not None
        assert self._stored.texts is not None
        return np.asarray(self._encoder.transform([self._stored.texts[point]])[0])


def _leave_out(text: str) -> tuple[list[str], list[str]]:
    """Return the parts of a text, and the text without each of them."""
    spans = spans_of(text)
    places: dict[str, list[tuple[int, int]]] = {}
    for start, end, word in spans:
        places.setdefault(word, []).append((start, end))
    if len(places) > MAX_LEFT_OUT:
        found = [match.span() for match in _SENTENCE.finditer(text) if match.group().strip()]
        step = -(-len(found) // MAX_LEFT_OUT)  # several at a time, where there are too many
        groups = [found[start : start + step] for start in range(0, len(found), step)]
        places = {text[group[0][0] : group[-1][1]].strip(): [(group[0][0], group[-1][1])] for group in groups}
    return list(places), [_without(text, own) for own in places.values()]


def _without(text: str, places: list[tuple[int, int]]) -> str:
    for start, end in reversed(places):
        text = f"{text[:start]} {text[end:]}"
    return " ".join(text.split())

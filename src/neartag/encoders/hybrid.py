"""Texts to rows of two parts: words by tf-idf, and beside them vectors of a sentence encoder.

Words say exactly what a text has; vectors say what it means, also where it has no word in common with any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import numpy as np

from neartag.core.errors import ModelError, NeartagError, ParameterError
from neartag.core.progress import Progress
from neartag.encoders.feature_kinds import AUTO, AutoFeatures, FeatureChoice, kind_parameters
from neartag.encoders.sentence import SentenceFeatures
from neartag.encoders.tfidf import Text, TfidfFeatures
from neartag.linalg.hybrid_rows import HybridRows

__all__ = ["ENCODER", "HybridFeatures"]


class HybridFeatures:
    """Encoder of texts: tf-idf rows beside the vectors of a sentence encoder.

    Parameters
    ----------
    words : str, TfidfFeatures or AutoFeatures, default "auto"
        What is counted: "words", "pairs", "characters" or "all", or TfidfFeatures(…) to set more. "auto" is chosen by a
        trial where a tagger is fitted; by itself, `fit` takes words.
    encoder : SentenceFeatures, or what it takes
        What makes the vectors: a path, a name, or an object with `encode(list of texts)`.

    Examples
    --------
    >>> import numpy as np
    >>> from neartag.encoders.hybrid import HybridFeatures
    >>> class Lengths:
    ...     def encode(self, texts):
    ...         return np.array([[len(text), 1.0] for text in texts])
    >>> rows = HybridFeatures(encoder=Lengths()).fit_transform(["a chess game", "a card game"])
    >>> rows.words.shape, rows.vectors.shape
    ((2, 4), (2, 2))
    """

    kind: ClassVar[str] = "hybrid"
    accepts: ClassVar[str] = "text"

    def __init__(self, words: Any = AUTO, encoder: Any = None) -> None:
        self.words = words
        self.encoder = encoder

    @property
    def n_features(self) -> int:
        """Number of columns of both parts."""
        return self.words_.n_features + self.vectors_.n_features

    @property
    def words_(self) -> TfidfFeatures:
        """What makes the words' part, fitted."""
        return self._fitted()[0]

    @property
    def vectors_(self) -> SentenceFeatures:
        """What makes the vectors' part, fitted."""
        return self._fitted()[1]

    @property
    def choice_(self) -> FeatureChoice | None:
        """How the words' part was chosen, where a trial did."""
        return self.words_.choice_

    @property
    def language(self) -> str | None:
        """Of the words' part."""
        return self.words_.language

    def make_parts(self) -> tuple[TfidfFeatures | AutoFeatures, SentenceFeatures]:
        """Return what makes each part, unfitted; ParameterError where a parameter cannot be used."""
        words, vectors = self.words, self.encoder
        if isinstance(words, str):
            words = AutoFeatures() if words == AUTO else TfidfFeatures(**kind_parameters(words))
        if not isinstance(words, (TfidfFeatures, AutoFeatures)):
            raise ParameterError(f"words={words!r:.60}: must be the name of a kind of features, or TfidfFeatures(…)")
        if vectors is None:
            raise ParameterError("encoder=None: name a sentence encoder, or give an object with encode(list of texts)")
        return words, vectors if isinstance(vectors, SentenceFeatures) else SentenceFeatures(vectors)

    def join(self, words: TfidfFeatures, vectors: SentenceFeatures) -> HybridFeatures:
        """Take fitted parts, and return self."""
        self._parts = words, vectors
        return self

    def fit(self, texts: Iterable[Text]) -> HybridFeatures:
        """Learn the words of the texts and open the sentence encoder, and return self."""
        words, vectors = self.make_parts()
        if isinstance(words, AutoFeatures):
            words = TfidfFeatures(**words.parameters)
        return self.join(words.fit(texts), vectors.open())

    def fit_transform(self, texts: Iterable[str], *, progress: Progress | None = None) -> HybridRows:
        """Return the same rows as `fit(texts).transform(texts)`, reading the texts once."""
        read = _as_sequence(texts)
        return self.fit(read).transform(read, progress=progress)

    def transform(self, texts: Iterable[str], *, progress: Progress | None = None) -> HybridRows:
        """Return the rows of texts: words (n, d) and vectors (n, e), each of length 1 or zeros."""
        words, vectors = self._fitted()
        read = _as_sequence(texts)
        return HybridRows(words.transform(read), vectors.transform(read, progress=progress))

    def terms_of(self, text: Text) -> list[tuple[str, int]]:
        """Return the terms of a text, each with its column; words' columns come first in a row."""
        return self.words_.terms_of(text)

    def spans(self, text: str) -> list[tuple[int, int, str, int]]:
        """Return the words of a text with their places, as TfidfFeatures does."""
        return self.words_.spans(text)

    def word_parts(self, text: Text) -> list[Any]:
        """Return which words of a text hold its columns, as TfidfFeatures does."""
        return self.words_.word_parts(text)

    def forget_texts(self, texts: Iterable[str]) -> None:
        """Remove the kept vectors of texts."""
        self.vectors_.forget_texts(texts)

    def attach(self, encoder: Any) -> None:
        """Encode with this object from now on, as `SentenceFeatures.attach`."""
        self.vectors_.attach(encoder)

    def to_state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return what `from_state` needs: settings that JSON can hold, and arrays by name."""
        (words, word_arrays), (vectors, vector_arrays) = (part.to_state() for part in self._fitted())
        arrays = {f"words.{name}": array for name, array in word_arrays.items()}
        arrays.update({f"vectors.{name}": array for name, array in vector_arrays.items()})
        return {"words": words, "vectors": vectors}, arrays

    @classmethod
    def from_state(cls, settings: dict[str, Any], arrays: dict[str, np.ndarray]) -> HybridFeatures:
        """Return the fitted features of a state that `to_state` returned; ModelError where it cannot be one."""
        try:
            states = settings["words"], settings["vectors"]
        except (KeyError, TypeError) as error:
            raise ModelError(f"the hybrid features' state cannot be read: {error!r}") from error
        words = TfidfFeatures.from_state(states[0], _with_prefix(arrays, "words."))
        vectors = SentenceFeatures.from_state(states[1], _with_prefix(arrays, "vectors."))
        return cls(words, vectors).join(words, vectors)

    def _fitted(self) -> tuple[TfidfFeatures, SentenceFeatures]:
        if not hasattr(self, "_parts"):
            raise NeartagError("these HybridFeatures have not learned any words yet: call fit(texts) first")
        return self._parts


def _with_prefix(arrays: dict[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def _as_sequence(texts: Iterable[str]) -> Sequence[str]:
    if isinstance(texts, str):
        raise ParameterError("texts is a single string: give a list of texts")
    return texts if isinstance(texts, Sequence) else list(texts)


ENCODER = HybridFeatures

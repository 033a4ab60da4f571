"""Text to tf-idf rows, without scikit-learn, so that a saved model tags text without importing it.

The weights are those of scikit-learn's TfidfVectorizer with smooth idf and L2-normalised rows.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_matrix

from neartag.errors import DataError, ModelError, NeartagError, ParameterError

Text = str | Sequence[str]

WORD = re.compile(r"[^\W_]+")  # runs of letters and digits of any script
CHARACTER_MARK = "\t"  # starts the name of a character n-gram, so that none is taken for a word
WHOLE = (int, np.integer)
SETTINGS = ("word_pairs", "sublinear", "min_df", "max_df", "stop_words", "char_ngrams")


class TfidfFeatures:
    """Turns texts into L2-normalised tf-idf rows over the words, and more, of the texts it was fitted to.

    A text is a string, or a list of words that are taken whole. Both are lower-cased. Words not seen in `fit` are
    ignored; a text with no known word becomes a row of zeros.

    Parameters
    ----------
    word_pairs: also count pairs of adjacent words.
    sublinear: count 1 + log(count) instead of the count.
    min_df, max_df: keep what at least, at most, this many texts have; a float is a share of the texts.
    stop_words: words to leave out, before pairs are made.
    char_ngrams: (shortest, longest) also counts runs of characters inside each word, its edges marked by a space.

    After `fit`: `feature_names_` (sorted), `idf_` (float64, one a feature).
    """

    kind: ClassVar[str] = "tfidf"

    def __init__(
        self,
        word_pairs: bool = False,
        sublinear: bool = True,
        min_df: int | float = 1,
        max_df: int | float = 1.0,
        stop_words: Collection[str] | None = None,
        char_ngrams: tuple[int, int] | None = None,
    ) -> None:
        self.word_pairs = word_pairs
        self.sublinear = sublinear
        self.min_df = min_df
        self.max_df = max_df
        self.stop_words = stop_words
        self.char_ngrams = char_ngrams

    def fit(self, texts: Iterable[Text]) -> TfidfFeatures:
        """Learn the features and their idf from the texts, and return self."""
        self._learn(texts)
        return self

    def fit_transform(self, texts: Iterable[Text]) -> csr_matrix:
        """Return the same rows as `fit(texts).transform(texts)`, reading the texts once."""
        return self._weigh(self._learn(texts))

    def transform(self, texts: Iterable[Text]) -> csr_matrix:
        """Return a float32 row a text, (n_texts, n_features), indices sorted."""
        self._check_fitted()
        return self._weigh(self._count(texts, self._ids, grow=False))

    def to_state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return what `from_state` needs: settings that JSON can hold, and arrays by name."""
        self._check_fitted()
        settings = {
            "word_pairs": bool(self.word_pairs),
            "sublinear": bool(self.sublinear),
            "min_df": _plain(self.min_df),
            "max_df": _plain(self.max_df),
            "stop_words": None if self.stop_words is None else sorted(self.stop_words),
            "char_ngrams": None if self.char_ngrams is None else [int(bound) for bound in self.char_ngrams],
            "feature_names": self.feature_names_,
        }
        return settings, {"idf": self.idf_}

    @classmethod
    def from_state(cls, settings: dict[str, Any], arrays: dict[str, np.ndarray]) -> TfidfFeatures:
        """Return the fitted features that `to_state` described."""
        try:
            features = cls(**{name: settings[name] for name in SETTINGS})
            features._check_parameters()
            names, idf = list(settings["feature_names"]), np.asarray(arrays["idf"], dtype=np.float64)
        except (KeyError, TypeError, ValueError) as error:
            raise ModelError(f"the text features' state cannot be read: {error!r}") from error
        if idf.shape != (len(names),) or not all(isinstance(name, str) for name in names):
            raise ModelError(f"the text features' state has {len(names)} names but idf of shape {idf.shape}")
        features._set_learned(names, idf)
        return features

    def _learn(self, texts: Iterable[Text]) -> csr_matrix:
        """Set the learned state; return the counts of the kept features."""
        self._check_parameters()
        ids: dict[str, int] = {}
        counts = self._count(texts, ids, grow=True)
        n_texts = counts.shape[0]
        frequency = np.bincount(counts.indices, minlength=len(ids))
        least, most = _as_count(self.min_df, n_texts), _as_count(self.max_df, n_texts)
        names = sorted(name for name, column in ids.items() if least <= frequency[column] <= most)
        if not names:
            raise DataError(
                f"no word is left of {n_texts} texts with {len(ids)} different words "
                f"(min_df={self.min_df!r}, max_df={self.max_df!r})"
            )
        kept = np.fromiter((ids[name] for name in names), dtype=np.int64, count=len(names))
        self._set_learned(names, np.log((1 + n_texts) / (1 + frequency[kept])) + 1)
        return counts[:, kept]

    def _set_learned(self, names: list[str], idf: np.ndarray) -> None:
        self.feature_names_ = names
        self.idf_ = idf
        self._ids = {name: column for column, name in enumerate(names)}

    def _count(self, texts: Iterable[Text], ids: dict[str, int], grow: bool) -> csr_matrix:
        """Return how often each text has each feature of `ids`; with `grow`, new features get the next id."""
        if isinstance(texts, str):
            raise DataError("texts is a single string: give a list of texts")
        columns, values, starts = array("i"), array("i"), array("q", [0])
        for number, text in enumerate(texts):
            counts: dict[int, int] = {}
            for term in self._terms(text, number):
                column = ids.setdefault(term, len(ids)) if grow else ids.get(term, -1)
                counts[column] = counts.get(column, 0) + 1
            counts.pop(-1, None)
            columns.extend(counts.keys())
            values.extend(counts.values())
            starts.append(len(columns))
        parts = (np.array(values, dtype=np.float64), np.array(columns, dtype=np.int32), np.array(starts))
        return csr_matrix(parts, shape=(len(starts) - 1, len(ids)))

    def _terms(self, text: Text, number: int) -> list[str]:
        words = _words(text, number)
        if self._left_out:
            words = [word for word in words if word not in self._left_out]
        terms = words.copy()
        if self.word_pairs:
            terms.extend(f"{first} {second}" for first, second in pairwise(words))
        if self.char_ngrams is not None:
            for word in words:
                terms.extend(_character_ngrams(word, *self.char_ngrams))
        return terms

    def _weigh(self, counts: csr_matrix) -> csr_matrix:
        """Return counts as normalised tf-idf; float64 until the end, so that order of summation hardly shows."""
        counts.sort_indices()
        data = 1 + np.log(counts.data) if self.sublinear else counts.data
        data = data * self.idf_[counts.indices]
        row_of = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
        lengths = np.sqrt(np.bincount(row_of, weights=data * data, minlength=counts.shape[0]))
        data = (data / lengths[row_of]).astype(np.float32)
        return csr_matrix((data, counts.indices, counts.indptr), shape=counts.shape)

    def _check_parameters(self) -> None:
        for name in ("word_pairs", "sublinear"):
            if not isinstance(getattr(self, name), (bool, np.bool_)):
                raise ParameterError(f"{name}={getattr(self, name)!r}: must be True or False")
        for name in ("min_df", "max_df"):
            limit = getattr(self, name)
            whole = isinstance(limit, WHOLE) and not isinstance(limit, bool) and limit >= 1
            share = isinstance(limit, (float, np.floating)) and 0 <= limit <= 1
            if not (whole or share):
                raise ParameterError(f"{name}={limit!r}: must be a whole number from 1 or a float from 0 to 1")
        stop_words = () if self.stop_words is None else self.stop_words
        if not isinstance(stop_words, (list, tuple, set, frozenset)) or not _all_words(stop_words):
            raise ParameterError(f"stop_words={stop_words!r:.60}: must be a list or set of words, or None")
        self._left_out = frozenset(word.lower() for word in stop_words)
        bounds = (1, 1) if self.char_ngrams is None else self.char_ngrams
        pair = isinstance(bounds, (list, tuple)) and len(bounds) == 2 and all(isinstance(b, WHOLE) for b in bounds)
        if not pair or not 1 <= bounds[0] <= bounds[1]:
            raise ParameterError(f"char_ngrams={bounds!r}: must be (shortest, longest) with 1 <= shortest <= longest")

    def _check_fitted(self) -> None:
        if not hasattr(self, "idf_"):
            raise NeartagError("these TfidfFeatures have not learned any words yet: call fit(texts) first")


def _plain(number: int | float) -> int | float:
    """Return a number of numpy's as Python's own, which JSON can hold."""
    return int(number) if isinstance(number, WHOLE) else float(number)


def _as_count(limit: int | float, n_texts: int) -> float:
    return limit if isinstance(limit, WHOLE) else limit * n_texts


def _all_words(items: Iterable[object]) -> bool:
    return all(isinstance(item, str) for item in items)


def _words(text: Text, number: int) -> list[str]:
    if isinstance(text, str):
        return WORD.findall(text.lower())
    if isinstance(text, (list, tuple)) and _all_words(text):
        return [word.lower() for word in text]
    raise DataError(f"text {number} is {text!r:.60}: must be a string or a list of words")


def _character_ngrams(word: str, shortest: int, longest: int) -> list[str]:
    """Return the n-grams of a word with a space at both ends; a word too short for an n gives itself, once."""
    padded = f" {word} "
    terms = []
    for length in range(shortest, longest + 1):
        terms += [CHARACTER_MARK + padded[start : start + length] for start in range(len(padded) - length + 1)]
        if length >= len(padded):
            # The whole padded word stands for every longer n-gram; where length is above, it is not in the list yet.
            return terms or [CHARACTER_MARK + padded]
    return terms

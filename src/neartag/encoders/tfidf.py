"""Text to tf-idf rows, without scikit-learn, so that a saved model tags text without importing it.

The weights are those of scikit-learn's TfidfVectorizer with smooth idf and L2-normalised rows. Texts are read once, and
counted a block at a time: what is in memory beyond the rows is the counts, 8 bytes for each term that a text has.
"""

from __future__ import annotations

import copy
from array import array
from collections.abc import Collection, Iterable, Iterator
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from neartag.core.errors import DataError, ModelError, NeartagError, ParameterError
from neartag.encoders.terms import (
    CHARACTER_MARK,
    UNKNOWN,
    Buckets,
    Columns,
    GrowingVocabulary,
    Text,
    Vocabulary,
    ngrams_of,
    pairs_of,
    spans_of,
    words_of,
)
from neartag.linalg import csr

__all__ = ["CHARACTER_MARK", "Text", "TfidfFeatures"]

WHOLE = (int, np.integer)
SETTINGS = ("word_pairs", "sublinear", "min_df", "max_df", "stop_words", "char_ngrams")
MOST_COLUMNS = np.iinfo(np.int32).max  # a row's column numbers are int32
BLOCK = 2**20  # terms that are counted at a time: some megabytes, and enough that the calls cost nothing
LARGEST_IDF = 100.0  # far above 1 + log of any number of texts


class Counts(NamedTuple):
    """How often each text has each term: rows as in a CSR matrix, columns in order."""

    columns: np.ndarray  # int32
    counts: np.ndarray  # int32
    starts: np.ndarray  # (n_texts + 1,)


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
    hashing: keep no vocabulary, which may grow without end, but give each term one of this many columns by its hash.
        Of m terms in b columns, m²/2b pairs or so share a column and are one feature, with one idf; 2¹⁸ to 2²² columns
        do for most texts. `min_df` and `max_df` then speak of columns; one that is left out has no entry in any row.

    After `fit`: `feature_names_` (sorted; None with hashing), `idf_` (float64, one a feature; 0 for a column of hashing
    that is not used).
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
        hashing: int | None = None,
    ) -> None:
        self.word_pairs = word_pairs
        self.sublinear = sublinear
        self.min_df = min_df
        self.max_df = max_df
        self.stop_words = stop_words
        self.char_ngrams = char_ngrams
        self.hashing = hashing

    @property
    def n_features(self) -> int:
        """Number of columns of a row."""
        self._check_fitted()
        return len(self.idf_)

    def fit(self, texts: Iterable[Text]) -> TfidfFeatures:
        """Learn the features and their idf from the texts, and return self."""
        self._learn(texts)
        return self

    def fit_transform(self, texts: Iterable[Text]) -> csr_matrix:
        """Return the same rows as `fit(texts).transform(texts)`, reading the texts once."""
        return self._rows(self._learn(texts))

    def transform(self, texts: Iterable[Text]) -> csr_matrix:
        """Return a float32 row a text, (n_texts, n_features), indices sorted."""
        self._check_fitted()
        if isinstance(texts, (list, tuple)) and len(texts) == 1:
            return self._one_row(texts[0])
        return self._rows([_counted(*block) for block in self._occurrences(texts, self._columns)])

    def terms_of(self, text: Text) -> list[tuple[str, int]]:
        """Return the different terms of a text, stop words left out, each with its column, −1 where it has none.

        Words come first, then pairs, then character n-grams, as people read them: `" fo"` starts a word. The same
        letters may stand there as a word and as an n-gram, which are two terms; by hashing, terms may share a column.
        """
        self._check_fitted()
        words = self._words(text)
        terms = words + pairs_of(words) if self.word_pairs else words
        if self.char_ngrams is not None:
            terms = terms + [term for word in dict.fromkeys(words) for term in ngrams_of(word, *self.char_ngrams)]
        different = list(dict.fromkeys(terms))
        columns = self._columns.of(different)
        return [(term.removeprefix(CHARACTER_MARK), column) for term, column in zip(different, columns, strict=True)]

    def spans(self, text: str) -> list[tuple[int, int, str, int]]:
        """Return the words of a text, each as start and end in the text, word, column; −1 where it has no column.

        `text[start:end]` is the word as it was written, and the word as it is counted is in lower case.
        """
        self._check_fitted()
        if not isinstance(text, str):
            raise DataError(f"the text is {text!r:.60}: only words of a string have a place in it")
        found = spans_of(text)
        columns = self._columns.of_words([word for _, _, word in found])
        return [
            (start, end, word, UNKNOWN if word in self._left_out else column)
            for (start, end, word), column in zip(found, columns, strict=True)
        ]

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
            "hashing": None if self.hashing is None else int(self.hashing),
            "feature_names": self.feature_names_,
        }
        return settings, {"idf": self.idf_}

    @classmethod
    def from_state(cls, settings: dict[str, Any], arrays: dict[str, np.ndarray]) -> TfidfFeatures:
        """Return the fitted features that `to_state` described."""
        try:
            # States written before there was hashing do not name it.
            features = cls(**{name: settings[name] for name in SETTINGS}, hashing=settings.get("hashing"))
            features._check_parameters()
            names, idf = settings["feature_names"], np.asarray(arrays["idf"])
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ModelError(f"the text features' state cannot be read: {error!r}") from error
        hashed = features.hashing is not None
        if not (names is None if hashed else isinstance(names, list) and _all_words(names)):
            raise ModelError(f"the text features' state has names {names!r:.60}: must be a list, or null with hashing")
        count = features.hashing if features.hashing is not None else len(names)
        if idf.shape != (count,) or idf.dtype.kind != "f":
            raise ModelError(f"the text features' state has {count} columns but {idf.dtype} idf of shape {idf.shape}")
        if not np.all((idf >= 1) & (idf <= LARGEST_IDF) | (idf == 0) & hashed):
            raise ModelError("the text features' state has idf that no texts can give")
        if not hashed and len(set(names)) < count:
            raise ModelError("the text features' state has a name twice")
        features._set_learned(names, np.asarray(idf, dtype=np.float64))
        return features

    def _learn(self, texts: Iterable[Text]) -> list[Counts]:
        """Set the learned state; return the counts of the kept features."""
        self._check_parameters()
        columns: Columns
        if self.hashing is None:
            columns = growing = GrowingVocabulary(self.char_ngrams)
        else:
            columns = Buckets(b"\1" * int(self.hashing), self.char_ngrams)
        blocks = [_counted(*block) for block in self._occurrences(texts, columns)]
        n_texts = sum(len(block.starts) - 1 for block in blocks)
        width = len(growing.ids) if self.hashing is None else int(self.hashing)
        frequency = np.zeros(width, dtype=np.int64)
        for block in blocks:
            frequency += np.bincount(block.columns, minlength=width)
        least, most = _as_count(self.min_df, n_texts), _as_count(self.max_df, n_texts)
        keep = (frequency >= max(least, 1)) & (frequency <= most)  # a bucket may have no text at all
        if not keep.any():
            raise DataError(
                f"no word is left of {n_texts} texts with {np.count_nonzero(frequency)} different words "
                f"(min_df={self.min_df!r}, max_df={self.max_df!r})"
            )
        kept = np.flatnonzero(keep)
        idf = np.log((1 + n_texts) / (1 + frequency)) + 1
        place = np.full(width, UNKNOWN, dtype=np.int32)
        if self.hashing is None:
            seen = list(growing.ids)  # in the order of their numbers
            order = sorted(kept.tolist(), key=seen.__getitem__)
            place[order] = np.arange(len(order))
            self._set_learned([seen[number] for number in order], idf[order])
        else:
            place[kept] = kept
            self._set_learned(None, np.where(keep, idf, 0))
        return [_moved(block, place) for block in blocks]

    def _set_learned(self, names: list[str] | None, idf: np.ndarray) -> None:
        self.feature_names_ = names
        self.idf_ = idf
        self._columns: Columns
        if names is None:
            self._columns = Buckets((idf > 0).tobytes(), self.char_ngrams)
        else:
            self._columns = Vocabulary(names, self.char_ngrams)
        self._empty_row = _matrix(np.empty(0, np.float32), np.empty(0, np.int32), np.zeros(2, np.int32), len(idf))

    def _occurrences(self, texts: Iterable[Text], columns: Columns) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the columns of the terms as they stand in the texts, and where each text's start: a block of texts."""
        if isinstance(texts, str):
            raise DataError("texts is a single string: give a list of texts")
        found, starts = array("i"), array("q", [0])
        for number, text in enumerate(texts):
            self._find(text, number, columns, found)
            starts.append(len(found))
            if len(found) >= BLOCK:
                yield np.array(found, dtype=np.int32), np.array(starts, dtype=np.int64)
                found, starts = array("i"), array("q", [0])
        yield np.array(found, dtype=np.int32), np.array(starts, dtype=np.int64)

    def _find(self, text: Text, number: int, columns: Columns, found: array[int]) -> None:
        """Add the column of each occurrence of a term in the text to `found`."""
        words = self._words(text, number)
        found.extend(columns.of_words(words))
        if self.word_pairs:
            found.extend(columns.of(pairs_of(words)))
        if self.char_ngrams is not None:
            found.frombytes(columns.of_ngrams(words))

    def _words(self, text: Text, number: int = 0) -> list[str]:
        words = words_of(text, number)
        return [word for word in words if word not in self._left_out] if self._left_out else words

    def _rows(self, blocks: list[Counts]) -> csr_matrix:
        data = np.concatenate([self._weights(block) for block in blocks])
        columns = np.concatenate([block.columns for block in blocks])
        lengths = [np.diff(block.starts) for block in blocks]
        return _matrix(data, columns, csr.pointer(np.concatenate(lengths)), len(self.idf_))

    def _one_row(self, text: Text) -> csr_matrix:
        """Return the row of one text, as `_rows` would, without the calls that only several need: they are most."""
        found = array("i")
        self._find(text, 0, self._columns, found)
        columns, counts = np.unique(np.array(found, dtype=np.int32), return_counts=True)
        if columns.size and columns[0] == UNKNOWN:
            columns, counts = columns[1:], counts[1:]
        data = self._tfidf(counts, columns)
        # Added up one after the other, as for several rows; numpy's sum takes another order.
        length = np.sqrt(np.bincount(np.zeros(len(data), dtype=np.intp), weights=data * data, minlength=1))
        row = copy.copy(self._empty_row)
        row.data, row.indices = (data / length).astype(np.float32), columns
        row.indptr = np.array([0, len(columns)], dtype=np.int32)
        return row

    def _weights(self, block: Counts) -> np.ndarray:
        """Return counts as normalised tf-idf; float64 until the end, so that order of summation hardly shows."""
        data = self._tfidf(block.counts, block.columns)
        n_texts = len(block.starts) - 1
        row_of = np.repeat(np.arange(n_texts), np.diff(block.starts))
        lengths = np.sqrt(np.bincount(row_of, weights=data * data, minlength=n_texts))
        return (data / lengths[row_of]).astype(np.float32)

    def _tfidf(self, counts: np.ndarray, columns: np.ndarray) -> np.ndarray:
        return (1 + np.log(counts) if self.sublinear else counts) * self.idf_[columns]

    def _check_parameters(self) -> None:
        for name in ("word_pairs", "sublinear"):
            if not isinstance(getattr(self, name), (bool, np.bool_)):
                raise ParameterError(f"{name}={getattr(self, name)!r}: must be True or False")
        for name in ("min_df", "max_df"):
            limit = getattr(self, name)
            share = isinstance(limit, (float, np.floating)) and 0 <= limit <= 1
            if not (share or (_is_whole(limit) and limit >= 1)):
                raise ParameterError(f"{name}={limit!r}: must be a whole number from 1 or a float from 0 to 1")
        stop_words = () if self.stop_words is None else self.stop_words
        if not isinstance(stop_words, (list, tuple, set, frozenset)) or not _all_words(stop_words):
            raise ParameterError(f"stop_words={stop_words!r:.60}: must be a list or set of words, or None")
        self._left_out = frozenset(word.lower() for word in stop_words)
        bounds = (1, 1) if self.char_ngrams is None else self.char_ngrams
        pair = isinstance(bounds, (list, tuple)) and len(bounds) == 2 and all(isinstance(b, WHOLE) for b in bounds)
        if not pair or not 1 <= bounds[0] <= bounds[1]:
            raise ParameterError(f"char_ngrams={bounds!r}: must be (shortest, longest) with 1 <= shortest <= longest")
        hashing = self.hashing
        if hashing is not None and not (_is_whole(hashing) and 1 <= hashing <= MOST_COLUMNS):
            raise ParameterError(f"hashing={hashing!r}: must be a whole number from 1 to {MOST_COLUMNS}, or None")

    def _check_fitted(self) -> None:
        if not hasattr(self, "idf_"):
            raise NeartagError("these TfidfFeatures have not learned any words yet: call fit(texts) first")


def _counted(columns: np.ndarray, starts: np.ndarray) -> Counts:
    """Return the counts of columns that stand once for each occurrence; UNKNOWN ones are left out."""
    columns, starts, _ = _only_known(columns, starts)
    ones = np.ones(len(columns), dtype=np.int32)
    matrix = csr_matrix((ones, columns, starts), shape=(len(starts) - 1, MOST_COLUMNS))
    matrix.sum_duplicates()
    return Counts(matrix.indices, matrix.data, matrix.indptr)


def _moved(block: Counts, place: np.ndarray) -> Counts:
    """Return the counts with each column at its new place, or left out where that is UNKNOWN."""
    columns, starts, known = _only_known(place[block.columns], block.starts)
    counts = block.counts if known is None else block.counts[known]
    matrix = csr_matrix((counts, columns, starts), shape=(len(starts) - 1, MOST_COLUMNS))
    matrix.sort_indices()
    return Counts(matrix.indices, matrix.data, matrix.indptr)


def _only_known(columns: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Return the columns that are not UNKNOWN, where rows start among them, and which they were (None: all)."""
    known = columns != UNKNOWN
    if known.all():
        return columns, starts, None
    return columns[known], csr.pointer(known)[starts], known


def _matrix(data: np.ndarray, columns: np.ndarray, starts: np.ndarray, width: int) -> csr_matrix:
    matrix = csr_matrix((data, columns, starts), shape=(len(starts) - 1, width))
    matrix.has_sorted_indices = matrix.has_canonical_format = True  # known, so that nobody looks
    return matrix


def _plain(number: int | float) -> int | float:
    """Return a number of numpy's as Python's own, which JSON can hold."""
    return int(number) if isinstance(number, WHOLE) else float(number)


def _is_whole(number: object) -> bool:
    return isinstance(number, WHOLE) and not isinstance(number, bool)


def _as_count(limit: int | float, n_texts: int) -> float:
    return limit if isinstance(limit, WHOLE) else limit * n_texts


def _all_words(items: Iterable[object]) -> bool:
    return all(isinstance(item, str) for item in items)

"""Texts to tf-idf rows, without scikit-learn: a saved model tags texts without importing it.

The weights are those of scikit-learn's TfidfVectorizer with smooth idf and L2-normalised rows. Texts are read once and
counted in blocks. Beyond the rows, memory holds the counts: 8 bytes for each different term of a text.
"""

from __future__ import annotations

import copy
from array import array
from collections.abc import Collection, Iterable, Iterator
from itertools import chain, islice
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_matrix

from neartag.core.errors import DataError, ModelError, NeartagError
from neartag.encoders.feature_kinds import FeatureChoice
from neartag.encoders.languages import Stemmer, frequent_stop_words, language_code
from neartag.encoders.term_counts import TermCounts, count_terms, document_frequency, renumber_columns
from neartag.encoders.terms import (
    CHARACTER_MARK,
    UNKNOWN,
    GrowingVocabulary,
    HashedColumns,
    TermColumns,
    Text,
    Vocabulary,
    ngrams_of,
    pairs_of,
    spans_of,
    words_of,
)
from neartag.encoders.tfidf_parameters import all_words, as_count, check_parameters
from neartag.encoders.tfidf_state import check_learned, read_choice, read_parameters, to_settings
from neartag.encoders.word_parts import WordPart, word_parts
from neartag.linalg import csr

__all__ = ["CHARACTER_MARK", "ENCODER", "Text", "TfidfFeatures"]

N_TEXTS_FOR_STOP_WORDS = 5000  # the first so many texts tell which stop words of a language are frequent


class TfidfFeatures:
    """Encoder of texts: L2-normalised tf-idf rows over the words of the texts that it was fitted to.

    A text is a string, or a list of words that are taken whole. Both are lower-cased. Words not seen in `fit` are
    ignored; a text with no known word becomes a row of zeros.

    Parameters
    ----------
    word_pairs : bool, default False
        Also count pairs of adjacent words.
    sublinear : bool, default True
        Count 1 + log(count) instead of the count.
    min_df, max_df : int or float, default 1 and 1.0
        Keep terms that at least (at most) this many texts have; a float is a share of the texts.
    stop_words : collection of str, optional
        Words to leave out, before pairs are made.
    char_ngrams : (int, int), optional
        (shortest, longest): also count runs of characters inside each word. A space marks the word's edges.
    hashing : int, optional
        Give each term one of this many columns by its hash, and keep no vocabulary, which may grow without end. Of m
        terms in b columns, about m²/2b pairs share a column: they are one feature with one idf. 2¹⁸ to 2²² columns are
        enough for most texts. `min_df` and `max_df` then count columns; one that is left out has no entry in any row.
    language : str, optional
        A language such as "fi" or "Finnish": its stop words are left out where they are frequent, and words are counted
        by their stems. It needs `pip install "neartag[languages]"`.

    Attributes
    ----------
    feature_names_ : list of str, or None
        The terms, sorted; None with hashing.
    idf_ : ndarray of float64, (n_features,)
        The weight of each feature; 0 for a column of hashing that is not used.
    language_stop_words_ : list of str
        The stop words of the language that were left out, sorted.
    choice_ : FeatureChoice, or None
        What a trial told, where neartag chose the features by itself.

    Examples
    --------
    >>> from neartag import TfidfFeatures
    >>> features = TfidfFeatures()
    >>> rows = features.fit_transform(["a chess game", "a card game"])
    >>> rows.shape
    (2, 4)
    >>> features.feature_names_
    ['a', 'card', 'chess', 'game']
    >>> features.transform(["Chess!"]).toarray()
    array([[0., 0., 1., 0.]], dtype=float32)
    """

    kind: ClassVar[str] = "tfidf"
    accepts: ClassVar[str] = "text"
    block_terms: ClassVar[int] = 2**20  # terms counted at a time: some megabytes, and enough that calls cost nothing

    def __init__(
        self,
        word_pairs: bool = False,
        sublinear: bool = True,
        min_df: int | float = 1,
        max_df: int | float = 1.0,
        stop_words: Collection[str] | None = None,
        char_ngrams: tuple[int, int] | None = None,
        hashing: int | None = None,
        language: str | None = None,
    ) -> None:
        self.word_pairs = word_pairs
        self.sublinear = sublinear
        self.min_df = min_df
        self.max_df = max_df
        self.stop_words = stop_words
        self.char_ngrams = char_ngrams
        self.hashing = hashing
        self.language = language

    @property
    def n_features(self) -> int:
        """Number of columns of a row."""
        self._check_fitted()
        return len(self.idf_)

    def fit(self, texts: Iterable[Text]) -> TfidfFeatures:
        """Learn the features and their idf from the texts, and return self.

        Parameters
        ----------
        texts : iterable of str, or of lists of str
            The texts; each is read once and not kept.

        Raises
        ------
        ParameterError
            A parameter cannot be used.
        DataError
            No term is left, or a text is no text.
        NeartagError
            The packages for a language are not installed.
        """
        self._learn(texts)
        return self

    def fit_transform(self, texts: Iterable[Text]) -> csr_matrix:
        """Return the same rows as `fit(texts).transform(texts)`, reading the texts once."""
        return self._rows(self._learn(texts))

    def transform(self, texts: Iterable[Text]) -> csr_matrix:
        """Return the rows of texts.

        Parameters
        ----------
        texts : iterable of str, or of lists of str

        Returns
        -------
        csr_matrix of float32, (n_texts, n_features)
            Column numbers of each row in rising order. A row does not depend on the other texts.
        """
        self._check_fitted()
        if isinstance(texts, (list, tuple)) and len(texts) == 1:
            return self._one_row(texts[0])
        return self._rows([count_terms(*block) for block in self._occurrences(texts, self._columns)])

    def terms_of(self, text: Text) -> list[tuple[str, int]]:
        """Return the different terms of a text without stop words, each with its column, −1 where it has none.

        Words come first, then pairs, then character n-grams: `" fo"` starts a word. The same letters may be there as a
        word and as an n-gram, which are two terms. With hashing, terms may share a column.
        """
        self._check_fitted()
        words = self._words(text)
        terms = words + pairs_of(words) if self.word_pairs else words
        if self.char_ngrams is not None:
            terms = terms + [term for word in dict.fromkeys(words) for term in ngrams_of(word, *self.char_ngrams)]
        different = list(dict.fromkeys(terms))
        columns = self._columns.of_terms(different)
        return [(term.removeprefix(CHARACTER_MARK), column) for term, column in zip(different, columns, strict=True)]

    def spans(self, text: str) -> list[tuple[int, int, str, int]]:
        """Return the words of a text, each as (start, end, word, column); column −1 for an unknown word.

        `text[start:end]` is the word as it was written; `word` is in lower case.
        """
        self._check_fitted()
        if not isinstance(text, str):
            raise DataError(f"the text is {text!r:.60}: only words of a string have a place in it")
        spans = spans_of(text)
        words = [word for _, _, word in spans]
        columns = self._columns.of_words(words if self._stemmer is None else self._stemmer(words))
        return [
            (start, end, word, UNKNOWN if word in self._left_out else column)
            for (start, end, word), column in zip(spans, columns, strict=True)
        ]

    def word_parts(self, text: Text) -> list[WordPart]:
        """Return which words of a text hold each of its columns: (word, column, part).

        The parts of a column add up to 1. Words stand as they are written, in lower case.
        """
        self._check_fitted()
        written = self._kept_words(text)
        counted = written if self._stemmer is None else self._stemmer(written)
        return word_parts(written, counted, self._columns, self.word_pairs, self.char_ngrams)

    def to_state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return what `from_state` needs: settings that JSON can hold, and arrays by name."""
        self._check_fitted()
        return to_settings(self), {"idf": self.idf_}

    @classmethod
    def from_state(cls, settings: dict[str, Any], arrays: dict[str, np.ndarray]) -> TfidfFeatures:
        """Return the fitted features of a state that `to_state` returned; ModelError where it cannot be one."""
        try:
            features = cls(**read_parameters(settings))
            features._prepare()
            features._leave_out(settings["language_stop_words"] if features.language is not None else [])
            features.choice_ = read_choice(settings)
            names, idf = settings["feature_names"], np.asarray(arrays["idf"])
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ModelError(f"the text features' state cannot be read: {error!r}") from error
        check_learned(features.hashing, names, idf)
        features._set_learned(names, np.asarray(idf, dtype=np.float64))
        return features

    def _prepare(self) -> None:
        """Check the parameters, which the constructor only stored."""
        check_parameters(self)
        self._stemmer = None if self.language is None else Stemmer(language_code(self.language))
        self.choice_: FeatureChoice | None = None
        self._leave_out([])

    def _leave_out(self, language_stop_words: list[str]) -> None:
        """Set the words that are left out: those given, and these of the language."""
        if not isinstance(language_stop_words, list) or not all_words(language_stop_words):
            raise ValueError(f"language_stop_words is {language_stop_words!r:.60}: must be a list of words")
        self.language_stop_words_ = language_stop_words
        self._left_out = frozenset(word.lower() for word in [*(self.stop_words or ()), *language_stop_words])

    def _find_stop_words(self, texts: Iterable[Text]) -> Iterable[Text]:
        """Set the language's stop words that are frequent in the first texts; return all the texts."""
        if self._stemmer is None or isinstance(texts, str):
            return texts
        rest = iter(texts)
        first = list(islice(rest, N_TEXTS_FOR_STOP_WORDS))
        self._leave_out(frequent_stop_words(self._stemmer.code, first))
        return chain(first, rest)

    def _learn(self, texts: Iterable[Text]) -> list[TermCounts]:
        """Set the learned state; return the counts of the kept features."""
        self._prepare()
        texts = self._find_stop_words(texts)
        columns: TermColumns
        if self.hashing is None:
            columns = growing = GrowingVocabulary(self.char_ngrams)
        else:
            columns = HashedColumns(b"\1" * int(self.hashing), self.char_ngrams)
        blocks = [count_terms(*block) for block in self._occurrences(texts, columns)]
        n_texts = sum(len(block.starts) - 1 for block in blocks)
        width = len(growing.ids) if self.hashing is None else int(self.hashing)
        frequency = document_frequency(blocks, width)
        least, most = as_count(self.min_df, n_texts), as_count(self.max_df, n_texts)
        keep = (frequency >= max(least, 1)) & (frequency <= most)  # a hashed column may have no text at all
        if not keep.any():
            raise DataError(
                f"no word is left of {n_texts} texts with {np.count_nonzero(frequency)} different words "
                f"(min_df={self.min_df!r}, max_df={self.max_df!r})"
            )
        kept = np.flatnonzero(keep)
        idf = np.log((1 + n_texts) / (1 + frequency)) + 1
        new_column = np.full(width, UNKNOWN, dtype=np.int32)
        if self.hashing is None:
            seen = list(growing.ids)  # in the order of their numbers
            order = sorted(kept.tolist(), key=seen.__getitem__)
            new_column[order] = np.arange(len(order))
            self._set_learned([seen[number] for number in order], idf[order])
        else:
            new_column[kept] = kept
            self._set_learned(None, np.where(keep, idf, 0))
        return [renumber_columns(block, new_column) for block in blocks]

    def _set_learned(self, names: list[str] | None, idf: np.ndarray) -> None:
        self.feature_names_ = names
        self.idf_ = idf
        self._columns: TermColumns
        if names is None:
            self._columns = HashedColumns((idf > 0).tobytes(), self.char_ngrams)
        else:
            self._columns = Vocabulary(names, self.char_ngrams)
        self._empty_row = _sorted_rows(np.empty(0, np.float32), np.empty(0, np.int32), np.zeros(2, np.int32), len(idf))

    def _occurrences(self, texts: Iterable[Text], columns: TermColumns) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the column of each occurrence of a term, and the texts' starts, for one block of texts at a time."""
        if isinstance(texts, str):
            raise DataError("texts is a single string: give a list of texts")
        occurrences, starts = array("i"), array("q", [0])
        for number, text in enumerate(texts):
            self._add_occurrences(text, number, columns, occurrences)
            starts.append(len(occurrences))
            if len(occurrences) >= self.block_terms:
                yield np.array(occurrences, dtype=np.int32), np.array(starts, dtype=np.int64)
                occurrences, starts = array("i"), array("q", [0])
        yield np.array(occurrences, dtype=np.int32), np.array(starts, dtype=np.int64)

    def _add_occurrences(self, text: Text, number: int, columns: TermColumns, occurrences: array[int]) -> None:
        """Append the column of each occurrence of a term in the text."""
        words = self._words(text, number)
        occurrences.extend(columns.of_words(words))
        if self.word_pairs:
            occurrences.extend(columns.of_terms(pairs_of(words)))
        if self.char_ngrams is not None:
            occurrences.frombytes(columns.of_ngrams(words))

    def _words(self, text: Text, number: int = 0) -> list[str]:
        """Return the words that are counted, by their stems where there is a language."""
        words = self._kept_words(text, number)
        return words if self._stemmer is None else self._stemmer(words)

    def _kept_words(self, text: Text, number: int = 0) -> list[str]:
        """Return the words as they are written, without stop words."""
        words = words_of(text, number)
        return [word for word in words if word not in self._left_out] if self._left_out else words

    def _rows(self, blocks: list[TermCounts]) -> csr_matrix:
        data = np.concatenate([self._weights(block) for block in blocks])
        columns = np.concatenate([block.columns for block in blocks])
        lengths = [np.diff(block.starts) for block in blocks]
        return _sorted_rows(data, columns, csr.pointer(np.concatenate(lengths)), len(self.idf_))

    def _one_row(self, text: Text) -> csr_matrix:
        """Return the row of one text, the same as `_rows` returns, without most of its calls."""
        occurrences = array("i")
        self._add_occurrences(text, 0, self._columns, occurrences)
        columns, counts = np.unique(np.array(occurrences, dtype=np.int32), return_counts=True)
        if columns.size and columns[0] == UNKNOWN:
            columns, counts = columns[1:], counts[1:]
        data = self._tfidf(counts, columns)
        # bincount adds up one after the other, as for several rows; numpy's sum takes another order.
        length = np.sqrt(np.bincount(np.zeros(len(data), dtype=np.intp), weights=data * data, minlength=1))
        row = copy.copy(self._empty_row)
        row.data, row.indices = (data / length).astype(np.float32), columns
        row.indptr = np.array([0, len(columns)], dtype=np.int32)
        return row

    def _weights(self, block: TermCounts) -> np.ndarray:
        """Return counts as normalised tf-idf; float64 until the end, so that the order of summation hardly shows."""
        data = self._tfidf(block.counts, block.columns)
        n_texts = len(block.starts) - 1
        row_of = np.repeat(np.arange(n_texts), np.diff(block.starts))
        lengths = np.sqrt(np.bincount(row_of, weights=data * data, minlength=n_texts))
        return (data / lengths[row_of]).astype(np.float32)

    def _tfidf(self, counts: np.ndarray, columns: np.ndarray) -> np.ndarray:
        return (1 + np.log(counts) if self.sublinear else counts) * self.idf_[columns]

    def _check_fitted(self) -> None:
        if not hasattr(self, "idf_"):
            raise NeartagError("these TfidfFeatures have not learned any words yet: call fit(texts) first")


def _sorted_rows(data: np.ndarray, columns: np.ndarray, starts: np.ndarray, width: int) -> csr_matrix:
    matrix = csr_matrix((data, columns, starts), shape=(len(starts) - 1, width))
    matrix.has_sorted_indices = matrix.has_canonical_format = True  # known, so that scipy does not look
    return matrix


ENCODER = TfidfFeatures

"""Texts to tf-idf rows, without scikit-learn: a saved model tags texts without importing it.

The weights are those of scikit-learn's TfidfVectorizer with smooth idf and L2-normalised rows. Texts are read once and
counted in blocks. The rows take the place of the counts: 8 bytes for each different term of a text, which are in files
where they would take too much memory.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_matrix

from neartag.core.errors import DataError, ModelError, NeartagError
from neartag.encoders.counted_texts import CountedTexts
from neartag.encoders.feature_kinds import FeatureChoice
from neartag.encoders.languages import Stemmer, language_code
from neartag.encoders.term_reader import TermReader
from neartag.encoders.terms import CHARACTER_MARK, UNKNOWN, HashedColumns, TermColumns, Text, Vocabulary, spans_of
from neartag.encoders.tfidf_learning import Learned, find_stop_words, learn_hashed, learn_vocabulary
from neartag.encoders.tfidf_parameters import all_words, check_parameters
from neartag.encoders.tfidf_rows import empty_row, make_row
from neartag.encoders.tfidf_state import check_learned, read_choice, read_parameters, to_settings
from neartag.encoders.word_parts import WordPart, word_parts

__all__ = ["CHARACTER_MARK", "ENCODER", "Text", "TfidfFeatures"]


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
        learned = self._learn(texts)
        return learned.counts.to_rows(self.idf_, self.sublinear, learned.new_column)

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
            occurrences = array("i")
            self._reader.add_occurrences(texts[0], 0, self._columns, occurrences)
            return make_row(occurrences, self.idf_, self.sublinear, self._empty_row)
        counts = CountedTexts(self._reader.count_blocks(texts, self._columns, self.block_terms))
        return counts.to_rows(self.idf_, self.sublinear)

    def terms_of(self, text: Text) -> list[tuple[str, int]]:
        """Return the different terms of a text without stop words, each with its column, −1 where it has none.

        Words come first, then pairs, then character n-grams: `" fo"` starts a word. The same letters may be there as a
        word and as an n-gram, which are two terms. With hashing, terms may share a column.
        """
        self._check_fitted()
        different = self._reader.different_terms(text)
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
        columns = self._columns.of_words(self._reader.stem(words))
        return [
            (start, end, word, UNKNOWN if word in self._reader.left_out else column)
            for (start, end, word), column in zip(spans, columns, strict=True)
        ]

    def word_parts(self, text: Text) -> list[WordPart]:
        """Return which words of a text hold each of its columns: (word, column, part).

        The parts of a column add up to 1. Words stand as they are written, in lower case.
        """
        self._check_fitted()
        written = self._reader.written_words(text)
        counted = self._reader.stem(written)
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
            check_parameters(features)
            features._set_reader(settings["language_stop_words"] if features.language is not None else [])
            features.choice_ = read_choice(settings)
            names, idf = settings["feature_names"], np.asarray(arrays["idf"])
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ModelError(f"the text features' state cannot be read: {error!r}") from error
        check_learned(features.hashing, names, idf)
        features._set_learned(names, np.asarray(idf, dtype=np.float64))
        return features

    def _learn(self, texts: Iterable[Text]) -> Learned:
        """Set the learned state; return it with the counts."""
        check_parameters(self)  # the constructor only stored them
        self.choice_: FeatureChoice | None = None
        words, texts = find_stop_words(texts, self.language)
        self._set_reader(words)
        limits = self.min_df, self.max_df, self.block_terms
        if self.hashing is None:
            learned = learn_vocabulary(texts, self._reader, *limits)
        else:
            learned = learn_hashed(texts, self._reader, int(self.hashing), *limits)
        self._set_learned(learned.names, learned.idf)
        return learned

    def _set_reader(self, language_stop_words: list[str]) -> None:
        """Set what reads texts; it leaves out the stop words given, and these of the language."""
        if not isinstance(language_stop_words, list) or not all_words(language_stop_words):
            raise ValueError(f"language_stop_words is {language_stop_words!r:.60}: must be a list of words")
        self.language_stop_words_ = language_stop_words
        left_out = frozenset(word.lower() for word in [*(self.stop_words or ()), *language_stop_words])
        stemmer = None if self.language is None else Stemmer(language_code(self.language))
        self._reader = TermReader(self.word_pairs, self.char_ngrams, stemmer, left_out)

    def _set_learned(self, names: list[str] | None, idf: np.ndarray) -> None:
        self.feature_names_ = names
        self.idf_ = idf
        self._columns: TermColumns
        if names is None:
            self._columns = HashedColumns((idf > 0).tobytes(), self.char_ngrams)
        else:
            self._columns = Vocabulary(names, self.char_ngrams)
        self._empty_row = empty_row(len(idf))

    def _check_fitted(self) -> None:
        if not hasattr(self, "idf_"):
            raise NeartagError("these TfidfFeatures have not learned any words yet: call fit(texts) first")


ENCODER = TfidfFeatures

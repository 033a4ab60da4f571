"""What tf-idf features learn from texts: which terms are features, the idf of each, and a language's stop words."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, islice
from typing import NamedTuple

import numpy as np

from neartag.core.errors import DataError
from neartag.encoders.count_by_helpers import count_blocks
from neartag.encoders.counted_texts import CountedTexts
from neartag.encoders.languages import frequent_stop_words, language_code
from neartag.encoders.term_reader import TermReader
from neartag.encoders.terms import UNKNOWN, GrowingVocabulary, HashedColumns, Text
from neartag.encoders.tfidf_parameters import as_count

N_TEXTS_FOR_STOP_WORDS = 5000  # the first so many texts tell which stop words of a language are frequent


class Learned(NamedTuple):
    """The features of some texts, and how often each text has each of them."""

    names: list[str] | None  # the terms, sorted; None with hashing
    idf: np.ndarray  # (n_features,); 0 for a column of hashing that is not used
    counts: CountedTexts  # by terms in the order of their first appearance, or by hashed columns
    new_column: np.ndarray  # of each of these columns; UNKNOWN where it is no feature


def learn_vocabulary(
    texts: Iterable[Text], reader: TermReader, min_df: int | float, max_df: int | float, block_terms: int
) -> Learned:
    """Return the features where each term that enough texts have is one; the texts are read once."""
    vocabulary = GrowingVocabulary(reader.char_ngrams)
    counts = CountedTexts(count_blocks(texts, reader, vocabulary, block_terms))
    seen = list(vocabulary.ids)  # in the order of their numbers
    keep, idf = _select(counts, len(seen), min_df, max_df)
    order = sorted(np.flatnonzero(keep).tolist(), key=seen.__getitem__)
    new_column = np.full(len(seen), UNKNOWN, dtype=np.int32)
    new_column[order] = np.arange(len(order))
    return Learned([seen[number] for number in order], idf[order], counts, new_column)


def learn_hashed(
    texts: Iterable[Text],
    reader: TermReader,
    n_columns: int,
    min_df: int | float,
    max_df: int | float,
    block_terms: int,
) -> Learned:
    """Return the features where each term has one of so many columns by its hash; the texts are read once."""
    columns = HashedColumns.all(n_columns, reader.char_ngrams)
    counts = CountedTexts(count_blocks(texts, reader, columns, block_terms))
    keep, idf = _select(counts, n_columns, min_df, max_df)
    new_column = np.where(keep, np.arange(n_columns, dtype=np.int32), np.int32(UNKNOWN))
    return Learned(None, np.where(keep, idf, 0), counts, new_column)


def find_stop_words(texts: Iterable[Text], language: str | None) -> tuple[list[str], Iterable[Text]]:
    """Return the language's stop words that are frequent in the first texts, sorted, and all the texts to read."""
    if language is None or isinstance(texts, str):
        return [], texts
    rest = iter(texts)
    first = list(islice(rest, N_TEXTS_FOR_STOP_WORDS))
    return frequent_stop_words(language_code(language), first), chain(first, rest)


def _select(
    counts: CountedTexts, width: int, min_df: int | float, max_df: int | float
) -> tuple[np.ndarray, np.ndarray]:
    """Return which columns are features, and the idf of each column, (width,) both; DataError where none is left."""
    n_texts, frequency = counts.n_texts, counts.frequency(width)
    least, most = as_count(min_df, n_texts), as_count(max_df, n_texts)
    keep = (frequency >= max(least, 1)) & (frequency <= most)  # a hashed column may have no text at all
    if not keep.any():
        raise DataError(
            f"no word is left of {n_texts} texts with {np.count_nonzero(frequency)} different words "
            f"(min_df={min_df!r}, max_df={max_df!r})"
        )
    return keep, np.log((1 + n_texts) / (1 + frequency)) + 1

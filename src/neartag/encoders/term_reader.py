"""What is counted in a text, and the counts of many texts, block by block."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from neartag.core.errors import DataError
from neartag.encoders.languages import Stemmer
from neartag.encoders.term_counts import TermCounts, count_terms
from neartag.encoders.terms import TermColumns, Text, ngrams_of, pairs_of, words_of


@dataclass(frozen=True)
class TermReader:
    """Reads texts as terms: words without stop words, pairs of these, and runs of their characters."""

    word_pairs: bool
    char_ngrams: tuple[int, int] | None
    stemmer: Stemmer | None = None  # of the texts' language
    left_out: frozenset[str] = frozenset()  # stop words, in lower case

    def written_words(self, text: Text, number: int = 0) -> list[str]:
        """Return the words as they are written, without stop words; `number` names the text in an error."""
        words = words_of(text, number)
        return [word for word in words if word not in self.left_out] if self.left_out else words

    def counted_words(self, text: Text, number: int = 0) -> list[str]:
        """Return the words that are counted, by their stems where there is a language."""
        return self.stem(self.written_words(text, number))

    def stem(self, words: list[str]) -> list[str]:
        """Return the words as they are counted."""
        return words if self.stemmer is None else self.stemmer(words)

    def different_terms(self, text: Text) -> list[str]:
        """Return the terms of a text, each once: words, then pairs, then runs of characters."""
        words = self.counted_words(text)
        terms = words + pairs_of(words) if self.word_pairs else words
        if self.char_ngrams is not None:
            terms = terms + [term for word in dict.fromkeys(words) for term in ngrams_of(word, *self.char_ngrams)]
        return list(dict.fromkeys(terms))

    def add_occurrences(self, text: Text, number: int, columns: TermColumns, occurrences: array[int]) -> None:
        """Append the column of each occurrence of a term in the text."""
        words = self.counted_words(text, number)
        occurrences.extend(columns.of_words(words))
        if self.word_pairs:
            occurrences.extend(columns.of_terms(pairs_of(words)))
        if self.char_ngrams is not None:
            occurrences.frombytes(columns.of_ngrams(words))

    def count_blocks(
        self, texts: Iterable[Text], columns: TermColumns, block_terms: int, first: int = 0
    ) -> Iterator[TermCounts]:
        """Yield the counts of one block of texts at a time, which has so many occurrences of terms or a few more.

        `first` is the number of the first text, for errors.
        """
        if isinstance(texts, str):
            raise DataError("texts is a single string: give a list of texts")
        occurrences, starts = array("i"), array("q", [0])
        for number, text in enumerate(texts, start=first):
            self.add_occurrences(text, number, columns, occurrences)
            starts.append(len(occurrences))
            if len(occurrences) >= block_terms:
                yield _count(occurrences, starts)
                occurrences, starts = array("i"), array("q", [0])
        yield _count(occurrences, starts)


def _count(occurrences: array[int], starts: array[int]) -> TermCounts:
    return count_terms(np.array(occurrences, dtype=np.int32), np.array(starts, dtype=np.int64))

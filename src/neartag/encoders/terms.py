"""The terms of a text, words, pairs of words and character n-grams, and the column that each has.

A text is a string, cut into words here, or a list of words that are taken whole. Both are lower-cased.
"""

from __future__ import annotations

import re
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise, repeat
from typing import Any
from zlib import crc32

from neartag.core.errors import DataError

Text = str | Sequence[str]

WORD = re.compile(r"[^\W_]+")  # runs of letters and digits of any script
# What makes words of ASCII as WORD does, but in less than half the time: letters lower-cased, all but digits a space.
ASCII_WORDS = bytes(ord(chr(code).lower()) if code < 128 and chr(code).isalnum() else ord(" ") for code in range(256))
CHARACTER_MARK = "\t"  # starts the name of a character n-gram, so that none is taken for a word
UNKNOWN = -1  # the column of a term that has none
REMEMBERED = 2**16  # words whose columns are kept at hand; most texts need far fewer, and these are some megabytes
LONGEST_REMEMBERED = 40  # characters; a longer word hardly comes back, and has very many n-grams


def words_of(text: Text, number: int = 0) -> list[str]:
    """Return the words of a text, in order; `number` names the text in an error."""
    if isinstance(text, str):
        if text.isascii():
            return text.encode().translate(ASCII_WORDS).decode().split()
        return WORD.findall(text.lower())
    if isinstance(text, (list, tuple)) and all(isinstance(word, str) for word in text):
        return [word.lower() for word in text]
    raise DataError(f"text {number} is {text!r:.60}: must be a string or a list of words")


def pairs_of(words: list[str]) -> list[str]:
    """Return each two adjacent words as one term."""
    return [f"{first} {second}" for first, second in pairwise(words)]


def ngrams_of(word: str, shortest: int, longest: int) -> list[str]:
    """Return the n-grams of a word with a space at both ends; a word too short for an n gives itself, once."""
    padded = f" {word} "
    terms = []
    for length in range(shortest, longest + 1):
        terms += [CHARACTER_MARK + padded[start : start + length] for start in range(len(padded) - length + 1)]
        if length >= len(padded):
            # The whole padded word stands for every longer n-gram; where length is above, it is not in the list yet.
            return terms or [CHARACTER_MARK + padded]
    return terms


def spans_of(text: str) -> list[tuple[int, int, str]]:
    """Return where each word of `words_of(text)` stands in the text as it was given: start, end, word.

    A word that is only a part of what a character becomes in lower case, as the i of "İ", has the whole character.
    """
    lowered = text.lower()
    found = [(match.start(), match.end(), match[0]) for match in WORD.finditer(lowered)]
    if len(lowered) == len(text):  # no character gets shorter, so none got longer either
        return found
    origin = [place for place, character in enumerate(text) for _ in character.lower()]
    return [(origin[start], origin[end - 1] + 1, word) for start, end, word in found]


def bucket_of(term: str, buckets: int) -> int:
    """Return the column of a term by hashing: the same in every process and on every machine, unlike `hash`."""
    return crc32(term.encode("utf-8", "surrogatepass")) % buckets


class Remembered(dict[str, Any]):
    """What a function of a word gives, kept at hand for the words that come often; copies start empty."""

    def __init__(self, function: Callable[[str], Any]) -> None:
        self.function = function

    def __missing__(self, word: str) -> Any:
        found = self.function(word)
        if len(word) <= LONGEST_REMEMBERED:
            if len(self) >= REMEMBERED:
                self.clear()  # the frequent ones are soon back
            self[word] = found
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return Remembered, (self.function,)


class Columns:
    """Gives terms their columns; how is up to the subclass."""

    def __init__(self, char_ngrams: Sequence[int] | None) -> None:
        self._bounds = char_ngrams
        self._ngrams = Remembered(self._ngram_columns)

    def of(self, terms: Iterable[str]) -> Iterable[int]:
        """Return the column of each term."""
        raise NotImplementedError

    def of_words(self, words: Iterable[str]) -> Iterable[int]:
        """Return the column of each word, as `of` does; words come back more than other terms do."""
        return self.of(words)

    def of_ngrams(self, words: Iterable[str]) -> bytes:
        """Return the columns of the words' character n-grams, as C ints: put together so, they cost Python nothing."""
        return b"".join(map(self._ngrams.__getitem__, words))

    def _ngram_columns(self, word: str) -> bytes:
        assert self._bounds is not None
        return array("i", self.of(ngrams_of(word, *self._bounds))).tobytes()


class Vocabulary(Columns):
    """The columns of known terms, by their place among the names."""

    def __init__(self, names: Sequence[str], char_ngrams: Sequence[int] | None) -> None:
        super().__init__(char_ngrams)
        self.ids = dict(zip(names, range(len(names)), strict=True))

    def of(self, terms: Iterable[str]) -> Iterable[int]:
        """Return the column of each term, UNKNOWN for a new one."""
        return map(self.ids.get, terms, repeat(UNKNOWN))


class GrowingVocabulary(Columns):
    """Columns in the order in which terms are first seen."""

    def __init__(self, char_ngrams: Sequence[int] | None) -> None:
        super().__init__(char_ngrams)
        self.ids: defaultdict[str, int] = defaultdict()
        self.ids.default_factory = self.ids.__len__

    def of(self, terms: Iterable[str]) -> Iterable[int]:
        """Return the column of each term, the next free one for a new one."""
        return map(self.ids.__getitem__, terms)


class Buckets(Columns):
    """Columns by hashing, without a vocabulary: terms of the same hash share a column."""

    def __init__(self, used: bytes, char_ngrams: Sequence[int] | None) -> None:
        """`used` has a byte for each bucket, 0 for one whose terms are to be UNKNOWN."""
        super().__init__(char_ngrams)
        self._used = used
        self._words = Remembered(self._column)

    def of(self, terms: Iterable[str]) -> Iterable[int]:
        """Return the bucket of each term, UNKNOWN if it is not used."""
        return map(self._column, terms)

    def of_words(self, words: Iterable[str]) -> Iterable[int]:
        """Return the bucket of each word, UNKNOWN if it is not used."""
        return map(self._words.__getitem__, words)

    def _column(self, term: str) -> int:
        bucket = bucket_of(term, len(self._used))
        return bucket if self._used[bucket] else UNKNOWN

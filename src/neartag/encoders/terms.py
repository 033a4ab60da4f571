"""The terms of a text, words, pairs of words and character n-grams, and the column that each term has.

A text is a string, cut into words here, or a list of words that are taken whole. Both are lower-cased. A column comes
from a vocabulary, from a vocabulary that grows, or from hashing.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise, repeat
from typing import Any, NamedTuple
from zlib import crc32

from neartag.core.errors import DataError

Text = str | Sequence[str]

WORD = re.compile(r"[^\W_]+")  # runs of letters and digits of any script
# A letter with marks that stand behind it as characters of their own: some programs write "ä" so.
MARKED = re.compile(r"[^\W_][\u0300-\u036f]+")
# A table that cuts ASCII into words as WORD does, in less than half the time: it lower-cases letters, keeps digits, and
# makes everything else a space.
ASCII_WORDS = bytes(ord(chr(code).lower()) if code < 128 and chr(code).isalnum() else ord(" ") for code in range(256))
CHARACTER_MARK = "\t"  # starts the name of a character n-gram, so that none is taken for a word
UNKNOWN = -1  # the column of a term that has none


def words_of(text: Text, number: int = 0) -> list[str]:
    """Return the words of a text, in order; `number` names the text in an error."""
    if isinstance(text, str):
        if text.isascii():
            return text.encode().translate(ASCII_WORDS).decode().split()
        return WORD.findall(MARKED.sub(_compose, text.lower()))
    if isinstance(text, (list, tuple)) and all(isinstance(word, str) for word in text):
        return [word.lower() for word in text]
    raise DataError(f"text {number} is {text!r:.60}: must be a string or a list of words")


def _compose(match: re.Match[str]) -> str:
    """Return a letter with its marks as one character, where there is one."""
    return unicodedata.normalize("NFC", match[0])


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
    """Return where each word of `words_of(text)` stands in the original text: start, end, word.

    Some characters become several in lower case, as "İ" does. A word that has only some of these gets the whole
    character's place.
    """
    lowered = text.lower()
    composed = lowered if lowered.isascii() else MARKED.sub(_compose, lowered)
    spans = [(match.start(), match.end(), match[0]) for match in WORD.finditer(composed)]
    if len(lowered) == len(text) == len(composed):  # no character gets shorter, so none got longer either
        return spans
    origin = [place for place, character in enumerate(text) for _ in character.lower()]
    starts, ends = _places_of_composed(lowered)
    return [(origin[starts[start]], origin[ends[end - 1]] + 1, word) for start, end, word in spans]


def _places_of_composed(lowered: str) -> tuple[list[int], list[int]]:
    """Return the first and the last character that each character comes from, once letters and marks are composed."""
    starts: list[int] = []
    ends: list[int] = []
    before = 0
    for match in MARKED.finditer(lowered):
        plain, count = range(before, match.start()), len(_compose(match))
        starts += [*plain, *([match.start()] * count)]
        ends += [*plain, *([match.end() - 1] * count)]
        before = match.end()
    plain = range(before, len(lowered))
    return [*starts, *plain], [*ends, *plain]


class CacheLimits(NamedTuple):
    """How much a BoundedCache keeps."""

    words: int = 2**16  # most texts need far fewer; their columns take some megabytes
    longest_word: int = 40  # characters; a longer word hardly comes back, and has very many n-grams


CACHE_LIMITS = CacheLimits()


class BoundedCache(dict[str, Any]):
    """Keeps what a function returned for words, at most so many of them; a pickled copy starts empty."""

    def __init__(self, function: Callable[[str], Any], limits: CacheLimits) -> None:
        self.function, self.limits = function, limits

    def __missing__(self, word: str) -> Any:
        value = self.function(word)
        if len(word) <= self.limits.longest_word:
            if len(self) >= self.limits.words:
                self.clear()  # the frequent words are soon back
            self[word] = value
        return value

    def __reduce__(self) -> tuple[Any, ...]:
        return BoundedCache, (self.function, self.limits)


class TermColumns:
    """Gives terms their columns; the subclass says how."""

    def __init__(self, char_ngrams: Sequence[int] | None, limits: CacheLimits) -> None:
        self._bounds = char_ngrams
        self._ngrams = BoundedCache(self._ngram_columns, limits)

    def of_terms(self, terms: Iterable[str]) -> Iterable[int]:
        """Return the column of each term."""
        raise NotImplementedError

    def of_words(self, words: Iterable[str]) -> Iterable[int]:
        """Return the column of each word, as `of_terms` does; words come back more often than other terms do."""
        return self.of_terms(words)

    def of_ngrams(self, words: Iterable[str]) -> bytes:
        """Return the columns of the words' character n-grams as C ints: joining bytes costs Python nothing."""
        return b"".join(map(self._ngrams.__getitem__, words))

    def _ngram_columns(self, word: str) -> bytes:
        assert self._bounds is not None
        return array("i", self.of_terms(ngrams_of(word, *self._bounds))).tobytes()


class Vocabulary(TermColumns):
    """The columns of known terms: their places among the names."""

    def __init__(
        self, names: Sequence[str], char_ngrams: Sequence[int] | None, limits: CacheLimits = CACHE_LIMITS
    ) -> None:
        super().__init__(char_ngrams, limits)
        self.ids = dict(zip(names, range(len(names)), strict=True))

    def of_terms(self, terms: Iterable[str]) -> Iterable[int]:
        """Return the column of each term, UNKNOWN for a new one."""
        return map(self.ids.get, terms, repeat(UNKNOWN))


class GrowingVocabulary(TermColumns):
    """Columns in the order in which terms are first seen."""

    def __init__(self, char_ngrams: Sequence[int] | None, limits: CacheLimits = CACHE_LIMITS) -> None:
        super().__init__(char_ngrams, limits)
        self.ids: defaultdict[str, int] = defaultdict()
        self.ids.default_factory = self.ids.__len__

    def of_terms(self, terms: Iterable[str]) -> Iterable[int]:
        """Return the column of each term, the next free one for a new one."""
        return map(self.ids.__getitem__, terms)


class HashedColumns(TermColumns):
    """Columns by hashing, without a vocabulary: terms of the same hash share a column."""

    def __init__(self, used: bytes, char_ngrams: Sequence[int] | None, limits: CacheLimits = CACHE_LIMITS) -> None:
        """`used` has a byte for each column, 0 for one whose terms are to be UNKNOWN."""
        super().__init__(char_ngrams, limits)
        self._used = used
        self._words = BoundedCache(self._column, limits)

    @classmethod
    def all(cls, n_columns: int, char_ngrams: Sequence[int] | None) -> HashedColumns:
        """Return so many columns, all of which are used."""
        return cls(b"\1" * n_columns, char_ngrams)

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self._used)

    def of_terms(self, terms: Iterable[str]) -> Iterable[int]:
        """Return the column of each term, UNKNOWN if it is not used."""
        return map(self._column, terms)

    def of_words(self, words: Iterable[str]) -> Iterable[int]:
        """Return the column of each word, UNKNOWN if it is not used."""
        return map(self._words.__getitem__, words)

    def _column(self, term: str) -> int:
        column = hash_column(term, len(self._used))
        return column if self._used[column] else UNKNOWN


def hash_column(term: str, n_columns: int) -> int:
    """Return the column of a term by hashing: the same in every process and on every machine, unlike `hash`."""
    return crc32(term.encode("utf-8", "surrogatepass")) % n_columns

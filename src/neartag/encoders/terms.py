"""The terms of a text: its words, pairs of words and character n-grams.

A text is a string, cut into words here, or a list of words that are taken whole. Both are lower-cased.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from neartag.core.errors import DataError

Text = str | Sequence[str]

WORD = re.compile(r"[^\W_]+")  # runs of letters and digits of any script
# A table that cuts ASCII into words as WORD does, in less than half the time: it lower-cases letters, keeps digits, and
# makes everything else a space.
ASCII_WORDS = bytes(ord(chr(code).lower()) if code < 128 and chr(code).isalnum() else ord(" ") for code in range(256))
CHARACTER_MARK = "\t"  # starts the name of a character n-gram, so that none is taken for a word


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
    """Return where each word of `words_of(text)` stands in the original text: start, end, word.

    Some characters become several in lower case, as "İ" does. A word that has only some of these gets the whole
    character's place.
    """
    lowered = text.lower()
    spans = [(match.start(), match.end(), match[0]) for match in WORD.finditer(lowered)]
    if len(lowered) == len(text):  # no character gets shorter, so none got longer either
        return spans
    origin = [place for place, character in enumerate(text) for _ in character.lower()]
    return [(origin[start], origin[end - 1] + 1, word) for start, end, word in spans]

"""Which words of a text hold each of its features: explanations show words, not pairs and runs of characters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

from neartag.encoders.terms import UNKNOWN, TermColumns, ngrams_of, pairs_of

WordPart = tuple[str, int, float]  # a word of the text, a column, and the part of that column which is the word's


def word_parts(
    written: Sequence[str],
    counted: Sequence[str],
    columns: TermColumns,
    word_pairs: bool,
    char_ngrams: Sequence[int] | None,
) -> list[WordPart]:
    """Return the words that hold each known column of a text; the parts of a column add up to 1.

    A pair is held by its two words, a run of characters by the words that have it. Where several hold a column, each
    has its part by how often it does.

    Parameters
    ----------
    written, counted : sequences of str
        The text's words, as they are written and as they are counted: stems, where words are stemmed.
    columns : TermColumns
        Gives a term its column.
    word_pairs, char_ngrams
        What is counted besides words.
    """
    times: defaultdict[int, defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
    for word, column in zip(written, columns.of_words(counted), strict=True):
        times[column][word] += 1
    if word_pairs:
        for both, column in zip(pairwise(written), columns.of_terms(pairs_of(list(counted))), strict=True):
            for word in both:
                times[column][word] += 0.5
    if char_ngrams is not None:
        for word, term in zip(written, counted, strict=True):
            for column in columns.of_terms(ngrams_of(term, *char_ngrams)):
                times[column][word] += 1
    times.pop(UNKNOWN, None)
    parts = []
    for column, holders in times.items():
        total = sum(holders.values())
        parts += [(word, column, count / total) for word, count in holders.items()]
    return parts

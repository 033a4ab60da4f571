"""The terms of many texts counted by helper processes, with the same features and rows as by one process.

A helper has a vocabulary of its own, which grows, and tells with every block which terms are new in it. Whoever joins
the blocks gives such a term the next free number. So numbers may differ from those of one process; but features get
their columns by the order of their names, and that is the same.
"""

from __future__ import annotations

import uuid
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import BrokenExecutor, Future
from itertools import chain, islice
from typing import NamedTuple

import numpy as np

from neartag.core.processes import Helpers, offered_processes, submit, take_first
from neartag.encoders.term_counts import TermCounts
from neartag.encoders.term_reader import TermReader
from neartag.encoders.terms import GrowingVocabulary, HashedColumns, Text

BLOCK_CHARACTERS = 2**21  # of texts that a helper gets at a time
_WORD_CHARACTERS = 8  # about so many, in a text that is a list of words
_WORDS_IN_A_SECOND, _MANY_IN_A_SECOND = 2**24, 2**22  # characters, of which words or also other terms are counted
MAX_HELPER_TERMS = 2**19  # in a helper's vocabulary, which then begins anew: about 75 MB

TextBlock = tuple[int, list[Text]]  # the number of the first text, and the texts


class HelperCounts(NamedTuple):
    """The counts of a block of texts by a helper."""

    vocabulary: str  # whose numbers the columns are
    known: int  # terms that it had before
    new_terms: list[str]  # since this vocabulary's last block, in the order of their numbers
    blocks: list[TermCounts]


def count_blocks(
    texts: Iterable[Text], reader: TermReader, columns: GrowingVocabulary | HashedColumns, block_terms: int
) -> Iterator[TermCounts]:
    """Yield the counts of one block of texts at a time, as `TermReader.count_blocks`; many texts by helpers.

    The columns of a row need not rise here.
    """
    helpers = offered_processes()
    if helpers is None or isinstance(texts, str):
        yield from reader.count_blocks(texts, columns, block_terms)
        return
    source = _text_blocks(texts)
    many = reader.word_pairs or reader.char_ngrams is not None
    seconds = BLOCK_CHARACTERS / (_MANY_IN_A_SECOND if many else _WORDS_IN_A_SECOND)
    first = chain.from_iterable(some for _, some in take_first(source, lambda _: seconds, helpers))
    yield from reader.count_blocks(first, columns, block_terms)
    yield from _Joiner(reader, columns, block_terms, helpers).count(source)


def _text_blocks(texts: Iterable[Text]) -> Iterator[TextBlock]:
    """Yield texts in blocks; what is no string is taken to be a list of words."""
    block: list[Text] = []
    first, characters = 0, 0
    for text in texts:
        block.append(text)
        characters += len(text) if isinstance(text, str) else _WORD_CHARACTERS * len(_as_list(text))
        if characters >= BLOCK_CHARACTERS:
            yield first, block
            first, block, characters = first + len(block), [], 0
    if block:
        yield first, block


def _as_list(text: object) -> list[str] | tuple[str, ...]:
    """Return a text that is a list of words; whatever cannot be a text, and is refused later, as an empty one."""
    return text if isinstance(text, (list, tuple)) else []


class _Joiner:
    """Sends blocks of texts to helpers, and gives what they counted the numbers of one vocabulary."""

    def __init__(
        self, reader: TermReader, columns: GrowingVocabulary | HashedColumns, block_terms: int, helpers: Helpers
    ) -> None:
        self._reader, self._columns, self._block_terms, self._helpers = reader, columns, block_terms, helpers
        self._task = uuid.uuid4().hex
        self._hashed = columns.n_columns if isinstance(columns, HashedColumns) else None
        self._numbers: dict[str, np.ndarray] = {}  # of each helper's terms, in the order of its own numbers

    def count(self, source: Iterator[TextBlock]) -> Iterator[TermCounts]:
        """Yield the counts of all blocks, in their order: a helper's new terms must come one after the other."""
        waiting: deque[tuple[TextBlock, Future[HelperCounts] | None]] = deque()
        try:
            for block in source:
                waiting.append((block, self._send(block)))
                if len(waiting) > self._helpers.count + 1:  # one more than run, so that no helper waits for us
                    yield from self._take(*waiting.popleft())
            while waiting:
                yield from self._take(*waiting.popleft())
        finally:
            for _, future in waiting:
                if future is not None:
                    future.cancel()

    def _send(self, block: TextBlock) -> Future[HelperCounts] | None:
        return submit(self._helpers, count_as_helper, self._task, self._reader, self._hashed, self._block_terms, *block)

    def _take(self, block: TextBlock, future: Future[HelperCounts] | None) -> Iterator[TermCounts]:
        try:
            counted = None if future is None else future.result()
        except BrokenExecutor:  # killed, perhaps for want of memory
            counted = None
        before = self._numbers.get(counted.vocabulary, np.empty(0, np.int32)) if counted is not None else ()
        # Where a result of this helper was lost, so were the terms that it had added, and its numbers tell nothing.
        if counted is None or len(before) != counted.known:
            first, texts = block
            yield from self._reader.count_blocks(texts, self._columns, self._block_terms, first)
            return
        if not isinstance(self._columns, GrowingVocabulary):
            yield from counted.blocks
            return
        added = np.fromiter(self._columns.of_terms(counted.new_terms), np.int32, len(counted.new_terms))
        numbers = self._numbers[counted.vocabulary] = np.concatenate([before, added])
        for each in counted.blocks:
            yield each._replace(columns=numbers[each.columns])


class _HelperVocabulary(NamedTuple):
    task: str
    name: str
    columns: GrowingVocabulary | HashedColumns


_own: list[_HelperVocabulary] = []  # of this process, if it is a helper: at most one, of the task that it works for


def count_as_helper(
    task: str, reader: TermReader, hashed: int | None, block_terms: int, first: int, texts: list[Text]
) -> HelperCounts:
    """Return the counts of texts, the first of which has this number; `hashed` columns, or a vocabulary's."""
    if not _own or _own[0].task != task or len(getattr(_own[0].columns, "ids", ())) > MAX_HELPER_TERMS:
        new = GrowingVocabulary(reader.char_ngrams) if hashed is None else HashedColumns.all(hashed, reader.char_ngrams)
        _own[:] = [_HelperVocabulary(task, uuid.uuid4().hex, new)]
    name, columns = _own[0].name, _own[0].columns
    known = len(columns.ids) if isinstance(columns, GrowingVocabulary) else 0
    blocks = list(reader.count_blocks(texts, columns, block_terms, first))
    if not isinstance(columns, GrowingVocabulary):
        return HelperCounts(name, 0, [], blocks)
    new_terms = list(islice(reversed(columns.ids), len(columns.ids) - known))
    new_terms.reverse()
    return HelperCounts(name, known, new_terms, blocks)

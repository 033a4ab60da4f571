"""The counts of all texts, block after block, in arrays that go into files when they are large."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from scipy.sparse import csr_matrix

from neartag.data.mapped import SpillableArrays, mapped_bytes
from neartag.encoders.term_counts import TermCounts, renumber_columns
from neartag.encoders.tfidf_rows import sorted_rows, weigh_block
from neartag.linalg import csr
from neartag.linalg.large_csr import from_arrays

MAX_ENTRIES = np.iinfo(np.int32).max  # of a matrix whose pointers are as short as its column numbers


class CountedTexts:
    """How often each of many texts has each term: 8 bytes for each different term of a text, and 4 for a text."""

    def __init__(self, blocks: Iterable[TermCounts]) -> None:
        """Take the counts of the blocks, each of which is let go before the next one comes."""
        arrays = SpillableArrays("the rows of the texts")
        columns, counts = arrays.new(np.int32), arrays.new(np.int32)
        self._starts: list[np.ndarray] = []  # of each block's texts
        for block in blocks:
            columns.append(block.columns)
            counts.append(block.counts)
            self._starts.append(block.starts)
        self._columns, self._counts = columns.finish(), counts.finish()  # (nnz,) int32

    @property
    def n_texts(self) -> int:
        """Number of texts."""
        return sum(len(starts) - 1 for starts in self._starts)

    def blocks(self) -> Iterator[TermCounts]:
        """Yield the blocks as they came."""
        first = 0
        for starts in self._starts:
            stop = first + int(starts[-1])
            yield TermCounts(self._columns[first:stop], self._counts[first:stop], starts)
            first = stop

    def frequency(self, n_columns: int) -> np.ndarray:
        """Return how many texts have each column (n_columns,)."""
        frequency = np.zeros(n_columns, dtype=np.int64)
        for block in self.blocks():
            counts = np.bincount(block.columns)
            frequency[: len(counts)] += counts
        return frequency

    def to_rows(self, idf: np.ndarray, sublinear: bool, new_column: np.ndarray | None = None) -> csr_matrix:
        """Return the rows of all texts (n_texts, n_features) by tf-idf; idf is (n_features,).

        `new_column` has a column for each one here, or UNKNOWN. The rows are made in the place of the counts, which
        are gone afterwards: a weight takes as much room as a count, and no block of rows is longer than its counts.
        """
        weights = self._counts.view(np.float32)
        stop, lengths = 0, [np.zeros(0, np.int64)]
        for counted in self.blocks():
            block = counted if new_column is None else renumber_columns(counted, new_column)
            data = weigh_block(block, idf, sublinear)  # whole, before anything is written: places may overlap
            first, stop = stop, stop + len(data)
            self._columns[first:stop], weights[first:stop] = block.columns, data
            lengths.append(np.diff(block.starts))
        self._starts = []
        columns, starts = self._columns[:stop], csr.pointer(np.concatenate(lengths))
        if mapped_bytes(columns) and stop <= MAX_ENTRIES:  # scipy might copy them into memory
            rows = from_arrays(weights[:stop], columns, starts.astype(np.int32), (len(starts) - 1, len(idf)))
            rows.has_sorted_indices = rows.has_canonical_format = True
            return rows
        return sorted_rows(weights[:stop], columns, starts, len(idf))

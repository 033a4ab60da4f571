"""Many texts as two arrays: a saved model maps them from disk, and only the texts that are asked for are decoded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, overload

import numpy as np

_ERRORS = "surrogatepass"  # a lone surrogate is no text, but somebody's file may have one


class Texts(Sequence[str]):
    """Texts by number, kept as UTF-8 in blocks; a block is an array of bytes and an array of the texts' ends."""

    def __init__(self, blocks: Sequence[tuple[np.ndarray, np.ndarray]] = ()) -> None:
        self._blocks = [block for block in blocks if len(block[1]) > 1]
        self._starts = np.cumsum([0, *(len(ends) - 1 for _, ends in self._blocks)])

    @classmethod
    def from_strings(cls, texts: Iterable[str]) -> Texts:
        """Return the texts, each read once."""
        content, ends = bytearray(), [0]
        for text in texts:
            content += text.encode("utf-8", _ERRORS)
            ends.append(len(content))
        return cls([(np.frombuffer(bytes(content), np.uint8), np.array(ends, np.int64))])

    @classmethod
    def from_arrays(cls, content: np.ndarray, ends: np.ndarray) -> Texts:
        """Return the texts that `to_arrays` described; ValueError where the arrays cannot be any."""
        fine = content.dtype == np.uint8 and content.ndim == 1 and ends.dtype == np.int64 and ends.ndim == 1
        if not fine or not len(ends):
            raise ValueError("the texts are not two arrays of bytes and ends")
        if ends[0] != 0 or ends[-1] != len(content) or (np.diff(ends) < 0).any():
            raise ValueError("the texts' ends do not rise from 0 to the number of their bytes")
        return cls([(content, ends)])

    def to_arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the bytes of all texts end to end, uint8, and where each ends, int64, after a first 0."""
        if len(self._blocks) == 1:
            return self._blocks[0]
        shifts = np.cumsum([0, *(len(content) for content, _ in self._blocks)])
        ends = [each[1:] + shift for (_, each), shift in zip(self._blocks, shifts, strict=False)]
        empty = np.empty(0, np.uint8)
        return (
            np.concatenate([empty, *(content for content, _ in self._blocks)]),
            np.concatenate([np.zeros(1, np.int64), *ends]),
        )

    def concatenate(self, others: Texts) -> Texts:
        """Return these texts and then the others; nothing is copied."""
        return Texts([*self._blocks, *others._blocks])

    def keep(self, mask: np.ndarray) -> Texts:
        """Return the texts where the mask (n,) is true."""
        blocks = []
        for (content, ends), start in zip(self._blocks, self._starts, strict=False):
            lengths = np.diff(ends)
            kept = mask[start : start + len(lengths)]
            ends_kept = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths[kept])])
            blocks.append((content[np.repeat(kept, lengths)], ends_kept))
        return Texts(blocks)

    def __len__(self) -> int:
        return int(self._starts[-1])

    @overload
    def __getitem__(self, row: int) -> str: ...

    @overload
    def __getitem__(self, row: slice) -> list[str]: ...

    def __getitem__(self, row: Any) -> Any:
        if isinstance(row, slice):
            return [self[each] for each in range(*row.indices(len(self)))]
        row = int(row) + (len(self) if row < 0 else 0)
        if not 0 <= row < len(self):
            raise IndexError(f"there are {len(self)} texts, no number {row}")
        block = int(np.searchsorted(self._starts, row, side="right")) - 1
        content, ends = self._blocks[block]
        place = row - int(self._starts[block])
        piece = content[int(ends[place]) : int(ends[place + 1])].tobytes()
        try:
            return piece.decode("utf-8", _ERRORS)
        except UnicodeDecodeError:
            return piece.decode("utf-8", "replace")  # texts are only shown: a damaged one must not stop anything

    def __iter__(self) -> Iterator[str]:
        return (self[row] for row in range(len(self)))

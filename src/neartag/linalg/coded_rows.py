"""Dense rows in a quarter of the bytes: int8 numbers, and one scale for each row.

Vectors of unit length lose nothing by it that a vote or a ranker could tell. Products are of float32 queries with the
int8 numbers, made float32 on the way: rows are never held as float32 all at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from neartag.core.threads import run_ranges
from neartag.linalg import coded_row_kernels
from neartag.linalg.quantization import INT8_TOP, choose_scale

ROWS_AT_ONCE = 4096


@dataclass(frozen=True, eq=False)
class CodedRows:
    """Rows (n, e) as codes · scale."""

    codes: np.ndarray  # (n, e) int8
    scales: np.ndarray  # (n,) float32

    @classmethod
    def encode(cls, rows: Vectors, *, rows_at_once: int = ROWS_AT_ONCE) -> CodedRows:
        """Return rows (n, e), coded: each by itself, so that what becomes of one does not depend on the others.

        Rows that were coded and decoded are coded as before; those that are coded are returned as they are.
        """
        if isinstance(rows, CodedRows):
            return rows
        coded = cls.empty(*rows.shape)
        for block, own in float_blocks(rows, rows_at_once=rows_at_once):
            coded.write(block, own)
        return coded

    @classmethod
    def empty(cls, count: int, dim: int) -> CodedRows:
        """Return so many rows, all of which are to be written."""
        return cls(np.empty((count, dim), np.int8), np.empty(count, np.float32))

    def write(self, rows: slice | np.ndarray, vectors: np.ndarray) -> None:
        """Write vectors (m, e) in place of some of the rows."""
        scales = choose_scale(np.abs(vectors).max(axis=1, initial=0), "int8")
        self.scales[rows] = scales
        self.codes[rows] = np.clip(np.rint(vectors / scales[:, None]), -INT8_TOP, INT8_TOP)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.codes)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows, and numbers of a row."""
        return len(self.codes), self.dim

    @property
    def size(self) -> int:
        """Numbers of all rows."""
        return int(self.codes.size)

    @property
    def dim(self) -> int:
        """Numbers of a row, e."""
        return int(self.codes.shape[1])

    def decode(self, rows: slice | np.ndarray = slice(None)) -> np.ndarray:
        """Return some of the rows, or all, as float32 (m, e)."""
        return self.codes[rows].astype(np.float32) * self.scales[rows][:, None]

    def take(self, rows: slice | np.ndarray) -> CodedRows:
        """Return some of the rows, by number or by a mask."""
        return CodedRows(np.ascontiguousarray(self.codes[rows]), np.ascontiguousarray(self.scales[rows]))

    def append(self, others: CodedRows) -> CodedRows:
        """Return the rows with others after them."""
        return CodedRows(np.vstack([self.codes, others.codes]), np.concatenate([self.scales, others.scales]))

    def extend(self, count: int) -> CodedRows:
        """Return so many rows, the new ones at the end and zeros."""
        return self.append(self.zeros(count - len(self), self.dim)) if count > len(self) else self

    def put(self, rows: np.ndarray, others: CodedRows) -> CodedRows:
        """Return the rows with those of these numbers replaced by others."""
        codes, scales = self.codes.copy(), self.scales.copy()
        codes[rows], scales[rows] = others.codes, others.scales
        return CodedRows(codes, scales)

    @classmethod
    def zeros(cls, count: int, dim: int) -> CodedRows:
        """Return so many rows of zeros."""
        return cls(np.zeros((count, dim), np.int8), np.ones(count, np.float32))

    def products(self, queries: np.ndarray, numbers: np.ndarray, threads: int) -> np.ndarray:
        """Return the product of each query (m, e) with each of its rows, by number (m, room): float32, 0 for none.

        A number that is −1, or beyond the rows, is none.
        """
        out = np.empty(numbers.shape, np.float32)
        arguments = np.ascontiguousarray(queries, np.float32), self.codes, self.scales, numbers, out
        run_ranges(coded_row_kernels.coded_products, len(numbers), threads, *arguments)
        return out


Vectors: TypeAlias = np.ndarray | CodedRows  # dense rows (n, e)


def float_rows(vectors: Vectors, rows: slice | np.ndarray | None = None) -> np.ndarray:
    """Return some of the vectors, or all, as float32 (m, e); an array as it is."""
    if isinstance(vectors, CodedRows):
        return vectors.decode(slice(None) if rows is None else rows)
    return vectors if rows is None else vectors[rows]


def float_blocks(vectors: Vectors, *, rows_at_once: int = ROWS_AT_ONCE) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield all vectors as float32, block by block, each with its rows: never all of them at once."""
    for first in range(0, len(vectors), rows_at_once):
        block = slice(first, min(first + rows_at_once, len(vectors)))
        yield block, float_rows(vectors, block)

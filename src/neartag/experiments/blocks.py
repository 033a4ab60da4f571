"""What a report is made of, as plain data: words, tables that set measured beside printed figures, and plots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np


@dataclass(frozen=True)
class Text:
    """Paragraphs; a list gives one of its entries each."""

    paragraphs: Sequence[str]
    title: str = ""
    listed: bool = False  # as a list with dots


@dataclass(frozen=True)
class Number:
    """A measured figure as a table shows it, and the one that the paper prints in its place."""

    value: float | None  # None: not measured
    deviation: float | None = None
    runs: int = 0
    printed: float | None = None
    printed_deviation: float | None = None
    note: str = ""  # why there is none, or what is special
    digits: int = 2

    @property
    def difference(self) -> float | None:
        """Measured minus printed, where both are there."""
        return None if self.value is None or self.printed is None else self.value - self.printed


Entry = str | int | Number


@dataclass(frozen=True)
class Table:
    """Rows of entries under headings; of the numbers of a row that are compared, the best is marked in both kinds."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Entry]]
    note: str = ""
    # Columns among which each row has a winner, the largest or the smallest number; empty: none is marked.
    compared: Sequence[int] = ()
    best: Literal["largest", "smallest"] = "largest"

    def winners(self, row: Sequence[Entry], printed: bool = False) -> set[int]:
        """Return the columns of a row's best measured, or best printed, number: several where they are equal."""
        found: dict[int, float] = {}
        for column in self.compared:
            entry = row[column]
            if isinstance(entry, Number):
                value = entry.printed if printed else entry.value
                if value is not None:
                    found[column] = round(value, entry.digits)
        if len(found) < 2:
            return set()
        best = (max if self.best == "largest" else min)(found.values())
        return {column for column, value in found.items() if value == best}


@dataclass(frozen=True)
class Series:
    """One line or set of points of a plot."""

    label: str
    x: Sequence[float] | np.ndarray
    y: Sequence[float] | np.ndarray
    spread: Sequence[float] | np.ndarray | None = None  # standard deviation at each point, drawn as a band
    style: Literal["line", "points", "dashed"] = "line"


@dataclass(frozen=True)
class Figure:
    """A plot of some series."""

    title: str
    name: str  # of its file, without ending
    series: Sequence[Series]
    x_label: str
    y_label: str
    note: str = ""
    x_log: bool = False
    y_log: bool = False


Block = Text | Table | Figure

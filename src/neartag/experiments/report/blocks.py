"""What a report consists of, as plain data: texts, tables of measured and printed numbers, and plots."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

DIGEST_LENGTH = 16


@dataclass(frozen=True)
class Text:
    """Paragraphs, or the entries of a list."""

    paragraphs: Sequence[str]
    title: str = ""
    as_list: bool = False


@dataclass(frozen=True)
class Number:
    """A measured number in a table, and the number that the paper prints in its place."""

    value: float | None  # None: not measured
    deviation: float | None = None
    runs: int = 0
    printed: float | None = None
    printed_deviation: float | None = None
    note: str = ""  # why there is no number, or what is special about it
    digits: int = 2

    @property
    def difference(self) -> float | None:
        """Measured minus printed; None if one of them is missing."""
        return None if self.value is None or self.printed is None else self.value - self.printed


Entry = str | int | Number


@dataclass(frozen=True)
class Table:
    """Rows of entries under headings; in each row the best of the compared numbers is marked.

    There are two winners: one among the measured numbers and one among the printed ones.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Entry]]
    note: str = ""
    # Columns of which the largest or the smallest number wins; empty: nothing is marked.
    compared: Sequence[int] = ()
    best: Literal["largest", "smallest"] = "largest"

    def winners(self, row: Sequence[Entry], printed: bool = False) -> set[int]:
        """Return the columns of the best measured, or printed, number of a row: several if equal, none if all are."""
        values: dict[int, float] = {}
        for column in self.compared:
            entry = row[column]
            if isinstance(entry, Number):
                value = entry.printed if printed else entry.value
                if value is not None:
                    values[column] = round(value, entry.digits)
        if len(set(values.values())) < 2:
            return set()
        best = (max if self.best == "largest" else min)(values.values())
        return {column for column, value in values.items() if value == best}


@dataclass(frozen=True)
class Series:
    """One line, or one set of points, of a plot."""

    label: str
    x: Sequence[float] | np.ndarray
    y: Sequence[float] | np.ndarray
    spread: Sequence[float] | np.ndarray | None = None  # standard deviation at each point, drawn as a band
    style: Literal["line", "points", "dashed", "intervals"] = "line"  # intervals: x ± spread in the row y


@dataclass(frozen=True)
class Figure:
    """A plot of one or more series."""

    title: str
    name: str  # of its file, without ending
    series: Sequence[Series]
    x_label: str
    y_label: str
    note: str = ""
    x_log: bool = False
    y_log: bool = False
    rows: Sequence[str] = ()  # names of y = 0, 1, …, from the top, in place of numbers

    def digest(self) -> str:
        """Return a short digest of what is drawn, which its file carries: so a plot of other numbers is found out."""
        drawn: list[Any] = [self.title, self.x_label, self.y_label, self.x_log, self.y_log, list(self.rows)]
        for series in self.series:
            for numbers in (series.x, series.y, () if series.spread is None else series.spread):
                drawn.append([f"{value:.6g}" for value in np.asarray(numbers, float)])
            drawn += [series.label, series.style]
        return hashlib.sha256(json.dumps(drawn).encode()).hexdigest()[:DIGEST_LENGTH]


Block = Text | Table | Figure

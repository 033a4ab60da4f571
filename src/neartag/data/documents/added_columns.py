"""The columns that are added to a user's table: their names, and how lists of labels stand in one cell."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from neartag.core.errors import DataError, ParameterError
from neartag.data.documents.label_cells import LIST

NAMES = ("labels", "scores", "found")
MARKS = (";", "|", "\t")  # the first that no label holds separates them
# What makes a spreadsheet take a cell of a text file for a formula.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


class Answer(NamedTuple):
    """What is added to a row."""

    labels: list[str]
    scores: list[float]
    found: bool


@dataclass(frozen=True)
class AddedColumns:
    """The names of the added columns, and what separates labels in a cell."""

    prefix: str = ""
    separator: str = MARKS[0]

    @property
    def names(self) -> tuple[str, str, str]:
        """The three names, with the prefix."""
        labels, scores, found = (self.prefix + name for name in NAMES)
        return labels, scores, found

    def check_header(self, place: str, header: Iterable[str]) -> None:
        """Raise DataError where a table has a column of such a name already."""
        there = {name.strip() for name in header}
        taken = [name for name in self.names if name in there]
        if taken:
            plural = "columns" if len(taken) > 1 else "a column"
            raise DataError(
                f"{place} has {plural} {', '.join(map(repr, taken))} already: give --prefix, such as --prefix new_, "
                "which stands before the names of the added columns"
            )

    def as_cells(self, answer: Answer) -> list[str]:
        """Return the three cells as texts."""
        scores = [f"{score:.4f}" for score in answer.scores]
        found = "true" if answer.found else "false"
        if self.separator == LIST:
            return [json.dumps(answer.labels, ensure_ascii=False), f"[{', '.join(scores)}]", found]
        return [self.separator.join(answer.labels), self.separator.join(scores), found]


def choose_separator(labels: Sequence[str], wished: str | None = None, delimiter: str | None = None) -> str:
    """Return what separates labels in a cell: what is wished for, or the first mark that no label holds.

    A mark that separates cells is not taken, though quotes would tell the two apart. Where labels hold all marks it is
    LIST: a cell has a list as JSON writes it. ParameterError where a label holds the wished separator.
    """
    if wished is None:
        marks = (mark for mark in MARKS if mark != delimiter)
        return next((mark for mark in marks if not any(mark in label for label in labels)), LIST)
    held = [label for label in labels if wished in label]
    if wished != LIST and (held or wished in ("none", "angle")):
        problem = (
            f"{len(held):,} labels hold it, such as {held[0][:40]!r}" if held else "a cell may have several labels"
        )
        raise ParameterError(f"--separator {wished!r}: {problem}; give another one, or list, or leave it out")
    return wished

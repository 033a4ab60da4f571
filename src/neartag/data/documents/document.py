"""A text with its labels, as every reader of texts yields it, and what was skipped."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from neartag.core.errors import DataError

_QUOTED_ERRORS = 5  # the rest are only counted


class Document(NamedTuple):
    """One text and what belongs to it.

    Parameters
    ----------
    text : str
    labels : list of str
        Label names, none twice, in the order of the file.
    id : str or None
    vector : ndarray of shape (dim,) or None
        Finite float32 numbers.
    place : str
        File and line as errors name them; of a Parquet file, file and row.

    Examples
    --------
    >>> from neartag.data.documents import Document
    >>> Document("a game of chess", ["game::board"], "gnuchess", None, "docs.jsonl:1").labels
    ['game::board']
    """

    text: str
    labels: list[str]
    id: str | None
    vector: np.ndarray | None  # (dim,)
    place: str


@dataclass
class BadLines:
    """What was skipped: how many lines, and the messages of the first few errors.

    Examples
    --------
    >>> from neartag.core.errors import DataError
    >>> from neartag.data.documents import BadLines
    >>> bad = BadLines()
    >>> bad.add(DataError("docs.jsonl:7: there is no 'text'"))
    >>> bad
    BadLines(count=1, messages=["docs.jsonl:7: there is no 'text'"])
    """

    count: int = 0
    messages: list[str] = field(default_factory=list)

    def add(self, error: DataError) -> None:
        """Count an error; keep its message if it is one of the first."""
        self.count += 1
        if len(self.messages) < _QUOTED_ERRORS:
            self.messages.append(str(error))

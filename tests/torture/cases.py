"""What a case is: a kind, a seed and a number say all of it, so that a failure can be run again."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar, Protocol

from neartag.core.errors import NeartagError


class BrokenPromiseError(AssertionError):
    """A promise that did not hold; what it says is told to the person who runs the bench."""


class NoMoreCases(Exception):  # noqa: N818 (it is no error)
    """There are no more cases of this kind: all have been tried."""


class Kind(Protocol):
    """One kind of torture."""

    name: ClassVar[str]
    share: ClassVar[float]  # of the time, beside the shares of the other kinds
    seconds: ClassVar[float]  # of CPU that a case may take

    def prepare(self, folder: Path, seed: int) -> None:
        """Make what the cases share; the folder is empty, and this kind's own."""

    def run(self, number: int, chance: random.Random) -> str:
        """Run a case; return what it was about, in a word or two. Any exception is a failure."""

    def keep(self) -> dict[str, bytes]:
        """Return the files of the case that was last run, so that it can be kept as a regression case."""


def make_chance(seed: int, kind: str, number: int) -> random.Random:
    """Return the source of all that is random in a case."""
    return random.Random(f"{seed}/{kind}/{number}")


@contextmanager
def only_own_errors() -> Iterator[None]:
    """Take neartag's own errors, which say what is wrong in a line, as a right answer; all others are failures."""
    try:
        yield
    except NeartagError as error:
        text = str(error)
        if not text or "\n" in text.strip():
            raise BrokenPromiseError(f"the error is not one line: {text!r:.300}") from error

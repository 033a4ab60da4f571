"""The errors that a user can act on. Each says what is wrong, where, and what to do.

The command line prints such an error as one line and exits with status 2. Any other exception is a bug in neartag and
keeps its traceback.
"""

from __future__ import annotations


class NeartagError(Exception):
    """An error that the user can correct; the base of the others. Its message is one line, whatever it quotes."""

    def __init__(self, message: str = "") -> None:
        super().__init__(" ".join(part.strip() for part in message.splitlines() if part.strip()))


class ParameterError(NeartagError, ValueError):
    """A parameter or argument that cannot be used; the message has its name and value."""


class DataError(NeartagError, ValueError):
    """A file or array with wrong content; the message has the file and line where they are known."""


class ModelError(NeartagError):
    """A model folder that is missing, damaged, or of a version that this neartag cannot read."""


class WorkError(NeartagError):
    """Work that could not be finished, for a reason outside of the program; what was done is kept."""

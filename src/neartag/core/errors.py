"""The errors that a person can act on: each says what was wrong, where, and what to do.

The command line prints them as one line and exits with status 2; anything else that is
raised is a bug in neartag and keeps its traceback.
"""

from __future__ import annotations


class NeartagError(Exception):
    """Anything that the user can put right."""


class ParameterError(NeartagError, ValueError):
    """A parameter or an argument that cannot be used, named with its value."""


class DataError(NeartagError, ValueError):
    """A file or an array whose content is not what it must be, with file and line where known."""


class ModelError(NeartagError):
    """A model folder that is missing, damaged, or of a version that cannot be read."""

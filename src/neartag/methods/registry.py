"""Every method by name: X1, the comparators (a folder each), and those of other packages, found by entry point.

A package registers a method of its own in its pyproject.toml; docs/adding-a-method.md shows one whole:

    [project.entry-points."neartag.methods"]
    toy = "toy_method:METHOD"
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from neartag.core.method import Method
from neartag.core.plugins import Plugins
from neartag.x1.method import METHOD as X1

# This module must stay light: the command line reads it for --help, and looks for no entry points until it must.
DEFAULT_METHOD = X1.name  # what is meant where no method is named


def check_method(given: Any) -> None:
    """Raise TypeError unless this is a method's record."""
    if not isinstance(given, Method):
        raise TypeError(f"a method is a record, neartag.core.method.Method, not {given!r}")


METHODS: Plugins[Method] = Plugins(
    what="method",
    package="neartag.comparators",
    attribute="METHOD",
    group="neartag.methods",
    name_of=attrgetter("name"),
    check=check_method,
    elsewhere=("neartag.x1.method",),
    place_of=attrgetter("place"),
)


def get(name: str = DEFAULT_METHOD) -> Method:
    """Return the method of this name, which may have dashes and capitals.

    ParameterError where there is none, and NeartagError where another package's cannot be used: in a line, with the
    package's name.
    """
    plain = name.strip().lower().replace("-", "_")
    own = METHODS.builtin()
    if plain in own:
        return own[plain]
    return METHODS.get(plain if plain in METHODS.names() else name)


def model_class(kind: str) -> Any:
    """Return the class of stored models of this kind, imported now; a kind is the name of a method."""
    return METHODS.get(kind).model_class()

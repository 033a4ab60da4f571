"""The class of what is stored, by its kind: of a model by the registry of methods, of an encoder by that of encoders.

A class is imported only when a folder asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from neartag.core.errors import ModelError, NeartagError, ParameterError
from neartag.core.version import __version__
from neartag.methods import registry


def model_class(kind: str) -> Any:
    """Return the class of models of this kind; ModelError where no method here has it."""
    return _find("kind", kind, registry.model_class, registry.METHODS.names)


def encoder_class(kind: str) -> Any:
    """Return the class of encoders of this kind; ModelError where there is none here."""
    from neartag.encoders.registry import ENCODERS

    return _find("kind of features", kind, ENCODERS.get, ENCODERS.names)


def _find(what: str, kind: str, get: Callable[[str], Any], names: Callable[[], Iterable[str]]) -> Any:
    try:
        return get(kind)
    except ParameterError:
        raise _unknown_kind_error(what, kind, names()) from None
    except NeartagError as error:  # the package that brings it is broken
        raise ModelError(str(error)) from error


def _unknown_kind_error(what: str, kind: str, names: Iterable[str]) -> ModelError:
    known = ", ".join(sorted(names))
    return ModelError(
        f"the {what} {kind!r} is unknown to neartag {__version__} (it knows {known}): upgrade neartag, or install the "
        "package that brings it"
    )

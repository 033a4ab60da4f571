"""What the files of a model folder hold, written and read: JSON, and checks, since anyone may have written a folder."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from neartag.core.errors import ModelError, ParameterError

REMEDY = "restore the folder from a copy, or train the model again"


def encode_json(value: Any, what: str, indent: int | None = None) -> bytes:
    """Return a value as JSON in UTF-8; ParameterError names what cannot be stored so."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=True, indent=indent, default=_as_python)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"{what} cannot be stored as JSON: {error}") from error
    return text.encode("utf-8", "surrogatepass")


def decode_json(content: bytes, path: Path) -> Any:
    """Return the value that the bytes of a file stand for; ModelError names the file."""
    try:
        return json.loads(content, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{path} is not readable as JSON ({error}): {REMEDY}") from error


@contextmanager
def report_damage(what: str, place: Path) -> Iterator[None]:
    """Raise ModelError, which says what cannot be read and where, for an error that damaged content causes."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, MemoryError) as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise ModelError(f"{place}: {what} cannot be read ({reason}): {REMEDY}") from error


def find_miscount(
    model: Any, label_names: Sequence[str] | None, point_names: Sequence[str] | None, texts: Sequence[str] | None
) -> str:
    """Return which names or texts are not as many as the model's labels or points; "" where all fit.

    A model that does not tell its numbers fits any.
    """
    for what, count_of, names in (
        ("label names", "labels", label_names),
        ("point names", "points", point_names),
        ("texts", "points", texts),
    ):
        count = getattr(model, f"n_{count_of}", None)
        if names is not None and count is not None and len(names) != count:
            return f"it has {len(names)} {what} for {count} {count_of}"
    return ""


def check_list_of_names(value: Any, path: Path) -> list[str]:
    """Return the names that a file holds; ModelError where they are no list of strings."""
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise ModelError(f"{path} is not a list of names: {REMEDY}")
    return value


def _as_python(value: Any) -> Any:
    """Return the Python number for a numpy one: settings often hold numpy's."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} is neither text, number, list nor object")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")

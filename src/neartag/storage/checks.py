"""Checks on what a model folder holds, since anyone may have written it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from neartag.core.errors import ModelError
from neartag.storage.json_content import REMEDY


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

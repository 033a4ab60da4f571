"""Readers, writers and makers of data: everything that turns files into a Dataset."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from neartag.data.dataset import Dataset
    from neartag.data.formats import convert, read, write
    from neartag.data.registry import load

__all__ = ["Dataset", "convert", "load", "read", "write"]

_HOMES = {
    "Dataset": "neartag.data.dataset",
    "convert": "neartag.data.formats",
    "load": "neartag.data.registry",
    "read": "neartag.data.formats",
    "write": "neartag.data.formats",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'neartag.data' has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names before they are imported."""
    return sorted([*globals(), *__all__])

"""Data sets: read from files, downloaded, made up or embedded; every way ends in a Dataset or in Documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neartag.core.lazy import lazy_names

if TYPE_CHECKING:
    from neartag.data import debian, documents, formats, registry, synthetic
    from neartag.data.dataset import Dataset
    from neartag.data.formats import convert, read, write
    from neartag.data.registry import load

__all__ = [
    "Dataset",
    "convert",
    "debian",
    "documents",
    "formats",
    "load",
    "read",
    "registry",
    "synthetic",
    "write",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {"Dataset": "dataset", "convert": "formats", "load": "registry", "read": "formats", "write": "formats"},
    modules=("debian", "documents", "formats", "registry", "synthetic"),
)

"""Data sets by name: found in the data folder, unpacked, loaded; downloaded where an address is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neartag.core.lazy import lazy_names

if TYPE_CHECKING:
    from neartag.data.registry.folders import cache_folder, data_folder
    from neartag.data.registry.lookup import find, is_here, load, load_text, names, text_file

__all__ = ["cache_folder", "data_folder", "find", "is_here", "load", "load_text", "names", "text_file"]

__getattr__, __dir__ = lazy_names(
    __name__, {**dict.fromkeys(__all__, "lookup"), "cache_folder": "folders", "data_folder": "folders"}
)

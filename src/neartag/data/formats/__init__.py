"""Files of feature and label rows: the XMC text format, .npz and JSON lines, chosen by the file's ending."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neartag.core.lazy import lazy_names

if TYPE_CHECKING:
    from neartag.data.formats.by_ending import FORMATS, convert, is_data_file, read, write

__all__ = ["FORMATS", "convert", "is_data_file", "read", "write"]

__getattr__, __dir__ = lazy_names(__name__, dict.fromkeys(__all__, "by_ending"))

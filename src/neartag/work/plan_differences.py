"""Where two plans differ, in words: who goes on with a work folder must want what it was made for."""

from __future__ import annotations

import json
from typing import Any


def find_differences(there: Any, wanted: Any, name: str = "") -> list[str]:
    """Return in words where two plans differ, as JSON holds them."""
    if isinstance(there, dict) and isinstance(wanted, dict):
        lists = [
            find_differences(there.get(key), wanted.get(key), key)
            for key in sorted(there.keys() | wanted.keys(), key=str)
        ]
        return [difference for each in lists for difference in each]
    return [] if there == wanted else [f"{name} was {_shorten(there)} there, and is {_shorten(wanted)} now"]


def _shorten(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else text[:12] + '…"'

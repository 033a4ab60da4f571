"""Text that a model card can hold safely: YAML for its head, Markdown for its body. Names come from anyone's data."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

_MARKS = re.compile(r"([\\`*_\[\]<>&|#~!])")


def clean(text: str) -> str:
    """Return a text in one line, without characters that YAML or a terminal would stumble over.

    >>> clean("a\\nb\\x00")
    'a b'
    """
    return " ".join("".join(each if each.isprintable() else " " for each in text).split())


def escape(text: str) -> str:
    r"""Return a text from outside as Markdown that shows it and does nothing else.

    >>> escape("<b> [x](y)")
    '\\<b\\> \\[x\\](y)'
    """
    return _MARKS.sub(r"\\\1", clean(text))


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], numbers: int = 1) -> str:
    """Return a table of cells in Markdown; the last `numbers` columns are aligned to the right."""
    words = len(headings) - numbers
    rule = ["---" if column < words else "---:" for column in range(len(headings))]
    return "\n".join(f"| {' | '.join(row)} |" for row in (headings, rule, *rows))


def front_matter(values: dict[str, Any]) -> str:
    """Return values as the YAML between two lines of dashes with which a card begins.

    >>> print(front_matter({"tags": ["a: b", "c"], "model": {"name": "m"}}))
    ---
    tags:
    - "a: b"
    - "c"
    model:
      name: "m"
    ---
    """
    return "\n".join(["---", *_lines(values), "---"])


def _lines(value: Any) -> list[str]:
    """Return the lines of a value; a scalar of JSON is one of YAML too."""
    if isinstance(value, dict):
        return [line for key, each in value.items() for line in _entry(key, each)]
    if isinstance(value, list):
        return [
            ("  " if number else "- ") + line for each in value for number, line in enumerate(_lines(each) or ["{}"])
        ]
    scalar = clean(value) if isinstance(value, str) else value
    return [json.dumps(scalar, ensure_ascii=False, allow_nan=False)]


def _entry(key: str, value: Any) -> list[str]:
    below = _lines(value)
    if not isinstance(value, (dict, list)):
        return [f"{key}: {below[0]}"]
    if not value:
        return [f"{key}: {'{}' if isinstance(value, dict) else '[]'}"]
    return [f"{key}:", *(f"  {line}" if isinstance(value, dict) else line for line in below)]

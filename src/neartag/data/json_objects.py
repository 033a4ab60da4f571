"""One JSON object per line: how a line is parsed, and how errors speak about its fields."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from neartag.data.files import line_error, read_lines

_REMEDY = "each line must be one JSON object, in UTF-8"
_JSON_TYPES = {
    dict: "object",
    list: "array",
    str: "string",
    int: "number",
    float: "number",
    bool: "boolean",
    type(None): "null",
}


def read_objects(path: Path | str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number of each line and its object; empty lines are skipped."""
    for number, line in read_lines(path):
        if line.strip():
            yield number, parse_object(path, number, line)


def parse_object(path: Path | str, number: int, line: bytes) -> dict[str, Any]:
    """Return the object in a line; a byte order mark may stand before the first line."""
    try:
        text = line.decode("utf-8-sig" if number == 1 else "utf-8")
        value = json.loads(text, object_pairs_hook=_refuse_repeats)
    except (ValueError, RecursionError) as error:
        raise line_error(path, number, f"cannot be read as JSON ({error})", _REMEDY) from error
    if not isinstance(value, dict):
        raise line_error(path, number, f"is a JSON {json_type(value)}", _REMEDY)
    return value


def json_type(value: object) -> str:
    """Return the JSON name of a value's type."""
    return _JSON_TYPES.get(type(value), "value")


def describe_field(record: dict[str, Any], field: str) -> str:
    """Say what an object has in a field, for an error message."""
    return f"{field!r} is a JSON {json_type(record[field])}" if field in record else f"there is no {field!r}"


def _refuse_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the fields of an object; of two equal ones the json module would keep the last without a word."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise ValueError(f"{key!r} occurs twice in one object")
            seen.add(key)
    return fields

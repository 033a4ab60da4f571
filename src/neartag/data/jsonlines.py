"""One JSON object a line, with the file and line of what is not one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from neartag.data.files import fault, read_lines

_REMEDY = "each line must be one JSON object, in UTF-8"


def objects(path: Path | str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield each line's number and its object; empty lines are passed over, compression is by ending."""
    for number, line in read_lines(path):
        if not line.strip():
            continue
        try:
            value = json.loads(line.decode(), object_pairs_hook=_without_repeats)
        except (ValueError, RecursionError) as error:
            raise fault(path, number, f"cannot be read as JSON ({error})", _REMEDY) from error
        if not isinstance(value, dict):
            raise fault(path, number, f"is a JSON {kind(value)}", _REMEDY)
        yield number, value


def kind(value: object) -> str:
    """Return what JSON calls a value."""
    return _KINDS.get(type(value), "value")


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object's fields; JSON would silently keep the last of two alike."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"{next(key for key in keys if keys.count(key) > 1)!r} occurs twice in one object")
    return fields


_KINDS = {
    dict: "object",
    list: "array",
    str: "string",
    int: "number",
    float: "number",
    bool: "boolean",
    type(None): "null",
}

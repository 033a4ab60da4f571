"""JSON as the files of a model folder have it: UTF-8, keys sorted, numbers that JSON knows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from neartag.core.errors import ModelError, ParameterError

REMEDY = "restore the folder from a copy or save the model again"


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


def _as_python(value: Any) -> Any:
    """Return the Python number for a numpy one: settings often hold numpy's."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} is neither text, number, list nor object")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")

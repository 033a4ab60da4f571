"""Lines of XMC text into rows: the kernel parses them; what it cannot settle, and its errors, are handled here."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

import numpy as np

from neartag.core.errors import DataError
from neartag.data.files import line_error, quote

_TOKEN = re.compile(rb"[^ \t\r\n]*")
_UNSURE_ROOM = 4096  # values to be read exactly: about one in ten million, so one round is almost always enough


class Header(NamedTuple):
    """The numbers in a file's first line."""

    points: int
    features: int
    labels: int


class RowBlock(NamedTuple):
    """The rows of a block of lines: ids and values, and where those of each row end."""

    label_ends: np.ndarray
    label_ids: np.ndarray
    feature_ends: np.ndarray
    feature_ids: np.ndarray
    values: np.ndarray


def parse_block(block: bytes, lines: int, first_line: int, header: Header, path: Path) -> RowBlock:
    """Return the rows in a block of whole lines, the first of which has the given number."""
    from neartag.data.formats.xmc_kernels import FINE, TOO_LARGE, parse_rows  # numba imports slowly

    _, features, labels = header
    label_pointers, feature_pointers = np.zeros((2, lines + 1), dtype=np.int64)
    # There cannot be more labels than commas and lines, nor more pairs than colons: one pass over the text is enough.
    label_ids = np.empty(block.count(b",") + lines, dtype=np.int32)
    feature_ids = np.empty(block.count(b":"), dtype=np.int32)
    values = np.empty(feature_ids.size, dtype=np.float32)
    buffer = np.frombuffer(block, dtype=np.uint8)
    unsure_count, unsure = _UNSURE_ROOM, np.empty((0, 2), dtype=np.int64)
    while unsure_count > len(unsure):
        unsure = np.empty((unsure_count, 2), dtype=np.int64)
        problem, position, label_count, pair_count, unsure_count = parse_rows(
            buffer, 0, features, labels, label_pointers, label_ids, feature_pointers, feature_ids, values, unsure
        )
        if problem != FINE:
            raise _token_error(block, problem, position, first_line, header, path)
    for slot, position in unsure[:unsure_count].tolist():
        values[slot] = nearest_float32(_token_at(block, position).decode())
        if np.isinf(values[slot]):
            raise _token_error(block, TOO_LARGE, position, first_line, header, path)
    return RowBlock(
        label_pointers[1:], label_ids[:label_count], feature_pointers[1:], feature_ids[:pair_count], values[:pair_count]
    )


def nearest_float32(text: str) -> np.float32:
    """Return the float32 nearest to a decimal number, infinity if it is too large.

    Through a double the number is rounded twice, which goes wrong where the double lies exactly between two float32.
    """
    double = float(text)
    with np.errstate(over="ignore"):
        single = np.float32(double)
        other = np.float32(2 * double - float(single))  # the other neighbour, if the double lies exactly between
    halfway = float(single) != double and float(single) + float(other) == 2 * double
    if not halfway or not np.isfinite(single):
        return single
    exact, middle = Decimal(text), Decimal(double)
    if exact == middle:
        return single
    return max(single, other) if exact > middle else min(single, other)


def _token_error(block: bytes, problem: int, position: int, first_line: int, header: Header, path: Path) -> DataError:
    """Return the error for the token at the position where the kernel stopped."""
    from neartag.data.formats import xmc_kernels as kernels

    if problem == kernels.BAD_LABEL:
        position = block.rfind(b"\n", 0, position) + 1  # the whole list of labels says more than its end
    token = _token_at(block, position)
    quoted = quote(token)
    label_remedy = "labels are separated by commas, and a point without labels begins with a space"
    pair_remedy = "write features as id:value, separated by spaces"
    message, remedy = {
        kernels.BAD_LABEL: (f"expected labels, found {quoted}", label_remedy),
        kernels.LABEL_RANGE: (
            f"label {quote(token.partition(b',')[0])} is not below {header.labels}",
            "correct it or the header",
        ),
        kernels.BAD_FEATURE: (f"expected a feature, found {quoted}", pair_remedy),
        kernels.FEATURE_RANGE: (
            f"feature {quote(token.partition(b':')[0])} is not below {header.features}",
            "correct it or the header",
        ),
        kernels.BAD_VALUE: (f"the value in {quoted} is not a finite number", pair_remedy),
        kernels.TOO_LARGE: (f"the value {quoted} does not fit into float32", "scale the features"),
    }[problem]
    return line_error(path, first_line + block.count(b"\n", 0, position), message, remedy)


def _token_at(block: bytes, position: int) -> bytes:
    """Return the bytes from a position to the next blank or line end."""
    match = _TOKEN.match(block, position)
    return match.group() if match else b""

"""Arrays in safetensors files: written piece by piece, and memory-mapped from disk. Nothing is copied, no code is run.

The format is 8 bytes of header length (little-endian), a JSON header, then the arrays' bytes end to end. It is written
and read here because the safetensors library copies every array in memory.
"""

from __future__ import annotations

import json
import math
import mmap
import struct
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

import numpy as np

from neartag.core.errors import ModelError
from neartag.core.mapped_files import map_file

# The types that arrays may have, by safetensors' names; all little-endian, as the format demands. A file has its arrays
# in this order, as the safetensors library writes them: wide types first, so that all are aligned.
TYPES = {
    name: np.dtype(code)
    for name, code in {
        "U64": "<u8",
        "I64": "<i8",
        "F64": "<f8",
        "F32": "<f4",
        "U32": "<u4",
        "I32": "<i4",
        "F16": "<f2",
        "U16": "<u2",
        "I16": "<i2",
        "I8": "<i1",
        "U8": "<u1",
        "BOOL": "?",
    }.items()
}
NAMES = {dtype: name for name, dtype in TYPES.items()}
MAX_HEADER_BYTES = 100_000_000  # safetensors' own limit
MAX_DIMENSIONS = 32  # numpy 1's
HEADER_LENGTH = struct.Struct("<Q")
ALIGNMENT = 8  # bytes, of the widest type
RESERVED_NAME = "__metadata__"
PIECE_BYTES = 2**20  # about so many are written at a time


def pack(arrays: Mapping[str, np.ndarray], what: str) -> Iterator[bytes | memoryview]:
    """Yield the content of one safetensors file piece by piece; the same arrays give the same bytes.

    No array is copied whole: a model may take most of the memory there is. `what` names the file in an error.
    """
    arrays = {name: np.asarray(array) for name, array in arrays.items()}
    kinds = {}
    for name, array in arrays.items():
        dtype = array.dtype.newbyteorder("<")
        if name == RESERVED_NAME or dtype not in NAMES:
            raise ModelError(f"{what}: the array {name!r} of type {array.dtype} cannot be stored")
        kinds[name] = dtype
    types = list(NAMES)
    order = sorted(arrays, key=lambda name: (types.index(kinds[name]), name))
    header, end = {}, 0
    for name in order:
        begin, end = end, end + arrays[name].nbytes
        header[name] = {"dtype": NAMES[kinds[name]], "shape": arrays[name].shape, "data_offsets": [begin, end]}
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % ALIGNMENT)
    yield HEADER_LENGTH.pack(len(text)) + text
    for name in order:
        yield from _pieces(arrays[name], kinds[name])


def _pieces(array: np.ndarray, dtype: np.dtype) -> Iterator[memoryview]:
    """Yield an array's bytes in C order; an array in another order is copied, some rows at a time."""
    rows = array.reshape(-1) if array.flags.c_contiguous else array
    step = max(1, PIECE_BYTES * len(rows) // max(1, rows.nbytes))
    for start in range(0, len(rows), step):
        block = np.ascontiguousarray(rows[start : start + step], dtype)
        yield block.reshape(-1).view(np.uint8).data


def map_arrays(handle: BinaryIO, what: str, *, after: int = 0) -> dict[str, np.ndarray]:
    """Return the arrays of an open safetensors file by name: read-only, and read from disk only where they are used.

    So many bytes that follow `after` the arrays are somebody else's.
    """
    nbytes = handle.seek(0, 2)
    if nbytes < HEADER_LENGTH.size + after:
        raise _damage_error(what, "it is too short")
    whole = map_file(handle.fileno(), nbytes, mmap.ACCESS_READ)
    content = np.frombuffer(whole, np.uint8, nbytes - after)
    (length,) = HEADER_LENGTH.unpack(content[: HEADER_LENGTH.size].tobytes())
    start = HEADER_LENGTH.size + length
    if length > MAX_HEADER_BYTES or start > content.size:
        raise _damage_error(what, f"its header claims {length} bytes")
    try:
        header = json.loads(content[HEADER_LENGTH.size : start].tobytes())
    except (ValueError, RecursionError) as error:
        raise _damage_error(what, "its header is not JSON") from error
    if not isinstance(header, dict):
        raise _damage_error(what, "its header is not a JSON object")
    header.pop(RESERVED_NAME, None)

    size = content.size - start
    layout = {name: _read_entry(entry, name, what) for name, entry in header.items()}
    end = 0
    # Arrays lie end to end; anything else would be an overlap or bytes that belong to nothing.
    for begin, stop in sorted((begin, stop) for _, _, begin, stop in layout.values()):
        if begin != end:
            raise _damage_error(what, "its arrays overlap or leave gaps")
        end = stop
    if end != size:
        raise _damage_error(what, f"its arrays take {end} bytes of {size}")
    return {name: _view(whole, start, *place, name, what) for name, place in layout.items()}


def _read_entry(entry: Any, name: str, what: str) -> tuple[np.dtype, tuple[int, ...], int, int]:
    """Return an array's type, shape, and first and last byte, all checked against each other."""
    entry = entry if isinstance(entry, dict) else {}
    kind, shape, offsets = entry.get("dtype"), entry.get("shape"), entry.get("data_offsets")
    if not isinstance(kind, str) or kind not in TYPES:
        raise _damage_error(what, f"its array {name!r} has the unknown type {kind!r}")
    if not _are_sizes(shape) or len(shape) > MAX_DIMENSIONS or not _are_sizes(offsets) or len(offsets) != 2:
        raise _damage_error(what, f"its array {name!r} has no proper shape and offsets")
    begin, stop = offsets
    if stop - begin != math.prod(shape) * TYPES[kind].itemsize:
        raise _damage_error(what, f"its array {name!r} has {stop - begin} bytes, which is not what its shape needs")
    return TYPES[kind], tuple(shape), begin, stop


def _are_sizes(value: Any) -> bool:
    return isinstance(value, list) and all(type(size) is int and size >= 0 for size in value)


def _view(
    whole: mmap.mmap, start: int, dtype: np.dtype, shape: tuple[int, ...], begin: int, stop: int, name: str, what: str
) -> np.ndarray:
    # Compiled kernels need aligned arrays; what safetensors writes always is aligned.
    if (start + begin) % dtype.itemsize and stop > begin:
        raise _damage_error(what, f"its array {name!r} is not aligned")
    try:
        # A plain array over the map, and not a part of a larger array: scipy copies such parts where it likes.
        count = (stop - begin) // dtype.itemsize
        if not count:
            return np.frombuffer(whole, np.uint8)[:0].view(dtype).reshape(shape)
        return np.frombuffer(whole, dtype, count, start + begin).reshape(shape)
    except (ValueError, OverflowError) as error:  # an empty array with a side that numpy cannot count
        raise _damage_error(what, f"its array {name!r} has the impossible shape {shape}") from error


def _damage_error(what: str, reason: str) -> ModelError:
    return ModelError(f"{what} is damaged, {reason}: restore the model folder from a copy, or train the model again")

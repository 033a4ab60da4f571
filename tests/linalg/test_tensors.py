"""Arrays to safetensors bytes and back by memory map; whatever the bytes, arrays inside the file or a ModelError."""

from __future__ import annotations

import json
import os
import struct
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load as safetensors_load
from safetensors.numpy import load_file

from neartag.core.errors import ModelError
from neartag.data.mapped import mapped_bytes
from neartag.linalg.tensors import TYPES, map_arrays, pack


def packed(arrays, what: str) -> bytes:
    return b"".join(pack(arrays, what))


def mapped(path, content: bytes) -> dict[str, np.ndarray]:
    path.write_bytes(content)
    with path.open("rb") as handle:
        return map_arrays(handle, path.name)


def with_header(header: object, body: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + body


ARRAYS = {
    "matrix": np.arange(12, dtype=np.float32).reshape(3, 4),
    "number": np.array(2.5),
    "flags": np.array([True, False, True]),
    "none": np.zeros((0, 5), np.int64),
    "bytes": np.arange(7, dtype=np.uint8),
    "weiß": np.arange(3, dtype=np.int16),
}


def test_round_trip(tmp_path):
    content = packed(ARRAYS, "arrays")
    back = mapped(tmp_path / "a.safetensors", content)
    theirs = safetensors_load(content)
    assert back.keys() == ARRAYS.keys() == theirs.keys()
    for name, array in ARRAYS.items():
        for other in (back[name], theirs[name]):
            assert other.dtype == array.dtype
            assert other.shape == array.shape
            np.testing.assert_array_equal(other, array)


@pytest.mark.parametrize("dtype", sorted({str(dtype) for dtype in TYPES.values()}))
def test_every_type_round_trips(tmp_path, dtype):
    array = np.array([[0, 1], [1, 0]]).astype(dtype)
    back = mapped(tmp_path / "a.safetensors", packed({"array": array}, "arrays"))["array"]
    assert back.dtype == array.dtype
    np.testing.assert_array_equal(back, array)


def test_arrays_are_mapped_and_read_only(tmp_path):
    for name, array in mapped(tmp_path / "a.safetensors", packed(ARRAYS, "arrays")).items():
        assert mapped_bytes(array) == array.nbytes, name
        assert type(array) is np.ndarray
        assert array.flags.aligned
        assert not array.flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def test_any_layout_in_memory_gives_the_same_bytes():
    straight = np.arange(12, dtype=np.int32).reshape(3, 4)
    for other in (np.asfortranarray(straight), straight.astype(">i4"), np.repeat(straight, 2, axis=0)[::2]):
        assert packed({"array": other}, "arrays") == packed({"array": straight}, "arrays")
    one, two = np.zeros(2), np.ones(3)
    assert packed({"one": one, "two": two}, "arrays") == packed({"two": two, "one": one}, "arrays")


def test_the_bytes_are_those_of_the_format():
    # Wide types first, so that every array is aligned, then by name; the header is filled up to eight bytes.
    arrays = {
        "b": np.array([1, 2], np.uint8),
        "a": np.array([True]),
        "c": np.array([[1.5]]),
        "d": np.zeros(0, np.int64),
    }
    header = (
        b'{"d":{"dtype":"I64","shape":[0],"data_offsets":[0,0]},'
        b'"c":{"dtype":"F64","shape":[1,1],"data_offsets":[0,8]},'
        b'"b":{"dtype":"U8","shape":[2],"data_offsets":[8,10]},'
        b'"a":{"dtype":"BOOL","shape":[1],"data_offsets":[10,11]}}'
    )
    header += b" " * (-len(header) % 8)
    body = np.array([1.5]).tobytes() + bytes([1, 2, 1])
    assert packed(arrays, "arrays") == struct.pack("<Q", len(header)) + header + body


shapes = st.lists(st.integers(0, 4), max_size=3).map(tuple)
kinds = st.sampled_from(sorted(str(dtype) for dtype in TYPES.values()))
named = st.dictionaries(st.text(max_size=4).filter(lambda name: name != "__metadata__"), st.tuples(kinds, shapes))


@settings(max_examples=150, deadline=None)
@given(named, st.booleans(), st.randoms(use_true_random=False))
def test_any_arrays_are_read_back_by_safetensors_and_by_us(tmp_path_factory, wanted, turned, random):
    path = tmp_path_factory.getbasetemp() / "theirs.safetensors"
    arrays = {}
    for name, (kind, shape) in wanted.items():
        values = np.array([random.randrange(2) for _ in range(int(np.prod(shape)))]).astype(kind).reshape(shape)
        arrays[name] = np.asfortranarray(values) if turned else values
    ours = mapped(path, packed(arrays, "arrays"))
    for found in (load_file(path), ours):
        assert found.keys() == arrays.keys()
        for name, array in arrays.items():
            assert found[name].dtype == array.dtype
            assert found[name].shape == array.shape
            np.testing.assert_array_equal(found[name], array)


@pytest.mark.parametrize("shape", [(2**21,), (1, 2**21), (2**21, 1), (2**10, 2**11)])
@pytest.mark.parametrize("turned", [False, True])
def test_packing_takes_no_memory_of_the_arrays_size(shape, turned):
    array = np.zeros(shape, np.float64)  # 16 MB
    array = np.asfortranarray(array) if turned else array
    length = 0
    tracemalloc.start()
    for piece in pack({"array": array}, "arrays"):
        length += len(piece)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert length > array.nbytes
    assert peak < 3e6


def test_no_arrays(tmp_path):
    assert mapped(tmp_path / "a.safetensors", packed({}, "arrays")) == {}


@pytest.mark.parametrize("array", [np.array(["text"]), np.array([object()]), np.zeros(2, complex)])
def test_what_cannot_be_stored_is_named(array):
    with pytest.raises(ModelError, match="part: the array 'values' of type"):
        packed({"values": array}, "part")
    with pytest.raises(ModelError, match="__metadata__"):
        packed({"__metadata__": np.zeros(2)}, "part")


def entry(dtype="F32", shape=(2,), offsets=(0, 8)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x00" * 7,
        struct.pack("<Q", 2**63) + b"{}",
        struct.pack("<Q", 9) + b"{}",
        with_header(b"not JSON"),
        with_header(b"\xff\xfe\x00"),
        with_header(b"[" * 100_000),
        with_header([]),
        with_header({"a": 3}),
        with_header({"a": entry(dtype="F33")}, b"\0" * 8),
        with_header({"a": entry(dtype=["F32"])}, b"\0" * 8),
        with_header({"a": entry(shape=(3,))}, b"\0" * 8),
        with_header({"a": entry(shape=(-2,), offsets=(8, 0))}, b"\0" * 8),
        with_header({"a": entry(shape=(True, 2))}, b"\0" * 8),
        with_header({"a": entry(shape=(2.0,))}, b"\0" * 8),
        with_header({"a": entry(shape=[1] * 40 + [2])}, b"\0" * 8),
        with_header({"a": entry(shape=(0, 2**70), offsets=(0, 0))}),
        with_header({"a": entry(shape=(0, 2**62, 2**62), offsets=(0, 0))}),
        with_header({"a": entry(shape=(2**61,), offsets=(0, 2**63))}, b"\0" * 8),
        with_header({"a": entry(offsets=(8, 16))}, b"\0" * 8),
        with_header({"a": entry(offsets=(0, 8, 9))}, b"\0" * 8),
        with_header({"a": entry()}, b"\0" * 7),
        with_header({"a": entry()}, b"\0" * 9),
        with_header({"a": entry(), "b": entry()}, b"\0" * 8),
        with_header({"a": entry(), "b": entry(offsets=(4, 12))}, b"\0" * 12),
        with_header({"a": entry(), "b": entry(offsets=(9, 17))}, b"\0" * 17),
        with_header({"a": entry("U8", (1,), (0, 1)), "b": entry(offsets=(1, 9))}, b"\0" * 9),
    ],
)
def test_damaged_files_are_refused(tmp_path, content):
    with pytest.raises(ModelError, match=r"a\.safetensors is damaged") as caught:
        mapped(tmp_path / "a.safetensors", content)
    assert "\n" not in str(caught.value)


sides = st.one_of(st.integers(-1, 4), st.integers(0, 2**65), st.booleans(), st.floats(allow_nan=False))
entries = st.fixed_dictionaries(
    {
        "dtype": st.sampled_from([*TYPES, "F8", None]),
        "shape": st.lists(sides, max_size=3),
        "data_offsets": st.lists(st.one_of(st.integers(0, 24), sides), min_size=2, max_size=2),
    }
)
headers = st.one_of(st.binary(max_size=40), st.dictionaries(st.text(max_size=3), entries, max_size=3))


@settings(max_examples=300, deadline=None)
@given(headers, st.binary(max_size=24))
def test_any_header_gives_arrays_inside_the_file_or_a_model_error(tmp_path_factory, header, body):
    path = tmp_path_factory.getbasetemp() / "any.safetensors"
    try:
        arrays = mapped(path, with_header(header, body))
    except ModelError:
        return
    assert sum(array.nbytes for array in arrays.values()) == len(body)
    for array in arrays.values():
        array.tobytes()  # touches every byte


def test_any_changed_header_byte_gives_arrays_inside_the_file_or_a_model_error(tmp_path):
    content = packed(ARRAYS, "arrays")
    body = len(content) - 8 - struct.unpack("<Q", content[:8])[0]
    for position in range(len(content) - body):
        changed = bytearray(content)
        changed[position] ^= 1
        try:
            arrays = mapped(tmp_path / "a.safetensors", bytes(changed))
        except ModelError:
            continue
        assert sum(array.nbytes for array in arrays.values()) == body


def test_arrays_outlive_the_handle_and_the_name(tmp_path):
    # The handle may be closed, and the file removed, once its arrays are mapped.
    path = tmp_path / "a.safetensors"
    arrays = mapped(path, packed(ARRAYS, "arrays"))
    if os.name == "posix":
        path.unlink()
    np.testing.assert_array_equal(arrays["matrix"], ARRAYS["matrix"])

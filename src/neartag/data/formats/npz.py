"""Data sets as numpy's .npz: read in a fraction of the time that text takes, and without running code.

Arrays: `X_values`, `X_ids`, `X_pointers`, `X_shape` and `Y_ids`, `Y_pointers`, `Y_shape`, the parts of two CSR
matrices. Where there are names: `label_names`, `feature_names`, `point_names`, each a JSON list as UTF-8 bytes, which
keeps any text and stays short where one name is long; or an array of strings.
"""

from __future__ import annotations

import json
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from neartag.core.errors import DataError
from neartag.data.dataset import MAX_ID, Dataset, feature_rows, label_rows, make_rows, sort_and_find_repeated
from neartag.data.files import open_to_read, open_to_replace, split_ending
from neartag.data.formats.names import Names
from neartag.data.mapped import SpillableArray, SpillableArrays
from neartag.data.read_limits import check_members

_KEYS = ("X_values", "X_ids", "X_pointers", "X_shape", "Y_ids", "Y_pointers", "Y_shape")
_LARGE_KEYS = ("X_values", "X_ids", "Y_ids")
_CHUNK_BYTES = 1 << 22  # of these, read at a time
_NAME_KEYS = ("label_names", "feature_names", "point_names")
# What numpy and zipfile raise for bytes that are damaged or something else.
DAMAGE_ERRORS = (
    ValueError,
    TypeError,
    OverflowError,
    KeyError,
    EOFError,
    NotImplementedError,
    RuntimeError,
    MemoryError,
    SyntaxError,
    struct.error,
    tokenize.TokenError,
    zlib.error,
    zipfile.BadZipFile,
)


def read_npz(path: Path | str, *, name: str | None = None, map_from: int | None = None) -> Dataset:
    """Return the data set in an .npz file that `write_npz` wrote, or that has the same arrays.

    Parameters
    ----------
    path : Path or str
    name : str, optional
        Name of the data set; by default the file's name without its ending.
    map_from : int, optional
        Rows that take more bytes than this are kept in mapped temporary files, as by `read_xmc`.

    Returns
    -------
    Dataset

    Raises
    ------
    DataError
        If the file is missing, damaged, or its arrays do not fit together.
    """
    arrays = _read_arrays(path, SpillableArrays(path, map_from))
    missing = [key for key in _KEYS if key not in arrays]
    if missing:
        there = ", ".join(sorted(arrays)) or "nothing"
        raise DataError(f"{path}: lacks {', '.join(missing)} (found: {there}); write it with write_npz or convert")
    X = _check_rows(arrays, "X", path)
    repeated = sort_and_find_repeated(X)
    if repeated is not None:
        raise DataError(f"{path}: row {repeated} of X has a feature more than once; give each feature one value")
    Y = _check_rows(arrays, "Y", path)
    names: Names = {
        "label_names": _parse_names(arrays, "label_names", path),
        "feature_names": _parse_names(arrays, "feature_names", path),
        "point_names": _parse_names(arrays, "point_names", path),
    }
    return Dataset(X=feature_rows(X, str(path)), Y=label_rows(Y), name=name or split_ending(path)[0], **names)


def write_npz(dataset: Dataset, path: Path | str) -> None:
    """Write a data set as one .npz file, uncompressed, so that it is read as fast as the disk allows."""
    X, Y = feature_rows(dataset.X, dataset.name), label_rows(dataset.Y)
    arrays: dict[str, Any] = {
        "X_values": X.data,
        "X_ids": X.indices,
        "X_pointers": X.indptr,
        "X_shape": np.array(X.shape, dtype=np.int64),
        "Y_ids": Y.indices,
        "Y_pointers": Y.indptr,
        "Y_shape": np.array(Y.shape, dtype=np.int64),
    }
    for key in _NAME_KEYS:
        names = getattr(dataset, key)
        if names is not None:
            arrays[key] = np.frombuffer(json.dumps(names).encode(), dtype=np.uint8)
    with open_to_replace(path) as stream:
        np.savez(stream, **arrays)


def _read_arrays(path: Path | str, large: SpillableArrays) -> dict[str, np.ndarray]:
    with open_to_read(path) as stream:
        try:
            archive = np.load(stream, allow_pickle=False)
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise DataError(
                    f"{path}: is a single array, not an .npz of several; write it with write_npz or convert"
                )
            with archive:
                check_members(path, _zip_of(archive))
                wanted = [key for key in archive.files if key in _KEYS + _NAME_KEYS]
                spilled = _LARGE_KEYS if _large_bytes(archive) > large.map_from else ()
                arrays = {key: _read_spilled(archive, key, large) if key in spilled else archive[key] for key in wanted}
        except DataError:
            raise
        except DAMAGE_ERRORS as error:
            raise DataError(f"{path}: is damaged or not an .npz file ({error})") from error
    return {key: array for key, array in arrays.items() if isinstance(array, np.ndarray)}  # others are not numpy's


def _large_bytes(archive: np.lib.npyio.NpzFile) -> int:
    files = {f"{key}.npy" for key in _LARGE_KEYS}
    return sum(member.file_size for member in _zip_of(archive).infolist() if member.filename in files)


def _zip_of(archive: np.lib.npyio.NpzFile) -> zipfile.ZipFile:
    assert archive.zip is not None  # it is None only after closing
    return archive.zip


def _read_spilled(archive: np.lib.npyio.NpzFile, key: str, large: SpillableArrays) -> np.ndarray:
    """Return an array that was put into a file of its own: inside the archive it is not aligned, so not mappable."""
    with _zip_of(archive).open(f"{key}.npy") as member:
        version = np.lib.format.read_magic(member)
        header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = header(member)
        if len(shape) != 1 or dtype.kind not in "iuf" or _CHUNK_BYTES % dtype.itemsize:
            return archive[key]  # to be refused later
        array: SpillableArray = large.new(dtype)
        array.spill()
        while chunk := member.read(_CHUNK_BYTES):
            array.append(np.frombuffer(chunk, dtype))
    numbers = array.finish()
    if numbers.size != shape[0]:
        raise ValueError(f"{key} has {numbers.size} numbers instead of {shape[0]}")
    return numbers


def _check_rows(arrays: Mapping[str, np.ndarray], matrix: str, path: Path | str) -> csr_matrix:
    """Return a matrix from its arrays, which may come from anyone and so are checked completely."""
    ids, pointers, shape = (arrays[f"{matrix}_{part}"] for part in ("ids", "pointers", "shape"))
    for part, array in (("ids", ids), ("pointers", pointers), ("shape", shape)):
        if array.ndim != 1 or array.dtype.kind not in "iu":
            raise DataError(f"{path}: {matrix}_{part} must be a row of whole numbers, not {array.dtype} {array.shape}")
    values = arrays["X_values"] if matrix == "X" else np.ones(ids.size, dtype=np.float32)
    if values.ndim != 1 or values.dtype.kind not in "iuf" or values.size != ids.size:
        raise DataError(f"{path}: X_values must be one number for each of the {ids.size} X_ids")
    if shape.size != 2 or shape.min() < 0 or shape[1] > MAX_ID + 1 or int(shape[0]) + 1 != pointers.size:
        raise DataError(f"{path}: {matrix}_shape {shape.tolist()[:3]} does not fit {pointers.size} {matrix}_pointers")
    if pointers[0] != 0 or pointers[-1] != ids.size or bool(np.any(pointers[1:] < pointers[:-1])):
        raise DataError(f"{path}: {matrix}_pointers must rise from 0 to the number of {matrix}_ids, {ids.size}")
    if ids.size and not (ids.min() >= 0 and ids.max() < shape[1]):
        raise DataError(f"{path}: {matrix}_ids must be from 0 to {int(shape[1]) - 1}, found {ids.min()} to {ids.max()}")
    with np.errstate(over="ignore"):  # an infinity is reported later, with its point
        return make_rows(pointers.astype(np.int64), ids, values.astype(np.float32, copy=False), int(shape[1]))


def _parse_names(arrays: Mapping[str, np.ndarray], key: str, path: Path | str) -> list[str] | None:
    if key not in arrays:
        return None
    array = arrays[key]
    if array.dtype.kind == "U" and array.ndim == 1:
        return [str(name) for name in array]
    try:
        names = json.loads(array.astype(np.uint8, casting="no").tobytes())
    except (ValueError, TypeError, RecursionError) as error:
        raise DataError(f"{path}: {key} is neither strings nor a JSON list in bytes ({error})") from error
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise DataError(f"{path}: {key} must be a list of strings")
    return names

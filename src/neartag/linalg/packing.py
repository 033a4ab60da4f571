"""A model's arrays by name: rows put into them and taken out again, and checked.

Kernels do not check indices. So whatever points into another array is checked here, once, when a model is loaded: a
damaged or crafted folder must not make a kernel read out of bounds. A failed check is a ValueError, which the store
reports as a damaged model.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import csr_matrix

from neartag.core.parameters import MAX_COUNT
from neartag.linalg.coded_rows import CodedRows
from neartag.linalg.hybrid_rows import HybridRows
from neartag.linalg.quantization import TYPES, pack, unpack
from neartag.linalg.rows import Rows

BLOCK = 2**20  # values looked at together


def put_rows(arrays: dict[str, np.ndarray], name: str, rows: Rows, precision: str = "float32") -> None:
    """Put rows under a name into `arrays`; float16 and int8 rows with one scale per column.

    The vectors of hybrid rows are coded. Who goes on with the rows codes them before: `hybrid_rows.round_vectors`.
    """
    if isinstance(rows, HybridRows):
        put_rows(arrays, name, rows.words, precision)
        put_coded(arrays, f"{name}.vectors", CodedRows.encode(rows.vectors))
        return
    values = rows.data if sparse.issparse(rows) else rows
    if precision != "float32":
        values, arrays[f"{name}.scale"] = pack(rows, precision)
    if sparse.issparse(rows):
        arrays[f"{name}.indptr"] = rows.indptr.astype(np.int64, copy=False)
        arrays[f"{name}.indices"] = rows.indices.astype(np.int32, copy=False)
        arrays[f"{name}.data"] = values
        arrays[f"{name}.shape"] = np.array(rows.shape, np.int64)
    else:
        arrays[name] = values


def get_rows(arrays: dict[str, np.ndarray], name: str, precision: str = "float32") -> Rows:
    """Return as float32 the rows that `put_rows` put; memory maps of float32 are not copied."""
    if f"{name}.vectors.codes" in arrays:
        vectors = CodedRows(arrays[f"{name}.vectors.codes"], arrays[f"{name}.vectors.scales"])
        return HybridRows(_get_plain(arrays, name, precision), vectors.decode())
    return _get_plain(arrays, name, precision)


def _get_plain(arrays: dict[str, np.ndarray], name: str, precision: str) -> Rows:
    scale = arrays[f"{name}.scale"] if precision != "float32" else None
    if name in arrays:
        return arrays[name] if scale is None else unpack(arrays[name], scale)
    values, indices, indptr = (arrays[f"{name}.{piece}"] for piece in ("data", "indices", "indptr"))
    # One array after the other: scipy's constructor copies an array that is part of a larger one, as each map is.
    rows = csr_matrix(tuple(int(side) for side in arrays[f"{name}.shape"]), dtype=np.float32)
    rows.data = values if scale is None else unpack(values, scale, indices)
    rows.indices, rows.indptr = indices, indptr
    return rows


def put_coded(arrays: dict[str, np.ndarray], name: str, rows: CodedRows) -> None:
    """Put coded rows under a name into `arrays`."""
    arrays[f"{name}.codes"], arrays[f"{name}.scales"] = rows.codes, rows.scales


def get_coded(arrays: dict[str, np.ndarray], name: str, height: int, dim: int) -> CodedRows:
    """Return the rows that `put_coded` put; ValueError unless they have this shape and can be read safely."""
    codes, scales = arrays[f"{name}.codes"], arrays[f"{name}.scales"]
    require(codes.dtype == np.int8 and codes.shape == (height, dim), f"{name} is not int8 {height} × {dim}")
    fine = scales.dtype == np.float32 and scales.shape == (height,) and bool((np.isfinite(scales) & (scales > 0)).all())
    require(fine, f"{name} has not one scale a row")
    return CodedRows(codes, scales)


def read_count(settings: dict[str, Any], name: str) -> int:
    """Return a setting that must be a count: a whole number of at least 1."""
    value = settings[name]
    fine = type(value) is int and 1 <= value <= MAX_COUNT  # not isinstance: true is no number here
    require(fine, f"{name} is not a whole number from 1 to {MAX_COUNT}")
    return int(value)


def width_of(arrays: dict[str, np.ndarray], name: str) -> int:
    """Return the number of columns of dense or CSR rows."""
    shape = arrays[name].shape if name in arrays else arrays[f"{name}.shape"]
    require(len(shape) == 2, f"{name} is not a matrix")
    return int(shape[1])


def check_rows(arrays: dict[str, np.ndarray], name: str, height: int, width: int, precision: str = "float32") -> None:
    """Raise ValueError unless the rows of this name have this shape and can be read safely."""
    if f"{name}.vectors.codes" in arrays:
        codes = arrays[f"{name}.vectors.codes"]
        require(codes.ndim == 2 and codes.shape[1] < width, f"{name} has no room for words beside its vectors")
        get_coded(arrays, f"{name}.vectors", height, codes.shape[1])
        width -= codes.shape[1]
    dtype = TYPES[precision]
    if precision != "float32":
        scale = arrays[f"{name}.scale"]
        require(scale.dtype == np.float32 and scale.shape == (width,), f"{name} has not one float32 scale a column")
        require(bool((np.isfinite(scale) & (scale > 0)).all()), f"{name} has scales that are no sizes")
    if name in arrays:
        dense = arrays[name]
        fine = dense.dtype == dtype and dense.shape == (height, width)
        require(fine, f"{name} is not {precision} {height} × {width}")
        require(are_finite(dense), f"{name} has values that are no numbers")
        return
    shape = tuple(int(side) for side in arrays[f"{name}.shape"])
    require(shape == (height, width), f"{name} is {shape}, not {(height, width)}")
    indptr, indices, data = (arrays[f"{name}.{piece}"] for piece in ("indptr", "indices", "data"))
    check_pointers(name, indptr, indices, width)
    require(len(indptr) == height + 1, f"{name} has {len(indptr) - 1} rows, not {height}")
    require(data.dtype == dtype and data.shape == indices.shape, f"{name} has not one {precision} value an index")
    require(are_finite(data), f"{name} has values that are no numbers")


def check_pointers(name: str, indptr: np.ndarray, indices: np.ndarray, width: int) -> None:
    """Raise ValueError unless row pointers and column numbers are those of a CSR matrix of this width."""
    require(indptr.dtype == np.int64 and indptr.ndim == 1 and len(indptr) > 0, f"{name} has no row pointers")
    require(indices.dtype == np.int32 and indices.ndim == 1, f"{name} has no column numbers")
    rising = indptr[0] == 0 and indptr[-1] == len(indices) and bool((np.diff(indptr) >= 0).all())
    require(rising, f"{name} has row pointers that do not rise from 0 to its {len(indices)} entries")
    require(are_within(indices, width), f"{name} has column numbers outside 0 … {width - 1}")


def are_within(numbers: np.ndarray, bound: int) -> bool:
    """Say whether every number is at least 0 and below the bound."""
    return numbers.size == 0 or (int(numbers.min()) >= 0 and int(numbers.max()) < bound)


def are_finite(values: np.ndarray) -> bool:
    """Say whether no value is infinite or no number at all: scores of such could not be written as JSON."""
    if values.dtype.kind != "f":
        return True
    rows = values.reshape(-1)  # a view: what is mapped lies in one piece
    return all(bool(np.isfinite(rows[at : at + BLOCK]).all()) for at in range(0, len(rows), BLOCK))


def require(fine: bool, message: str) -> None:
    """Raise ValueError with this message unless the condition `fine` holds."""
    if not fine:
        raise ValueError(message)

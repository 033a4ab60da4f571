"""A model's arrays by name, and the checks that keep a damaged or crafted folder from being read out of bounds.

Kernels do not check indices; whatever points into another array is therefore checked here, once, on loading.
Failures are ValueErrors, which the store reports as a damaged model.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import csr_matrix

from neartag.rows import Rows
from neartag.x1 import parameters
from neartag.x1.precision import TYPES, pack, unpack

LARGEST = 2**31 - 1  # ids, and the number of them, are kept as int32


def put_rows(arrays: dict[str, np.ndarray], name: str, rows: Rows, precision: str = "float32") -> None:
    """Put dense or CSR rows under their name into the arrays of a part, with a scale a column where they are packed."""
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
    """Return what `put_rows` put, in float32; memory maps of that are not copied."""
    scale = arrays[f"{name}.scale"] if precision != "float32" else None
    if name in arrays:
        return arrays[name] if scale is None else unpack(arrays[name], scale)
    values, indices, indptr = (arrays[f"{name}.{piece}"] for piece in ("data", "indices", "indptr"))
    pieces = (values if scale is None else unpack(values, scale, indices), indices, indptr)
    return csr_matrix(pieces, shape=tuple(int(side) for side in arrays[f"{name}.shape"]))


def check_state(settings: dict[str, Any], parts: dict[str, dict[str, np.ndarray]]) -> dict[str, Any]:
    """Return the model's parameters, those it does not name at their defaults.

    Raises ValueError unless every array has its type and shape, and every number stays inside what it points into.
    """
    known = {name: value for name, value in parameters.DEFAULTS.items() if name not in parameters.MACHINE}
    checked = parameters.checked({**known, **settings["parameters"]})
    for name in ("vote_neighbours", "feature_share"):
        _require(not isinstance(checked[name], str), f"{name} was not settled in training")
    n_features, n_labels, n_learners = (_count(settings, name) for name in ("n_features", "n_labels", "n_learners"))
    labels = parts["labels"]
    n = len(labels["indptr"]) - 1
    _check_pointers("labels", labels["indptr"], labels["indices"], n_labels)
    if "index" in parts:
        dense = "postings" in parts["index"]
        _check_rows(parts["index"], "postings", *((n, n_features) if dense else (n_features, n)))
    for number in range(n_learners):
        arrays = parts[f"learner-{number:03d}"]
        levels = arrays["zero_below"]
        _require(levels.dtype == np.float64 and levels.ndim == 1, "the learner's levels are not numbers")
        _require(len(levels) > 0, f"learner {number} has no cluster")
        _check_rows(arrays, "centroids", n_features, len(levels))
        for c in range(len(levels)):
            members, width = arrays[f"{c}.members"], _width(arrays, f"{c}.weights")
            _require(members.dtype == np.int32 and members.ndim == 1, f"members of cluster {c} are not row numbers")
            _require(len(members) > 0, f"cluster {c} has no points")
            _require(_within(members, n), f"members of cluster {c} are not training points")
            _require(arrays[f"{c}.history"].ndim == 1, f"cluster {c} has no history of SVP")
            precision = checked["precision"]
            _check_rows(arrays, f"{c}.weights", _known_features(arrays, c, n_features), width, precision)
            _check_rows(arrays, f"{c}.points", len(members), width, precision)
    return checked


def _count(settings: dict[str, Any], name: str) -> int:
    value = settings[name]
    fine = type(value) is int and 1 <= value <= LARGEST  # not isinstance: true is no number here
    _require(fine, f"{name} is not a whole number from 1 to {LARGEST}")
    return int(value)


def _known_features(arrays: dict[str, np.ndarray], c: int, n_features: int) -> int:
    """Return how many features cluster c knows."""
    features = arrays.get(f"{c}.features")
    if features is None:
        return n_features
    _require(features.dtype == np.int32 and features.ndim == 1, f"features of cluster {c} are not column numbers")
    rising = len(features) > 0 and bool((np.diff(features.astype(np.int64)) > 0).all())
    _require(rising and _within(features, n_features), f"features of cluster {c} do not rise within {n_features}")
    return len(features)


def _width(arrays: dict[str, np.ndarray], name: str) -> int:
    shape = arrays[name].shape if name in arrays else arrays[f"{name}.shape"]
    _require(len(shape) == 2, f"{name} is not a matrix")
    return int(shape[1])


def _check_rows(arrays: dict[str, np.ndarray], name: str, height: int, width: int, precision: str = "float32") -> None:
    dtype = TYPES[precision]
    if precision != "float32":
        scale = arrays[f"{name}.scale"]
        _require(scale.dtype == np.float32 and scale.shape == (width,), f"{name} has not one float32 scale a column")
        _require(bool((np.isfinite(scale) & (scale > 0)).all()), f"{name} has scales that are no sizes")
    if name in arrays:
        dense = arrays[name]
        fine = dense.dtype == dtype and dense.shape == (height, width)
        _require(fine, f"{name} is not {precision} {height} × {width}")
        return
    shape = tuple(int(side) for side in arrays[f"{name}.shape"])
    _require(shape == (height, width), f"{name} is {shape}, not {(height, width)}")
    indptr, indices, data = (arrays[f"{name}.{piece}"] for piece in ("indptr", "indices", "data"))
    _check_pointers(name, indptr, indices, width)
    _require(len(indptr) == height + 1, f"{name} has {len(indptr) - 1} rows, not {height}")
    _require(data.dtype == dtype and data.shape == indices.shape, f"{name} has not one {precision} value an index")


def _check_pointers(name: str, indptr: np.ndarray, indices: np.ndarray, width: int) -> None:
    _require(indptr.dtype == np.int64 and indptr.ndim == 1 and len(indptr) > 0, f"{name} has no row pointers")
    _require(indices.dtype == np.int32 and indices.ndim == 1, f"{name} has no column numbers")
    rising = indptr[0] == 0 and indptr[-1] == len(indices) and bool((np.diff(indptr) >= 0).all())
    _require(rising, f"{name} has row pointers that do not rise from 0 to its {len(indices)} entries")
    _require(_within(indices, width), f"{name} has column numbers outside 0 … {width - 1}")


def _within(numbers: np.ndarray, bound: int) -> bool:
    return numbers.size == 0 or (int(numbers.min()) >= 0 and int(numbers.max()) < bound)


def _require(fine: bool, message: str) -> None:
    if not fine:
        raise ValueError(message)

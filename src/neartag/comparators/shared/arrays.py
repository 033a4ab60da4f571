"""What a fitted comparator stores, and the checks when it is read again: arrays and CSR matrices by part and name."""

from __future__ import annotations

from typing import Any

import numpy as np

from neartag.linalg.packing import check_pointers, get_rows, require

Arrays = dict[str, dict[str, Any]]  # arrays and CSR matrices by part and name


def read_part(arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """Return a part's arrays and CSR matrices, the latter whole: no pointer leads out of them."""
    fields: dict[str, Any] = {}
    for name in arrays:
        stem, _, piece = name.rpartition(".")
        if not stem:
            fields[name] = arrays[name]
        elif piece == "shape":
            height, width = (int(side) for side in arrays[name])
            indptr, indices, data = (arrays[f"{stem}.{each}"] for each in ("indptr", "indices", "data"))
            check_pointers(stem, indptr, indices, width)
            fine = len(indptr) == height + 1 and data.dtype == np.float32 and data.shape == indices.shape
            require(fine, f"{stem} is no CSR matrix of {height} rows")
            fields[stem] = get_rows(arrays, stem)
    return fields


def check_array(arrays: Arrays, part: str, name: str, shape: tuple[int, ...], dtype: Any = np.float32) -> Any:
    """Return an array or CSR matrix of those stored; ValueError unless it has this shape and type."""
    array = arrays[part][name]
    fine = array.shape == shape and array.dtype == dtype
    require(fine, f"{name} is {array.dtype} {array.shape}, not {np.dtype(dtype)} {shape}")
    return array


def check_dense(arrays: Arrays, part: str, name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Return a float32 array of those stored; ValueError unless it has this shape and is no CSR matrix."""
    array = check_array(arrays, part, name, shape)
    require(isinstance(array, np.ndarray), f"{name} is no dense matrix")
    return array

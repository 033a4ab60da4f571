"""What a fitted comparator stores, and the checks when it is read again: arrays and CSR matrices by part and name."""

from __future__ import annotations

from typing import Any

import numpy as np

from neartag.linalg.packing import check_pointers, get_rows, require

Arrays = dict[str, dict[str, Any]]  # arrays and CSR matrices by part and name


def read_part(arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """Return a part's arrays and CSR matrices, the latter whole: no pointer leads out of them."""
    found: dict[str, Any] = {}
    for name in arrays:
        stem, _, piece = name.rpartition(".")
        if not stem:
            found[name] = arrays[name]
        elif piece == "shape":
            height, width = (int(side) for side in arrays[name])
            indptr, indices, data = (arrays[f"{stem}.{each}"] for each in ("indptr", "indices", "data"))
            check_pointers(stem, indptr, indices, width)
            fine = len(indptr) == height + 1 and data.dtype == np.float32 and data.shape == indices.shape
            require(fine, f"{stem} is no CSR matrix of {height} rows")
            found[stem] = get_rows(arrays, stem)
    return found


def check_array(arrays: Arrays, part: str, name: str, shape: tuple[int, ...], dtype: Any = np.float32) -> Any:
    """Return an array or CSR matrix of those stored; ValueError unless it has this shape and type."""
    found = arrays[part][name]
    fine = found.shape == shape and found.dtype == dtype
    require(fine, f"{name} is {found.dtype} {found.shape}, not {np.dtype(dtype)} {shape}")
    return found


def check_dense(arrays: Arrays, part: str, name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Return a float32 array of those stored; ValueError unless it has this shape and is no CSR matrix."""
    found = check_array(arrays, part, name, shape)
    require(isinstance(found, np.ndarray), f"{name} is no dense matrix")
    return found

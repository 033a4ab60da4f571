"""Weights and embedded points in fewer bytes: float16 or int8, with a scale for each column.

Training rounds a model to what its file will hold, so that it predicts the same before it is saved and after. In memory
all stays float32, which is what the kernels know.

Rounding again must change nothing, or a model loaded and saved would not be the same file. So scales are such that
every rounded number is a float32 exactly, and that they are found again from the rounded numbers: for float16 powers of
two, for int8 numbers with so few bits that 127 times one is still exact. float16 has scales too because weights may be
of any size: a large penalty makes them smaller, and none at all larger, than float16 by itself can hold.

Points of unit length are not quite that after rounding (float16: within 0.03%, int8: 0.5%). They are left so: scaling
them again moves P@k by 0.05 at most, some up and some down (`benchmarks/model_size.py`).
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from neartag.linalg.rows import Rows

TYPES = {"float32": np.float32, "float16": np.float16, "int8": np.int8}
# float16 goes to 2¹⁶: a column's largest number lies just below half of that, and small ones keep their bits longest.
HALF_TOP = 15
INT8_TOP, INT8_SCALE_BITS = 127, 17  # 17 bits times 7 are the 24 of a float32
# A column whose scale would be less is zero: the products of smaller scales are no longer exact.
SMALLEST_SCALE = 2.0**-100


def round_to(rows: Rows, precision: str) -> Rows:
    """Return the rows as they will be after saving and loading; themselves where that is as they are."""
    if precision == "float32":
        return rows
    values, scale = pack(rows, precision)
    if not sparse.issparse(rows):
        return unpack(values, scale)
    rounded = rows.copy()
    rounded.data = unpack(values, scale, rows.indices)
    rounded.eliminate_zeros()
    return rounded


def pack(rows: Rows, precision: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers as float16 or int8, those that are stored of CSR rows, and each column's scale (dim,)."""
    if sparse.issparse(rows):
        largest = np.zeros(rows.shape[1], np.float32)
        np.maximum.at(largest, rows.indices, np.abs(rows.data))
        scale = _scale(largest, precision)
        scaled = rows.data / scale[rows.indices]
    else:
        scale = _scale(np.maximum(rows.max(axis=0, initial=0), -rows.min(axis=0, initial=0)), precision)
        scaled = rows / scale  # (n, dim)
    if precision == "int8":
        np.rint(scaled, out=scaled)
    return scaled.astype(TYPES[precision]), scale


def unpack(values: np.ndarray, scale: np.ndarray, columns: np.ndarray | None = None) -> np.ndarray:
    """Return as float32 what `pack` packed; `columns` are those of the values that CSR rows store."""
    return values.astype(np.float32) * (scale if columns is None else scale[columns])


def _scale(largest: np.ndarray, precision: str) -> np.ndarray:
    """Return what each column is divided by (dim,), given the size of its largest number."""
    if precision == "float16":
        mantissa, exponent = np.frexp(largest)
        # Rounding may carry the largest to the next power of two, and must then find the same scale again.
        carried = mantissa.astype(np.float16) == 1
        scale = np.ldexp(1.0, exponent + carried - HALF_TOP)
    else:
        mantissa, exponent = np.frexp(largest.astype(np.float64) / INT8_TOP)
        scale = np.ldexp(np.floor(np.ldexp(mantissa, INT8_SCALE_BITS)), exponent - INT8_SCALE_BITS)
    return np.where((largest == 0) | (scale < SMALLEST_SCALE), 1, scale).astype(np.float32)

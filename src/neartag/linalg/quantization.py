"""Weights and embedded points in fewer bytes: float16 or int8 numbers, and one scale for each column.

Training rounds a model to what its file will hold, so that the model answers the same before it is saved and after it
is loaded. In memory all numbers stay float32, the type that the kernels are compiled for.

Rounding twice must be the same as rounding once; else a model that is loaded and saved would change. So scales are
chosen such that every rounded number is exactly a float32, and that the rounded numbers have the same scales again:
powers of two for float16, and for int8 numbers with so few bits that 127 times one is still exact. float16 needs scales
too, because weights can be of any size: a large penalty makes them smaller, and no penalty makes them larger, than
float16 by itself can hold.

Rounded points are no longer exactly of unit length (float16: within 0.03%, int8: 0.5%). They are left so: scaling them
again moves P@k by 0.05 at most, some up and some down (`benchmarks/model_size.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

if TYPE_CHECKING:  # rows may be coded, which is done with what is here
    from neartag.linalg.rows import Rows

TYPES = {"float32": np.float32, "float16": np.float16, "int8": np.int8}
# float16 ends at 2¹⁶. A column's largest number is scaled to just below 2¹⁵, so that small numbers keep most bits.
FLOAT16_TOP_EXPONENT = 15
INT8_TOP, INT8_SCALE_BITS = 127, 17  # 17 bits of the scale and 7 of the number are the 24 bits of a float32
# A column whose scale would be smaller is not scaled, and so becomes zero: products with such scales are not exact.
MIN_SCALE = 2.0**-100


def round_to(rows: Rows, precision: str) -> Rows:
    """Return the rows as they will be after saving and loading; for float32 the rows themselves."""
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
    """Return the numbers as float16 or int8, of CSR rows the stored ones (nnz,), and each column's scale (dim,)."""
    if sparse.issparse(rows):
        largest = np.zeros(rows.shape[1], np.float32)
        np.maximum.at(largest, rows.indices, np.abs(rows.data))
        scale = choose_scale(largest, precision)
        scaled = rows.data / scale[rows.indices]
    else:
        scale = choose_scale(np.maximum(rows.max(axis=0, initial=0), -rows.min(axis=0, initial=0)), precision)
        scaled = rows / scale  # (n, dim)
    if precision == "int8":
        np.rint(scaled, out=scaled)
    return scaled.astype(TYPES[precision]), scale


def unpack(values: np.ndarray, scale: np.ndarray, columns: np.ndarray | None = None) -> np.ndarray:
    """Return as float32 what `pack` packed; `columns` (nnz,) are the columns of the stored values of CSR rows."""
    return values.astype(np.float32) * (scale if columns is None else scale[columns])


def choose_scale(largest: np.ndarray, precision: str) -> np.ndarray:
    """Return what each column, or row, is divided by (count,), given the size of its largest number."""
    if precision == "float16":
        mantissa, exponent = np.frexp(largest)
        # Rounding may carry the largest number to the next power of two; the scale must allow for that beforehand.
        carried = mantissa.astype(np.float16) == 1
        scale = np.ldexp(1.0, exponent + carried - FLOAT16_TOP_EXPONENT)
    else:
        mantissa, exponent = np.frexp(largest.astype(np.float64) / INT8_TOP)
        scale = np.ldexp(np.floor(np.ldexp(mantissa, INT8_SCALE_BITS)), exponent - INT8_SCALE_BITS)
    return np.where((largest == 0) | (scale < MIN_SCALE), 1, scale).astype(np.float32)

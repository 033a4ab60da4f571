"""The kernel of coded rows: products of float32 queries with int8 rows. A test holds it against plain numpy lines."""

from __future__ import annotations

import numpy as np

from neartag.core import kernel_types as types
from neartag.core.jit import COUNT, FLOAT, ID, MATRIX, VALUES, kernel, read

CODES = read(types.int8, 2)


@kernel(FLOAT(MATRIX, COUNT, CODES, COUNT), fastmath=True)
def _product(queries, i, codes, row):
    """The product of a query with a row's codes, many numbers at a time."""
    total = np.float32(0.0)
    for j in range(codes.shape[1]):
        total += queries[i, j] * np.float32(codes[row, j])
    return total


@kernel(types.void(MATRIX, CODES, VALUES, read(ID, 2), FLOAT[:, ::1], COUNT, COUNT))
def coded_products(queries, codes, scales, numbers, out, start, stop):
    """The product of each query with each of its rows, by number; 0 where the number is none of a row."""
    for i in range(start, stop):
        for c in range(numbers.shape[1]):
            row = numbers[i, c]
            if 0 <= row < scales.shape[0]:
                out[i, c] = scales[row] * _product(queries, i, codes, row)
            else:
                out[i, c] = 0.0

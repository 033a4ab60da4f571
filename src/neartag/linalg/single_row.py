"""One feature row as the three arrays of a CSR matrix.

The answer to one point takes some tens of microseconds of arithmetic. To make and check sparse matrices on the way
would take ten times that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse import csr_matrix

from neartag.linalg import product_kernels
from neartag.linalg.rows import UNIT_TOLERANCE, CSRArrays, Rows, csr_arrays


@dataclass(slots=True)
class SingleRow:
    """A row of unit length, in the types that the kernels are compiled for."""

    arrays: CSRArrays  # indptr (2,), indices and data
    width: int

    @property
    def shape(self) -> tuple[int, int]:
        """As of a matrix: one row."""
        return 1, self.width

    @classmethod
    def unit(cls, row: Rows) -> SingleRow:
        """Return a row (1, d) scaled to unit length; a row of zeros stays one."""
        if sparse.issparse(row):
            if not row.has_canonical_format:
                row = row.copy()
                row.sum_duplicates()
            indices, values = row.indices, row.data
        else:
            indices = np.flatnonzero(row[0])
            values = row[0][indices]
        values = np.asarray(values, np.float32)
        length = float(np.sqrt(np.add.reduce(np.square(values, dtype=np.float64))))
        # As `rows.normalise`, to the last bit: what is answered must not depend on who asks at the same time.
        is_unit = length == 0 or abs(length - 1) <= UNIT_TOLERANCE
        data = values if is_unit else (values / np.float64(length)).astype(np.float32)
        return cls((np.array([0, len(indices)], np.int64), indices.astype(np.int32, copy=False), data), row.shape[1])

    def select_columns(self, columns: np.ndarray | None) -> SingleRow:
        """Return the row over some columns, given in rising order; None: all. What is in other columns becomes zero."""
        if columns is None:
            return self
        indptr, indices, data = self.arrays
        place = np.minimum(np.searchsorted(columns, indices), len(columns) - 1).astype(np.int32)
        return SingleRow((indptr, place, np.where(columns[place] == indices, data, np.float32(0))), len(columns))

    def matmul(self, weights: Rows) -> np.ndarray:
        """Return row @ weights (width,) for weights (d, width)."""
        out = np.empty((1, weights.shape[1]), np.float32)
        if sparse.issparse(weights):
            product_kernels.sparse_times_sparse(self.arrays, csr_arrays(weights), out, 0, 1)
        else:
            product_kernels.sparse_times_dense(self.arrays, weights, out, 0, 1)
        return out[0]

    def to_dense(self) -> np.ndarray:
        """Return the row as an array (1, d)."""
        out = np.zeros(self.shape, np.float32)
        out[0, self.arrays[1]] = self.arrays[2]
        return out


def as_csr_arrays(rows: Rows | SingleRow) -> CSRArrays:
    """Return (indptr, indices, data) of rows in any form, in the types that the kernels are compiled for."""
    if isinstance(rows, SingleRow):
        return rows.arrays
    return csr_arrays(rows if sparse.issparse(rows) else csr_matrix(rows))

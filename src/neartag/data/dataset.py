"""What every reader returns: feature rows, label rows and, where known, their names, all in one form."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix

from neartag.core.errors import DataError

LARGEST_ID = 2**31 - 2  # ids, and the number of them, are kept as int32


@dataclass
class Dataset:
    """Points with their features and labels, a row a point."""

    X: csr_matrix  # (n, d) float32, indices sorted, no duplicates
    Y: csr_matrix  # (n, L) float32 of ones, indices sorted, no duplicates
    label_names: list[str] | None = None  # L of them
    feature_names: list[str] | None = None  # d of them
    point_names: list[str] | None = None  # n of them
    name: str = "data"

    def __post_init__(self) -> None:
        """Refuse parts that do not fit together."""
        if self.X.shape[0] != self.Y.shape[0]:
            raise DataError(f"{self.name}: {self.X.shape[0]} feature rows but {self.Y.shape[0]} label rows")
        for what, names, count in (
            ("label", self.label_names, self.Y.shape[1]),
            ("feature", self.feature_names, self.X.shape[1]),
            ("point", self.point_names, self.X.shape[0]),
        ):
            if names is not None and len(names) != count:
                raise DataError(f"{self.name}: {len(names)} {what} names for {count} {what}s")

    @property
    def n_points(self) -> int:
        """Number of points."""
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.X.shape[1])

    @property
    def n_labels(self) -> int:
        """Number of labels, those that no point has included."""
        return int(self.Y.shape[1])

    def take(self, rows: np.ndarray) -> Dataset:
        """Return the points of the given row numbers, in that order."""
        return Dataset(
            X=self.X[rows],
            Y=self.Y[rows],
            label_names=self.label_names,
            feature_names=self.feature_names,
            point_names=None if self.point_names is None else [self.point_names[row] for row in rows],
            name=self.name,
        )


def feature_rows(X: csr_matrix, name: str) -> csr_matrix:
    """Return features as float32 rows with ids in order and once each, all finite; the input is left as it was."""
    rows = csr_matrix(X, dtype=np.float32)
    if not rows.has_canonical_format:
        rows = rows.copy() if np.may_share_memory(rows.indices, X.indices) else rows
        rows.sum_duplicates()
    # The extremes first: looking at each value takes a copy, if a small one.
    if rows.nnz and not np.isfinite([rows.data.min(), rows.data.max()]).all():
        wrong = np.flatnonzero(~np.isfinite(rows.data))[0]
        row = int(np.searchsorted(rows.indptr, wrong, side="right")) - 1
        raise DataError(f"{name}: point {row} has the value {rows.data[wrong]}; features must be finite float32")
    return rows


def label_rows(Y: csr_matrix) -> csr_matrix:
    """Return labels as float32 rows of ones with ids in order and once each; the input is left as it was."""
    if Y.dtype == np.float32 and Y.has_canonical_format and bool(np.all(Y.data == 1)):
        return csr_matrix(Y)
    rows = csr_matrix(Y, dtype=np.float32, copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    rows.data[:] = 1
    return rows


def rows_of(indptr: np.ndarray, indices: np.ndarray, values: np.ndarray | None, columns: int) -> csr_matrix:
    """Return rows from their parts, ones for no values; ids may be unordered and repeated."""
    if values is None:
        values = np.ones(indices.size, dtype=np.float32)
    return csr_matrix((values, indices, indptr), shape=(indptr.size - 1, columns))


def first_repeated(rows: csr_matrix) -> int | None:
    """Return the first row that has an id more than once, None if there is none; ids are put in order."""
    if rows.has_canonical_format:
        return None
    rows.sort_indices()
    alike = np.flatnonzero(rows.indices[1:] == rows.indices[:-1])
    owner = np.searchsorted(rows.indptr, alike, side="right") - 1
    repeated = owner[alike + 1 < rows.indptr[owner + 1]]
    if repeated.size:
        return int(repeated[0])
    rows.has_canonical_format = True
    return None

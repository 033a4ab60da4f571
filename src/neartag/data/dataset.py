"""What every reader of rows returns: feature rows, label rows and, where they are known, names."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix

from neartag.core.errors import DataError

MAX_ID = 2**31 - 2  # ids, and the number of them, must fit into int32


@dataclass
class Dataset:
    """Points with their features and labels, one row per point.

    Parameters
    ----------
    X : csr_matrix of shape (n, d)
        Features, float32; column numbers sorted, none twice in a row.
    Y : csr_matrix of shape (n, L)
        Labels, float32 ones; column numbers sorted, none twice in a row.
    label_names, feature_names, point_names : list of str, optional
        L, d and n names.
    name : str, default "data"
        What messages call the data set.

    Raises
    ------
    DataError
        If the parts do not fit together.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_matrix
    >>> from neartag.data import Dataset
    >>> X = csr_matrix(np.array([[0.5, 0], [0, 2]], np.float32))
    >>> Y = csr_matrix(np.array([[1, 0, 0], [0, 1, 1]], np.float32))
    >>> points = Dataset(X, Y, label_names=["red", "green", "blue"])
    >>> points.n_points, points.n_features, points.n_labels
    (2, 2, 3)
    """

    X: csr_matrix  # (n, d) float32
    Y: csr_matrix  # (n, L) float32 of ones
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
        """Number of labels; labels that no point has are counted too."""
        return int(self.Y.shape[1])

    def take(self, rows: np.ndarray) -> Dataset:
        """Return some of the points.

        Parameters
        ----------
        rows : ndarray of int
            Row numbers, in the order wanted.

        Returns
        -------
        Dataset
        """
        return Dataset(
            X=self.X[rows],
            Y=self.Y[rows],
            label_names=self.label_names,
            feature_names=self.feature_names,
            point_names=None if self.point_names is None else [self.point_names[row] for row in rows],
            name=self.name,
        )


def feature_rows(X: csr_matrix, name: str) -> csr_matrix:
    """Return features as finite float32 rows, column numbers sorted and none twice; the input is not changed."""
    rows = csr_matrix(X, dtype=np.float32)
    if not rows.has_canonical_format:
        rows = rows.copy() if np.may_share_memory(rows.indices, X.indices) else rows
        rows.sum_duplicates()
    # The extremes first: to look at each value takes a copy, if a small one.
    if rows.nnz and not np.isfinite([rows.data.min(), rows.data.max()]).all():
        place = np.flatnonzero(~np.isfinite(rows.data))[0]
        row = int(np.searchsorted(rows.indptr, place, side="right")) - 1
        raise DataError(f"{name}: point {row} has the value {rows.data[place]}; features must be finite float32")
    return rows


def label_rows(Y: csr_matrix) -> csr_matrix:
    """Return labels as float32 rows of ones, column numbers sorted and none twice; the input is not changed."""
    if Y.dtype == np.float32 and Y.has_canonical_format and bool(np.all(Y.data == 1)):
        return csr_matrix(Y)
    rows = csr_matrix(Y, dtype=np.float32, copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    rows.data[:] = 1
    return rows


def make_rows(indptr: np.ndarray, indices: np.ndarray, values: np.ndarray | None, columns: int) -> csr_matrix:
    """Return the rows of these CSR arrays; values None: ones. Column numbers may be unsorted and repeated."""
    if values is None:
        values = np.ones(indices.size, dtype=np.float32)
    return csr_matrix((values, indices, indptr), shape=(indptr.size - 1, columns))


def sort_and_find_repeated(rows: csr_matrix) -> int | None:
    """Sort the column numbers of each row in place; return the first row that has one twice, None if none has."""
    if rows.has_canonical_format:
        return None
    rows.sort_indices()
    equal = np.flatnonzero(rows.indices[1:] == rows.indices[:-1])  # positions whose next entry has the same column
    row = np.searchsorted(rows.indptr, equal, side="right") - 1
    repeated = row[equal + 1 < rows.indptr[row + 1]]  # both in one row
    if repeated.size:
        return int(repeated[0])
    rows.has_canonical_format = True
    return None

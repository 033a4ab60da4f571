"""What every reader returns: feature rows, label rows and, where known, their names."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import csr_matrix

from neartag.errors import DataError


@dataclass
class Dataset:
    """Points with their features and labels, a row a point."""

    X: csr_matrix  # (n, d) float32, indices sorted, no duplicates
    Y: csr_matrix  # (n, L) float32 of ones, indices sorted, no duplicates
    label_names: list[str] | None = None  # L of them
    feature_names: list[str] | None = None  # d of them
    point_names: list[str] | None = None  # n of them
    name: str = field(default="data")

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

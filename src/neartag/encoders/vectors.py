"""Vectors that the user brings, of any sentence encoder, instead of texts: checked, and made float32 rows.

The user's own encoder stays outside: only its vectors come in, and a saved model keeps their length.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from neartag.core.errors import DataError, ModelError, NeartagError, ParameterError

__all__ = ["ENCODER", "VectorFeatures"]

REAL_NUMBERS = "biuf"  # numpy's kinds of real numbers
MAX_DIM = np.iinfo(np.int32).max  # numbers of a vector: columns are int32 elsewhere


class VectorFeatures:
    """Encoder of vectors: float32 rows of the length that `fit` has seen.

    Parameters
    ----------
    unit_rows : bool, default True
        Scale each row to length 1, as is usual for vectors that are compared by their angle. A row of zeros stays.

    Attributes
    ----------
    dim_ : int
        How many numbers a vector has.

    Examples
    --------
    >>> from neartag import VectorFeatures
    >>> features = VectorFeatures()
    >>> features.fit_transform([[3, 4], [0, 2]])
    array([[0.6, 0.8],
           [0. , 1. ]], dtype=float32)
    >>> features.dim_
    2
    """

    kind: ClassVar[str] = "vectors"
    accepts: ClassVar[str] = "vector"
    block_numbers: ClassVar[int] = 2**18  # scaled at a time, in float64: two megabytes, which stay in the cache

    def __init__(self, unit_rows: bool = True) -> None:
        self.unit_rows = unit_rows

    @property
    def n_features(self) -> int:
        """Number of columns of a row."""
        self._check_fitted()
        return self.dim_

    def fit(self, vectors: Any) -> VectorFeatures:
        """Learn how long the vectors are, check them, and return self.

        Parameters
        ----------
        vectors : array (n, dim), or iterable of vectors

        Raises
        ------
        DataError
            There is no vector, or one is not a row of finite numbers as long as the others.
        """
        self._learn(vectors)
        return self

    def fit_transform(self, vectors: Any) -> np.ndarray:
        """Return the same rows as `fit(vectors).transform(vectors)`, reading the vectors once."""
        return self._scale(*self._learn(vectors))

    def transform(self, vectors: Any) -> np.ndarray:
        """Return the rows of vectors.

        Parameters
        ----------
        vectors : array (n, dim), or iterable of vectors

        Returns
        -------
        ndarray of float32, (n, dim)
            The array that was given where nothing is to be changed.

        Raises
        ------
        DataError
            A vector does not have `dim_` finite numbers.
        """
        self._check_fitted()
        return self._scale(*_as_rows(vectors, self.dim_))

    def to_state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return what `from_state` needs: settings that JSON can hold, and no arrays."""
        self._check_fitted()
        return {"unit_rows": bool(self.unit_rows), "dim": int(self.dim_)}, {}

    @classmethod
    def from_state(cls, settings: dict[str, Any], arrays: dict[str, np.ndarray]) -> VectorFeatures:
        """Return the fitted features of a state that `to_state` returned; ModelError where it cannot be one."""
        try:
            features = cls(unit_rows=settings["unit_rows"])
            features._check_parameters()
            dim = settings["dim"]
        except (KeyError, TypeError, ParameterError) as error:
            raise ModelError(f"the vector features' state cannot be read: {error!r}") from error
        if not isinstance(dim, int) or isinstance(dim, bool) or not 1 <= dim <= MAX_DIM:
            raise ModelError(f"the vector features' state has dim {dim!r:.60}: must be a whole number from 1")
        if arrays:
            raise ModelError(f"the vector features' state has arrays {sorted(arrays)!r:.60}: must have none")
        features.dim_ = dim
        return features

    def _learn(self, vectors: Any) -> tuple[np.ndarray, bool]:
        self._check_parameters()
        rows, ours = _as_rows(vectors, None)
        if not rows.size:
            raise DataError(f"there is nothing to learn from vectors of shape {rows.shape}: give one at least")
        self.dim_ = rows.shape[1]
        return rows, ours

    def _scale(self, rows: np.ndarray, ours: bool) -> np.ndarray:
        """Return the rows, at length 1 with `unit_rows`; an array of the caller's (`ours` false) is not changed."""
        if not self.unit_rows or not rows.size:
            return rows
        scaled = rows if ours else np.empty_like(rows)
        step = max(1, self.block_numbers // rows.shape[1])
        for start in range(0, len(rows), step):
            block = rows[start : start + step].astype(np.float64)  # squares of float32 may not fit float32
            lengths = np.sqrt(np.sum(block * block, axis=1, keepdims=True))  # (step, 1)
            scaled[start : start + step] = block / np.where(lengths > 0, lengths, 1)
        return scaled

    def _check_parameters(self) -> None:
        if not isinstance(self.unit_rows, (bool, np.bool_)):
            raise ParameterError(f"unit_rows={self.unit_rows!r}: must be True or False")

    def _check_fitted(self) -> None:
        if not hasattr(self, "dim_"):
            raise NeartagError("these VectorFeatures do not know their vectors' length yet: call fit(vectors) first")


def _as_rows(vectors: Any, dim: int | None) -> tuple[np.ndarray, bool]:
    """Return the vectors as finite float32 rows of `dim` numbers (None: any), and whether the array is ours alone."""
    if sparse.issparse(vectors):
        raise DataError("vectors is a sparse matrix: give it to the classifier itself, or an array of dense vectors")
    is_array = hasattr(vectors, "__array__")  # numpy can read it: its own arrays, and those of other libraries
    if isinstance(vectors, (str, bytes, Mapping)) or not (is_array or isinstance(vectors, Iterable)):
        raise DataError(f"vectors is {vectors!r:.60}: must be an array (n, dim) or a list of vectors")
    # A number that does not fit float32 becomes infinite, and is refused below.
    with np.errstate(over="ignore", invalid="ignore"):
        read = _read_numbers(vectors, "vectors") if is_array else _stack_vectors(vectors)
        rows = read.astype(np.float32, order="C", copy=False)
        finite = not rows.size or np.isfinite([rows.min(), rows.max()]).all()  # no copy of the array
    if rows.shape == (0,) or rows.shape == (0, 0):
        return np.empty((0, dim or 0), dtype=np.float32), True
    if rows.ndim != 2:
        raise DataError(f"vectors has shape {rows.shape}: must be (n, dim); for one vector give a list with it")
    if dim is not None and rows.shape[1] != dim:
        raise DataError(f"vectors have {rows.shape[1]} numbers each, but {dim} in fit: use the same encoder")
    if not finite:
        number = int(np.flatnonzero(~np.isfinite(rows).all(axis=1))[0])
        raise DataError(f"vector {number} has a number that is not finite in float32: leave it out, or scale it")
    return rows, rows is not read or not is_array


def _stack_vectors(vectors: Iterable[Any]) -> np.ndarray:
    """Return vectors that come one by one as float32 rows, held in memory once."""
    numbers, width, count = array("f"), 0, 0
    for number, vector in enumerate(vectors):
        row = _read_numbers(vector, f"vector {number}")
        if row.ndim != 1 or (number and len(row) != width):
            wanted = f"({width},), as of those before it" if number else "one row of numbers"
            raise DataError(f"vector {number} has shape {row.shape}: must be {wanted}")
        width, count = len(row), number + 1
        numbers.frombytes(row.astype(np.float32).tobytes())
    return np.frombuffer(numbers, dtype=np.float32, count=count * width).reshape(count, width)


def _read_numbers(values: Any, name: str) -> np.ndarray:
    try:
        numbers = np.asarray(values)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name} cannot be read as numbers: {error}") from None
    if numbers.dtype.kind not in REAL_NUMBERS:
        hint = "; texts need TfidfFeatures" if numbers.dtype.kind in "US" else ""
        raise DataError(f"{name} is of {numbers.dtype}: must be real numbers{hint}")
    return numbers


ENCODER = VectorFeatures

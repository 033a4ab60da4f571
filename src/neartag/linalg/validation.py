"""Checks of what users give: feature rows, label rows, counts. An error names the parameter and what is wrong."""

from __future__ import annotations

import numbers
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import csr_matrix

from neartag.core import memory
from neartag.core.errors import ParameterError
from neartag.linalg.coded_rows import CodedRows
from neartag.linalg.hybrid_rows import HybridRows
from neartag.linalg.rows import as_rows

BYTES_PER_COLUMN = 16  # of memory, at the very least: a count and a number


def check_features(X: Any, n_features: int | None = None, owner: str = "the classifier", name: str = "X") -> Any:
    """Return X as a 2-D array or CSR matrix of finite numbers with the expected number of columns.

    Of hybrid rows both parts are checked.
    """
    if isinstance(X, HybridRows):
        words, vectors = (
            check_features(X.words, name=f"{name}.words"),
            check_features(X.vectors, name=f"{name}.vectors"),
        )
        if not sparse.issparse(words) or sparse.issparse(vectors) or words.shape[0] != len(vectors):
            raise ParameterError(f"{name} must have sparse words and as many dense vectors")
        checked = replace(X, words=words, vectors=vectors)
        _check_width(checked, n_features, owner, name)
        return checked
    if isinstance(X, CodedRows):
        return _check_coded(X, name)
    matrix: Any = _sparse_features(X, name) if sparse.issparse(X) else _dense_features(X, name)
    _check_finite(matrix, name)
    if sparse.issparse(matrix) and not matrix.has_canonical_format:
        matrix = _sum_duplicates(matrix, name)
    _check_width(matrix, n_features, owner, name)
    return matrix


def _check_coded(X: CodedRows, name: str) -> CodedRows:
    codes, scales = X.codes, X.scales
    fine = codes.ndim == 2 and codes.dtype == np.int8 and scales.dtype == np.float32 and scales.shape == codes.shape[:1]
    if not fine or not np.isfinite(scales).all():
        raise ParameterError(f"{name} must have int8 codes (points, numbers) and a finite float32 scale for each point")
    return X


def _check_width(matrix: Any, n_features: int | None, owner: str, name: str) -> None:
    if n_features is not None and matrix.shape[1] != n_features:
        raise ParameterError(
            f"{name} has {matrix.shape[1]} features, but {owner} is expecting {n_features} features as input"
        )


def _sparse_features(X: Any, name: str) -> Any:
    """Return sparse features as CSR; ParameterError unless they are real numbers in columns that exist."""
    if X.dtype.kind == "c":
        raise ParameterError(f"Complex data not supported: {name} must hold real numbers, not {X.dtype}")
    if X.ndim != 2:
        raise ParameterError(f"{name} must have two dimensions (points, features), not {X.ndim}: Expected 2D array")
    matrix = X if X.format == "csr" else X.tocsr()
    _check_indices(matrix, name)
    return matrix


def _dense_features(X: Any, name: str) -> np.ndarray:
    """Return features as an array of real numbers; ParameterError where that is not possible."""
    matrix = _as_array(X, name)
    if matrix.dtype.kind == "c":
        raise ParameterError(f"Complex data not supported: {name} must hold real numbers, not {matrix.dtype}")
    if matrix.dtype.kind not in "biuf":
        try:
            matrix = matrix.astype(np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise ParameterError(f"{name} must hold numbers: {error}") from None
    if matrix.ndim != 2:
        raise ParameterError(
            f"{name} must have two dimensions (points, features), not {matrix.ndim}: Expected 2D array. "
            "Reshape your data, for one point with X.reshape(1, -1)"
        )
    return matrix


def _check_finite(matrix: Any, name: str) -> None:
    """Raise unless every value is a number that float32 can hold."""
    values = matrix.data if sparse.issparse(matrix) else matrix
    largest = _largest_magnitude(values)
    if values.dtype.kind == "f" and not np.isfinite(largest):
        what = "NaN" if np.isnan(values).any() else "infinity"
        row = _first_bad_row(matrix)
        raise ParameterError(f"Input {name} contains {what}, first in row {row}: drop or fill such values")
    if largest > float(np.finfo(np.float32).max):
        raise ParameterError(
            f"Input {name} contains a value too large for float32 (infinity there): scale the features"
        )


def _sum_duplicates(matrix: Any, name: str) -> Any:
    """Return rows in which a feature that a row has several times stands once; the sum must be finite too."""
    matrix = as_rows(matrix)
    if not np.isfinite(_largest_magnitude(matrix.data)):
        raise ParameterError(
            f"Input {name} contains a value too large for float32 (infinity there): the values of one feature "
            f"added up, first in row {_first_bad_row(matrix)}: scale the features"
        )
    return matrix


def check_training(X: Any, Y: Any, owner: str = "the classifier") -> tuple[Any, csr_matrix]:
    """Return checked features and labels for training: one point and one feature at least, one row of Y per point."""
    X = check_features(X)
    if X.shape[0] == 0:
        raise ParameterError(
            f"X has 0 sample(s) (shape={X.shape}) while a minimum of 1 is required: give training points"
        )
    if X.shape[1] == 0:
        raise ParameterError(f"X has 0 feature(s) (shape={X.shape}) while a minimum of 1 is required: give features")
    labels = check_labels(Y, owner)
    if labels.shape[0] != X.shape[0]:
        raise ParameterError(f"X has {X.shape[0]} points but Y has {labels.shape[0]}: give one label row a point")
    check_room_for_columns(X.shape[1], labels.shape[1])
    return X, labels


def check_room_for_columns(features: int, labels: int) -> None:
    """Raise ParameterError where a few numbers for each feature and label would not fit into memory.

    Every method keeps at least so many. A file's header may claim billions in a few bytes.
    """
    needed, there = BYTES_PER_COLUMN * (features + labels), memory.total()
    if there is not None and needed > there:
        raise ParameterError(
            f"{features:,} features and {labels:,} labels take {memory.format_bytes(needed)} at least, and this "
            f"machine has {memory.format_bytes(there)} of memory: leave out columns that never occur"
        )


def check_labels(Y: Any, owner: str = "the classifier") -> csr_matrix:
    """Return Y as a CSR indicator of float32 ones with sorted rows; it shares the arrays of a Y that is one already."""
    if Y is None:
        raise ParameterError(f"{owner} requires y to be passed, but the target y is None")
    if not sparse.issparse(Y):
        Y = as_dense_labels(Y)
    if Y.ndim != 2:
        raise ParameterError(f"Y must have two dimensions (points, labels), not {Y.ndim}")
    if sparse.issparse(Y):
        if Y.dtype.kind == "c":
            raise ParameterError(f"Y must hold zeros and ones only, not {Y.dtype} numbers")
        Y = Y.tocsr()
        _check_indices(Y, "Y")
    labels = csr_matrix(Y, dtype=np.float32)
    if not labels.has_canonical_format or not labels.data.all():
        labels = labels.copy()  # the arrays may be the caller's
        labels.sum_duplicates()
        labels.eliminate_zeros()
    other = labels.data[labels.data != 1]
    if other.size:
        raise ParameterError(f"Y must hold zeros and ones only, found {other[0]:g}: Unknown label type")
    if labels.shape[1] == 0:
        raise ParameterError("Y has no label columns: give at least one label")
    return labels


def as_dense_labels(Y: Any, name: str = "Y") -> np.ndarray:
    """Return labels as an array; ParameterError, which calls them by their name, unless it is a matrix of numbers."""
    Y = _as_array(Y, name)
    if Y.ndim == 1 and Y.dtype.kind in "biuf":
        raise ParameterError(
            f"Unknown label type: {name} must be an indicator matrix (points, labels), not a vector; "
            f"for one class a point use sklearn.preprocessing.label_binarize({name}, sparse_output=True)"
        )
    if Y.ndim != 2 or Y.dtype.kind not in "biuf":
        raise ParameterError(
            f"{name} must be a matrix of zeros and ones (points, labels), not {Y.ndim}-D {Y.dtype}; "
            "for lists of labels use sklearn.preprocessing.MultiLabelBinarizer(sparse_output=True)"
        )
    if Y.dtype.kind == "f" and not np.isfinite(Y).all():
        raise ParameterError(f"Input {name} contains NaN or infinity: it must hold zeros and ones")
    return Y


def _check_indices(matrix: Any, name: str) -> None:
    """Raise unless every stored column exists: scipy does not check, and kernels would read past the end."""
    if matrix.nnz and not 0 <= int(matrix.indices.min()) <= int(matrix.indices.max()) < matrix.shape[1]:
        raise ParameterError(
            f"{name} has column numbers from {matrix.indices.min()} to {matrix.indices.max()} but {matrix.shape[1]} "
            "columns: ids count from 0"
        )


def _as_array(values: Any, name: str) -> np.ndarray:
    """Return values as an array; ParameterError where rows differ in length."""
    try:
        return np.asarray(values)
    except ValueError as error:
        hint = "; for lists of labels use sklearn.preprocessing.MultiLabelBinarizer" if name.startswith("Y") else ""
        raise ParameterError(f"{name} must be a matrix, rows of equal length: {error}{hint}") from None


def check_count(name: str, value: object, low: int = 1) -> None:
    """Raise unless value is a whole number of at least `low`."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or int(value) < low:
        raise ParameterError(f"{name} must be a whole number of at least {low}, not {value!r}")


def _largest_magnitude(values: np.ndarray) -> Any:
    """Return the largest magnitude, NaN where there is one; without the copies that abs() or isfinite() make."""
    if not values.size:
        return 0.0
    with np.errstate(invalid="ignore"):
        return max(abs(values.max().item()), abs(values.min().item()))


def _first_bad_row(matrix: Any) -> int:
    """Return the number of the first row that has NaN or infinity."""
    if sparse.issparse(matrix):
        bad = int(np.flatnonzero(~np.isfinite(matrix.data))[0])
        return int(np.searchsorted(matrix.indptr, bad, side="right") - 1)
    return int(np.flatnonzero(~np.isfinite(matrix).all(axis=1))[0])

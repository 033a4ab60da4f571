"""Plain references that any method must beat: the most frequent labels, cosine nearest neighbours, ridge regression.

Each returns, a row a test point, the ids of its k best labels, best first, padded with -1. Ties go to the label more
frequent in training, then to the lower id. Of `Y_train` only ones are stored, as a Dataset promises.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_matrix

from neartag.core import frequent_labels as frequent
from neartag.core.errors import ParameterError
from neartag.evaluation.matches import frequencies
from neartag.linalg.products import matmul
from neartag.linalg.rows import Rows, as_rows, csr_arrays, normalise, transpose
from neartag.search import vote_kernels
from neartag.search.inverted_index import FeatureIndex

BLOCK_ROWS = 512  # test points at a time: bounds the similarities or scores held at once
CG_TOLERANCE = 1e-3  # relative residual; a hundredth of it moves P@k on the Debian corpus by 0.03 points at most
CG_MAX_ITER = 200
VOTES = ("uniform", "similarity")


def most_frequent(Y_train: csr_matrix, n: int, k: int) -> np.ndarray:
    """Return the k labels most frequent in training, the same for each of n points, (n, k)."""
    _check_positive(k=k)
    labels, _ = frequent.most_frequent(frequencies(Y_train), Y_train.shape[0], k)
    return np.tile(labels, (n, 1))


def knn_cosine(
    X_train: csr_matrix, Y_train: csr_matrix, X_test: csr_matrix, neighbours: Sequence[int], k: int
) -> dict[tuple[int, str], np.ndarray]:
    """Return the k labels with most votes among the nearest training points by cosine, (n_test, k).

    One array for each number of neighbours and each vote, "uniform" or "similarity" (each neighbour's vote weighs its
    cosine). Only points with a positive cosine are neighbours; of equal ones the lower row number is nearer.
    """
    _check_positive(k=k, **{f"neighbours[{i}]": count for i, count in enumerate(neighbours)})
    _check_shapes(X_train, Y_train, X_test)
    frequency = frequencies(Y_train)
    index = FeatureIndex(transpose(normalise(as_rows(X_train))))
    test = normalise(as_rows(X_test))
    answers = {(count, vote): np.full((test.shape[0], k), -1, dtype=np.int64) for count in neighbours for vote in VOTES}
    for start in range(0, test.shape[0], BLOCK_ROWS):
        rows = slice(start, min(start + BLOCK_ROWS, test.shape[0]))
        nearest, cosines = index.find(test[rows], max(neighbours), prune=0.0)
        for (count, vote), answer in answers.items():
            voters, weights = nearest[:, :count], cosines[:, :count]
            answer[rows] = _voted(Y_train, frequency, voters, weights > 0 if vote == "uniform" else weights, k)
    return answers


def ridge(
    X_train: csr_matrix, Y_train: csr_matrix, X_test: csr_matrix, k: int, l2: Sequence[float]
) -> dict[float, np.ndarray]:
    """Return the k labels with the highest scores of a linear ridge regression of Y on X, (n_test, k) for each l2."""
    _check_positive(k=k, **{f"l2[{i}]": strength for i, strength in enumerate(l2)})
    _check_shapes(X_train, Y_train, X_test)
    labels = _by_frequency(frequencies(Y_train))  # a stable sort of columns in this order settles ties
    train, test = as_rows(X_train), as_rows(X_test)
    train_by_feature = transpose(train)  # (d, n_train)
    target = matmul(train_by_feature, as_rows(Y_train[:, labels]))  # (d, L)
    weights = np.zeros_like(target)  # (d, L)
    answers = {}
    for strength in sorted(l2, reverse=True):  # from the easiest system on, each starting at the last one's solution
        weights = _solve_normal_equations(train, train_by_feature, target, strength, weights)
        answer = np.full((test.shape[0], k), -1, dtype=np.int64)
        for start in range(0, test.shape[0], BLOCK_ROWS):
            scores = matmul(test[start : start + BLOCK_ROWS], weights)  # (block, L)
            best = np.argsort(-scores, axis=1, kind="stable")[:, :k]
            answer[start : start + BLOCK_ROWS, : best.shape[1]] = labels[best]
        answers[strength] = answer
    return answers


def _solve_normal_equations(X: Rows, transposed: Rows, target: np.ndarray, l2: float, start: np.ndarray) -> np.ndarray:
    """Return W with (XᵀX + l2·I)·W = target, (d, L), by conjugate gradients on all columns at once.

    Jacobi preconditioned: frequent words have far larger diagonal entries than rare ones.
    """
    inverse_diagonal = 1 / (np.asarray(X.multiply(X).sum(axis=0)).reshape(-1, 1) + l2).astype(np.float32)  # (d, 1)
    weights = start.copy()  # (d, L)
    residual = target - matmul(transposed, matmul(X, weights)) - l2 * weights  # (d, L)
    direction = inverse_diagonal * residual  # (d, L)
    product = np.einsum("ij,ij->j", residual, direction)  # (L,)
    allowed = CG_TOLERANCE * np.linalg.norm(target, axis=0)  # (L,)
    for _ in range(CG_MAX_ITER):
        if np.all(np.linalg.norm(residual, axis=0) <= allowed):
            break
        applied = matmul(transposed, matmul(X, direction)) + l2 * direction  # (d, L)
        curvature = np.einsum("ij,ij->j", direction, applied)  # (L,)
        step = np.divide(product, curvature, out=np.zeros_like(product), where=curvature > 0)
        weights += step * direction
        residual -= step * applied
        preconditioned = inverse_diagonal * residual
        new_product = np.einsum("ij,ij->j", residual, preconditioned)
        direction *= np.divide(new_product, product, out=np.zeros_like(product), where=product > 0)
        direction += preconditioned
        product = new_product
    return weights


def _voted(Y: csr_matrix, frequency: np.ndarray, voters: np.ndarray, weights: np.ndarray, k: int) -> np.ndarray:
    """Return the k labels with the largest sums of their voters' weights, (m, k), -1 where there are fewer."""
    best = np.empty((len(voters), k), np.int32)
    votes = np.ascontiguousarray(voters), np.ascontiguousarray(weights, np.float64)
    scratch = np.zeros(Y.shape[1]), np.empty(Y.shape[1], np.int32)
    vote_kernels.vote_top(csr_arrays(Y), votes, frequency, scratch, best, np.empty(best.shape), 0, len(best))
    return best


def _by_frequency(frequency: np.ndarray) -> np.ndarray:
    """Return label ids from the most frequent to the least, equal ones by id."""
    return np.argsort(-frequency, kind="stable")


def _check_positive(**values: float) -> None:
    for name, value in values.items():
        if not value > 0:
            raise ParameterError(f"{name}={value!r}: must be above 0")


def _check_shapes(X_train: csr_matrix, Y_train: csr_matrix, X_test: csr_matrix) -> None:
    """Refuse matrices that do not fit together: the kernels would read beyond their ends."""
    if X_train.shape[0] != Y_train.shape[0]:
        raise ParameterError(f"X_train has {X_train.shape[0]} points, but Y_train has {Y_train.shape[0]}")
    if X_train.shape[1] != X_test.shape[1]:
        raise ParameterError(f"X_train has {X_train.shape[1]} features, but X_test has {X_test.shape[1]}")

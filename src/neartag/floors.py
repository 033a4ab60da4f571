"""Plain references that any method must beat: the most frequent labels, cosine nearest neighbours, ridge regression.

Each returns, a row a test point, the ids of its k best labels, best first, padded with -1. Ties go to the label more
frequent in training, then to the lower id.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_matrix, diags

from neartag.errors import ParameterError

BLOCK_ROWS = 512  # test points at a time: bounds the similarities or scores held at once
CG_TOLERANCE = 1e-3  # relative residual; a hundredth of it moves P@k on the Debian corpus by 0.03 points at most
CG_MAX_ITER = 200
VOTES = ("uniform", "similarity")


def most_frequent(Y_train: csr_matrix, n: int, k: int) -> np.ndarray:
    """Return the k labels most frequent in training, the same for each of n points, (n, k)."""
    _check_positive(k=k)
    frequency = _label_frequency(Y_train)
    best = _by_frequency(frequency)[:k]
    best = best[frequency[best] > 0]
    row = np.concatenate([best, np.full(k - len(best), -1)])  # (k,)
    return np.tile(row, (n, 1))


def knn_cosine(
    X_train: csr_matrix, Y_train: csr_matrix, X_test: csr_matrix, neighbours: Sequence[int], k: int
) -> dict[tuple[int, str], np.ndarray]:
    """Return the k labels with most votes among the nearest training points by cosine, (n_test, k).

    One array for each number of neighbours and each vote, "uniform" or "similarity" (each neighbour's vote weighs its
    cosine). Only points with a positive cosine are neighbours; of equal ones the lower row number is nearer.
    """
    _check_positive(k=k, **{f"neighbours[{i}]": count for i, count in enumerate(neighbours)})
    frequency = _label_frequency(Y_train)
    train_by_feature = _unit_rows(X_train).T.tocsr()  # (d, n_train)
    test = _unit_rows(X_test)
    answers = {(count, vote): np.full((test.shape[0], k), -1, dtype=np.int64) for count in neighbours for vote in VOTES}
    for start in range(0, test.shape[0], BLOCK_ROWS):
        rows = slice(start, min(start + BLOCK_ROWS, test.shape[0]))
        nearest = _largest_entries(test[rows] @ train_by_feature, max(neighbours))
        for (count, vote), answer in answers.items():
            weights = _first_entries(nearest, count)
            if vote == "uniform":
                weights.data = np.ones_like(weights.data)
            answer[rows] = _best_of_sparse(weights @ Y_train, frequency, k)
    return answers


def ridge(
    X_train: csr_matrix, Y_train: csr_matrix, X_test: csr_matrix, k: int, l2: Sequence[float]
) -> dict[float, np.ndarray]:
    """Return the k labels with the highest scores of a linear ridge regression of Y on X, (n_test, k) for each l2."""
    _check_positive(k=k, **{f"l2[{i}]": strength for i, strength in enumerate(l2)})
    labels = _by_frequency(_label_frequency(Y_train))  # a stable sort of columns in this order settles ties
    target = (X_train.T @ Y_train[:, labels]).toarray().astype(np.float32)  # (d, L)
    weights = np.zeros_like(target)  # (d, L)
    X_train = X_train.astype(np.float32)
    answers = {}
    for strength in sorted(l2, reverse=True):  # from the easiest system on, each starting at the last one's solution
        weights = _solve_normal_equations(X_train, target, strength, weights)
        answer = np.full((X_test.shape[0], k), -1, dtype=np.int64)
        for start in range(0, X_test.shape[0], BLOCK_ROWS):
            scores = X_test[start : start + BLOCK_ROWS] @ weights  # (block, L)
            best = np.argsort(-scores, axis=1, kind="stable")[:, :k]
            answer[start : start + BLOCK_ROWS, : best.shape[1]] = labels[best]
        answers[strength] = answer
    return answers


def _solve_normal_equations(X: csr_matrix, target: np.ndarray, l2: float, start: np.ndarray) -> np.ndarray:
    """Return W with (XᵀX + l2·I)·W = target, (d, L), by conjugate gradients on all columns at once.

    Jacobi preconditioned: frequent words have far larger diagonal entries than rare ones.
    """
    transposed = X.T.tocsr()  # (d, n)
    inverse_diagonal = 1 / (np.asarray(X.multiply(X).sum(axis=0)).reshape(-1, 1) + l2).astype(np.float32)  # (d, 1)
    weights = start.copy()  # (d, L)
    residual = target - transposed @ (X @ weights) - l2 * weights  # (d, L)
    direction = inverse_diagonal * residual  # (d, L)
    product = np.einsum("ij,ij->j", residual, direction)  # (L,)
    allowed = CG_TOLERANCE * np.linalg.norm(target, axis=0)  # (L,)
    for _ in range(CG_MAX_ITER):
        if np.all(np.linalg.norm(residual, axis=0) <= allowed):
            break
        applied = transposed @ (X @ direction) + l2 * direction  # (d, L)
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


def _largest_entries(similarity: csr_matrix, count: int) -> csr_matrix:
    """Return the matrix with only the `count` largest positive entries of each row, largest first."""
    columns, values, starts = [], [], [0]
    for begin, end in zip(similarity.indptr[:-1], similarity.indptr[1:], strict=True):
        row, ids = similarity.data[begin:end], similarity.indices[begin:end]
        if len(row) > count:
            # Everything tied with the last one in stays for the sort, which then decides by row number.
            near = row >= np.partition(row, len(row) - count)[len(row) - count]
            row, ids = row[near], ids[near]
        order = np.lexsort((ids, -row))[:count]
        order = order[row[order] > 0]
        columns.append(ids[order])
        values.append(row[order])
        starts.append(starts[-1] + len(order))
    return csr_matrix((np.concatenate(values), np.concatenate(columns), starts), shape=similarity.shape)


def _first_entries(matrix: csr_matrix, count: int) -> csr_matrix:
    """Return the matrix with only the first `count` stored entries of each row."""
    lengths = np.diff(matrix.indptr)
    position = np.arange(matrix.nnz) - np.repeat(matrix.indptr[:-1], lengths)
    keep = position < count
    starts = np.concatenate([[0], np.cumsum(np.minimum(lengths, count))])
    return csr_matrix((matrix.data[keep], matrix.indices[keep], starts), shape=matrix.shape)


def _best_of_sparse(votes: csr_matrix, frequency: np.ndarray, k: int) -> np.ndarray:
    """Return the ids of the k largest stored entries of each row, (n, k), -1 where there are fewer."""
    row_of = np.repeat(np.arange(votes.shape[0]), np.diff(votes.indptr))
    order = np.lexsort((votes.indices, -frequency[votes.indices], -votes.data, row_of))
    position = np.arange(votes.nnz) - votes.indptr[row_of]  # rows keep their places, so this is the rank in the row
    first = position < k
    best = np.full((votes.shape[0], k), -1, dtype=np.int64)
    best[row_of[first], position[first]] = votes.indices[order][first]
    return best


def _unit_rows(X: csr_matrix) -> csr_matrix:
    lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    return (diags(np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > 0)) @ X).tocsr()


def _label_frequency(Y: csr_matrix) -> np.ndarray:
    return np.bincount(Y.indices, minlength=Y.shape[1])


def _by_frequency(frequency: np.ndarray) -> np.ndarray:
    """Return label ids from the most frequent to the least, equal ones by id."""
    return np.argsort(-frequency, kind="stable")


def _check_positive(**values: float) -> None:
    for name, value in values.items():
        if not value > 0:
            raise ParameterError(f"{name}={value!r}: must be above 0")

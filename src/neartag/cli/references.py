"""What X1 is held against in the demo: the most frequent tags, the best plain kNN, and a linear ridge regression."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from neartag.core.errors import ParameterError

if TYPE_CHECKING:
    import numpy as np
    from scipy.sparse import csr_matrix

NEIGHBOURS = (5, 10, 20, 30, 50, 100, 200)
VOTES = ("uniform", "similarity")
# Of 0.3, 1, 3 and 10 the best at P@1, P@3 and P@5 on a tenth of the training part, whose sources were held out.
RIDGE_L2 = 3.0
HELD_OUT = 0.1  # share of the training part's source packages on which kNN's k is chosen


def references(
    X: csr_matrix, Y: csr_matrix, groups: list[str], X_test: csr_matrix, k: int
) -> Iterator[tuple[str, np.ndarray, float]]:
    """Yield each method's name, its k labels for each test point, and the seconds it took."""
    start = time.perf_counter()
    yield "most frequent tags", most_frequent(Y, X_test.shape[0], k), time.perf_counter() - start
    start = time.perf_counter()
    neighbours, vote = best_neighbours(X, Y, groups)
    labels = plain_knn(X, Y, X_test, (neighbours,), k)[neighbours, vote]
    yield f"plain kNN, the best k: {neighbours}", labels, time.perf_counter() - start
    start = time.perf_counter()
    yield "linear ridge regression", plain_ridge(X, Y, X_test, k, RIDGE_L2), time.perf_counter() - start


def best_neighbours(X: csr_matrix, Y: csr_matrix, groups: list[str]) -> tuple[int, str]:
    """Return the number of neighbours and the vote with the highest P@1 on held-out groups of the training points."""
    import numpy as np

    from neartag.evaluation import metrics

    different, group_of = np.unique(groups, return_inverse=True)
    if len(different) < 2:
        raise ParameterError("all points are of one group, so that none can be held out")
    count = max(1, round(HELD_OUT * len(different)))
    held_out = np.random.default_rng(0).permutation(len(different))[:count]
    apart = np.isin(group_of, held_out)
    answers = plain_knn(X[~apart], Y[~apart], X[apart], NEIGHBOURS, 1)
    return max(answers, key=lambda choice: metrics.precision_at(answers[choice], Y[apart], 1))


def most_frequent(Y: csr_matrix, n: int, k: int) -> np.ndarray:
    """Return the k labels most frequent in training, the same for each of n points: (n, k)."""
    import numpy as np

    from neartag.core import frequent_labels

    frequency = np.bincount(Y.indices, minlength=Y.shape[1])
    return np.tile(frequent_labels.most_frequent(frequency, Y.shape[0], k)[0], (n, 1))


def plain_knn(
    X: csr_matrix, Y: csr_matrix, X_test: csr_matrix, neighbours: Sequence[int], k: int
) -> dict[tuple[int, str], np.ndarray]:
    """Return what the kNN comparator answers, (n_test, k), for each number of neighbours and each vote.

    Neighbours are searched for once, as many as the largest number asks for, and none is missed.
    """
    import numpy as np

    from neartag.comparators.knn.classifier import KNNClassifier
    from neartag.comparators.shared.rows import prepare_rows
    from neartag.comparators.shared.scores import top_columns
    from neartag.core.threads import resolve_jobs

    model, threads = KNNClassifier().fit(X, Y).model_, resolve_jobs(-1)
    answers = {(count, vote): np.full((X_test.shape[0], k), -1) for count in neighbours for vote in VOTES}
    for first in range(0, X_test.shape[0], model.batch_rows):
        batch = slice(first, first + model.batch_rows)
        rows = prepare_rows(X_test[batch], model.settings)
        ids, nearness = model.nearest(rows, max(neighbours), threads, prune=0.0)  # (m, most)
        ids = np.where(nearness > 0, ids, -1)  # who points the other way is no neighbour
        for (count, vote), answer in answers.items():
            votes = model.vote(ids[:, :count], nearness[:, :count], vote)  # (m, seen)
            columns, shares = top_columns(votes, min(k, len(model.info.seen)), threads)
            answer[batch, : columns.shape[1]] = np.where(shares > 0, model.info.seen[columns], -1)
    return answers


def plain_ridge(X: csr_matrix, Y: csr_matrix, X_test: csr_matrix, k: int, l2: float) -> np.ndarray:
    """Return the k labels with the highest scores of a linear ridge regression of Y on X: (n_test, k)."""
    import numpy as np

    from neartag.comparators.shared.ridge import ridge
    from neartag.comparators.shared.scores import top_columns
    from neartag.core.frequent_labels import rank_by_frequency
    from neartag.core.threads import resolve_jobs
    from neartag.linalg.products import matmul
    from neartag.linalg.rows import as_rows

    threads = resolve_jobs(-1)
    # Of equal scores the lower column wins, and so the more frequent label.
    seen = rank_by_frequency(np.bincount(Y.indices, minlength=Y.shape[1]))
    weights = ridge(as_rows(X), Y[:, seen].toarray(), l2, threads)  # (d, seen)
    columns, _ = top_columns(matmul(as_rows(X_test), weights, threads), min(k, len(seen)), threads)
    labels = np.full((X_test.shape[0], k), -1)
    labels[:, : columns.shape[1]] = seen[columns]
    return labels

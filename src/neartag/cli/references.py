"""What X1 is held against in the demo: the most frequent tags, the best plain kNN, and a linear ridge regression."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from neartag.core.errors import ParameterError

if TYPE_CHECKING:
    import numpy as np
    from scipy.sparse import csr_matrix

NEIGHBOURS = (5, 10, 20, 30, 50, 100, 200)
# Of 0.3, 1, 3 and 10 the best at P@1, P@3 and P@5 on a tenth of the training part, whose sources were held out.
RIDGE_L2 = 3.0
HELD_OUT = 0.1  # share of the training part's source packages on which kNN's k is chosen


def references(
    X: csr_matrix, Y: csr_matrix, groups: list[str], X_test: csr_matrix, k: int
) -> Iterator[tuple[str, np.ndarray, float]]:
    """Yield each method's name, its k labels for each test point, and the seconds it took."""
    from neartag.evaluation import floors

    start = time.perf_counter()
    yield "most frequent tags", floors.most_frequent(Y, X_test.shape[0], k), time.perf_counter() - start
    start = time.perf_counter()
    neighbours, vote = best_neighbours(X, Y, groups)
    found = floors.knn_cosine(X, Y, X_test, (neighbours,), k)[neighbours, vote]
    yield f"plain kNN, the best k: {neighbours}", found, time.perf_counter() - start
    start = time.perf_counter()
    found = floors.ridge(X, Y, X_test, k, (RIDGE_L2,))[RIDGE_L2]
    yield "linear ridge regression", found, time.perf_counter() - start


def best_neighbours(X: csr_matrix, Y: csr_matrix, groups: list[str]) -> tuple[int, str]:
    """Return the number of neighbours and the vote with the highest P@1 on held-out groups of the training points."""
    import numpy as np

    from neartag.evaluation import floors, metrics

    different, group_of = np.unique(groups, return_inverse=True)
    if len(different) < 2:
        raise ParameterError("all points are of one group, so that none can be held out")
    count = max(1, round(HELD_OUT * len(different)))
    held_out = np.random.default_rng(0).permutation(len(different))[:count]
    apart = np.isin(group_of, held_out)
    answers = floors.knn_cosine(X[~apart], Y[~apart], X[apart], NEIGHBOURS, 1)
    return max(answers, key=lambda choice: metrics.precision_at(answers[choice], Y[apart], 1))

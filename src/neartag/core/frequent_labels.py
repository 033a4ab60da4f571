"""The most frequent labels: what a point gets on which nothing that was learned has a say."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix


def ranked(frequency: np.ndarray) -> np.ndarray:
    """Return the labels that occur, from the most frequent to the least, equal ones by id: int32."""
    order = np.argsort(-frequency, kind="stable")
    return order[frequency[order] > 0].astype(np.int32)


def most_frequent(frequency: np.ndarray, n_points: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the k most frequent labels and their shares of the points, (k,); −1 and 0 where there are fewer."""
    best = ranked(frequency)[:k]
    labels, scores = np.full(k, -1, np.int32), np.zeros(k)
    labels[: len(best)] = best
    scores[: len(best)] = frequency[best] / max(1, n_points)
    return labels, scores


def by_frequency(frequency: np.ndarray, n_points: int, rows: np.ndarray, height: int) -> csr_matrix:
    """Return scores in which some rows have each label's share of the points: CSR (height, L), other rows empty."""
    seen = np.flatnonzero(frequency)
    shares = np.tile(frequency[seen] / max(1, n_points), len(rows))
    places = (np.repeat(rows, len(seen)), np.tile(seen, len(rows)))
    return csr_matrix((shares, places), shape=(height, len(frequency)))

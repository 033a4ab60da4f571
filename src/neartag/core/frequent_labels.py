"""The most frequent labels: the answer for a point about which the model knows nothing."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix


def rank_by_frequency(frequency: np.ndarray) -> np.ndarray:
    """Return the ids of the labels that occur, the most frequent first, ties by id: int32."""
    order = np.argsort(-frequency, kind="stable")
    return order[frequency[order] > 0].astype(np.int32)


def most_frequent(frequency: np.ndarray, n_points: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the k most frequent labels and the share of points that have each, (k,); −1 and 0 if there are fewer."""
    best = rank_by_frequency(frequency)[:k]
    labels, scores = np.full(k, -1, np.int32), np.zeros(k)
    labels[: len(best)] = best
    scores[: len(best)] = frequency[best] / max(1, n_points)
    return labels, scores


def frequency_scores(frequency: np.ndarray, n_points: int, rows: np.ndarray, height: int) -> csr_matrix:
    """Return scores (height, L) in CSR: in these rows the share of points that have each label; other rows empty."""
    seen = np.flatnonzero(frequency)
    shares = np.tile(frequency[seen] / max(1, n_points), len(rows))
    places = (np.repeat(rows, len(seen)), np.tile(seen, len(rows)))
    return csr_matrix((shares, places), shape=(height, len(frequency)))

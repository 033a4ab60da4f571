"""A vote of training points: what labels they have, each weighed by how near it is."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix

from neartag.linalg import csr


def vote_shares(Y: csr_matrix, ids: np.ndarray, weights: np.ndarray) -> csr_matrix:
    """Return each label's share of the voters' weights (m, k): CSR (m, labels); ids below 0 have no vote."""
    weights = np.where((ids >= 0) & (weights > 0), weights, 0).astype(np.float32)
    cast = weights > 0
    total = weights.sum(axis=1, keepdims=True)
    shares = np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)
    scores = csr_matrix(csr.from_lists(ids, shares, Y.shape[0], cast) @ Y)  # (m, n) times (n, labels)
    scores.data = np.minimum(scores.data, 1)  # sums of rounded shares
    return scores

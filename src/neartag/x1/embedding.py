"""Where a point lies: V·x, by the regressors that a cluster has learned (Algorithm 1, line 7; Algorithm 2, line 2)."""

from __future__ import annotations

import numpy as np

from neartag.linalg.products import matmul
from neartag.linalg.rows import Rows


def embed(X: Rows, weights: Rows, zero_below: float = 0.0, threads: int = 1) -> np.ndarray:
    """Return V·x of each row (n, dim), small entries set to zero where the regression was made sparse."""
    embedded = matmul(X, weights, threads)
    if zero_below > 0:
        embedded[np.abs(embedded) < zero_below] = 0
    return embedded

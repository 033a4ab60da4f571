"""What the tests of hybrid rows share: a small problem of words and vectors, each of which tells half of the labels."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix

from neartag.linalg.hybrid_rows import HybridRows

SMALL = {"n_learners": 1, "n_clusters": 1, "embedding_dim": 16, "svp_neighbours": 20, "n_jobs": 1}


def hybrid_problem(
    n: int = 320, labels: int = 24, dim: int = 16, seed: int = 0, noise: float = 0.4
) -> tuple[HybridRows, csr_matrix]:
    """Return points of two labels each: one shows in a word, the other in the direction of the vector.

    The first points lack a part: their words, their vectors, or both.
    """
    random = np.random.default_rng(seed)
    half, words = labels // 2, 60
    places = np.random.default_rng(99).standard_normal((half, dim))  # the same for every seed
    X, Y = np.zeros((n, half + words), np.float32), np.zeros((n, labels), np.float32)
    by_word, by_vector = random.integers(half, size=n), random.integers(half, size=n)
    for point in range(n):
        X[point, by_word[point]] = 2
        X[point, half + random.choice(words, 5, replace=False)] = 1
        Y[point, [by_word[point], half + by_vector[point]]] = 1
    vectors = (places[by_vector] + noise * random.standard_normal((n, dim))).astype(np.float32)
    X[0], vectors[1], X[2], vectors[2] = 0, 0, 0, 0
    X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-9)
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    return HybridRows(csr_matrix(X), vectors), csr_matrix(Y)

"""A voter beside the paper's: the nearest training points by the features themselves.

An embedding keeps what many labels have in common and blurs what is rare; a single shared rare word is the opposite.
Given a share of the vote, neighbours by raw features help wherever words are sharp. Share 0 is the paper's method.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from neartag import kernels
from neartag.rows import Rows, dense, parts, transpose
from neartag.threads import run_ranges
from neartag.x1.vote import nearest

# Sharpness of this voter's weights: cosines of raw text rows are low, so a milder slope than the embedding's serves.
SHARPNESS = 10.0


@dataclass
class FeatureIndex:
    """Training rows of unit length, ready to be searched: dense (n, d), or the lists of rows that have each feature."""

    postings: Rows  # CSR (d, n), or dense (n, d)

    @classmethod
    def of(cls, rows: Rows) -> FeatureIndex:
        """Return the index of unit rows."""
        return cls(transpose(rows) if sparse.issparse(rows) else rows)

    def find(self, X: Rows, count: int, threads: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the training rows with the largest cosine to each row of X, and the cosines (m, count), best first."""
        if not sparse.issparse(self.postings):
            ids, cosines = nearest(dense(X), self.postings, count, threads)
            # As in the sparse index: who shares nothing with a point does not vote on it.
            ids[cosines == 0], cosines[cosines == 0] = -1, -np.inf
            return ids, cosines
        queries = X if sparse.issparse(X) else sparse.csr_matrix(X)
        m = queries.shape[0]
        ids = np.empty((m, count), np.int32)
        cosines = np.empty((m, count), np.float32)
        arguments = (*parts(queries), *parts(self.postings), self.postings.shape[1], ids, cosines)
        run_ranges(kernels.sparse_top, m, threads, *arguments, work=queries.indptr)
        return ids, cosines

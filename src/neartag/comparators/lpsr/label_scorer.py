"""A score of each label that is linear in the features, kept so that some labels of a point can be scored alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse import csr_matrix

from neartag.comparators.lpsr import kernels
from neartag.core.threads import run_ranges
from neartag.linalg.products import matmul
from neartag.linalg.rows import Rows, csr_arrays, transpose


@dataclass(frozen=True)
class LabelScorer:
    """The scores ⟨x, table_y⟩ + prior_y + |x|·slope_y − ⟨x, common⟩ of labels y, |x| the sum of the point's features.

    What every feature adds to a label is in its slope, so that the table has only what some add beyond it.
    """

    table: csr_matrix  # (labels, d)
    prior: np.ndarray  # (labels,) float32
    slope: np.ndarray  # (labels,) float32
    common: np.ndarray  # (d,) float32, the same for all labels

    def of_labels(self, rows: Rows, labels: np.ndarray, threads: int = 1) -> np.ndarray:
        """Return the scores of some labels for each row, (m, labels given)."""
        scores = matmul(rows, transpose(self.table[labels]), threads)  # (m, labels given)
        scores += np.outer(mass(rows), self.slope[labels])
        scores += self.prior[labels]
        scores -= self._common_scores(rows)[:, None]
        return scores

    def of_pattern(self, rows: Rows, pattern: csr_matrix, threads: int = 1) -> np.ndarray:
        """Return the scores of the labels that each row has in a CSR pattern (m, labels), one for each entry of it."""
        sparse_rows = csr_arrays(csr_matrix(rows))
        indptr, indices, _ = csr_arrays(pattern)
        out = np.empty(len(indices), np.float32)
        arrays = (sparse_rows, csr_arrays(self.table), indptr, indices, self.table.shape[1], out)
        run_ranges(kernels.pattern_products, len(indptr) - 1, threads, *arrays, work=indptr)
        lengths = np.diff(indptr)
        out += np.repeat(mass(rows), lengths) * self.slope[indices]
        out += self.prior[indices]
        out -= np.repeat(self._common_scores(rows), lengths)
        return out

    def _common_scores(self, rows: Rows) -> np.ndarray:
        return np.asarray(rows @ self.common, np.float32)


def mass(rows: Rows) -> np.ndarray:
    """Return the sum of each row's features, (m,) float32."""
    total = rows.sum(axis=1, dtype=np.float64) if not sparse.issparse(rows) else rows.astype(np.float64).sum(axis=1)
    return np.asarray(total, np.float32).ravel()

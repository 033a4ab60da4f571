"""Multinomial naive Bayes, each label against the rest, in tables as sparse as the data: LPSR's cheap base scorer.

McCallum, Nigam, "A comparison of event models for naive Bayes text classification", 1998.

A label's score is the log of the odds that a point has it, given its features x ≥ 0:

    log p_y / (1 − p_y) + Σⱼ xⱼ · log θ_yj / θ̄_yj,   θ_yj = (N_yj + s) / (N_y + s·d)

N_yj is the sum of feature j over the points with label y, N_y their sum over all features, θ̄ the same of all other
points, s the smoothing. As N_yj is zero for most j, log θ_yj is log s − log(N_y + s·d) there, and log θ̄_yj is
log(N_j + s) − log(N − N_y + s·d), N_j of all points. What differs from that is stored: an entry for each label and
feature that occur together. The result is exact.

Cost: Σᵢ |xᵢ|·|yᵢ| steps and, in bytes, at most some 30 times that, for numbers |xᵢ| of features and |yᵢ| of labels.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse import csr_matrix

from neartag.comparators.lpsr.label_scorer import LabelScorer
from neartag.core.errors import ParameterError
from neartag.linalg.rows import Rows


def fit_naive_bayes(rows: Rows, Y: csr_matrix, smoothing: float) -> LabelScorer:
    """Return the log odds of each label of Y (n, labels) as a function of rows (n, d)."""
    values = rows.data if sparse.issparse(rows) else rows
    if values.size and float(values.min()) < 0:
        raise ParameterError("naive_bayes needs features of at least 0, and X has smaller ones: use another scorer")
    n, d = rows.shape
    together = csr_matrix(Y.T @ rows)  # (labels, d), N_yj
    together.sort_indices()
    by_feature = np.asarray(rows.sum(axis=0, dtype=np.float64)).ravel()  # N_j
    by_label = np.asarray(together.sum(axis=1, dtype=np.float64)).ravel()  # N_y
    points = np.bincount(Y.indices, minlength=Y.shape[1])
    # Of a label that all have, or nobody, the odds are those of half a point, so that they are finite.
    prior = np.log(np.maximum(points, 0.5) / np.maximum(n - points, 0.5))
    rest = np.maximum(by_feature.sum() - by_label, 0)
    slope = np.log(smoothing) - np.log(by_label + smoothing * d) + np.log(rest + smoothing * d)
    counts = together.data.astype(np.float64)
    # Sums of rounded numbers: what others have of a feature may come out below zero.
    others = np.maximum(by_feature[together.indices] - counts, 0)
    beyond = np.log1p(counts / smoothing)
    beyond += np.log(by_feature[together.indices] + smoothing) - np.log(others + smoothing)
    table = csr_matrix((beyond.astype(np.float32), together.indices, together.indptr), shape=together.shape)
    common = np.log(by_feature + smoothing)
    return LabelScorer(table, *(each.astype(np.float32) for each in (prior, slope, common)))

"""A learner of LocalLEML: a clustering, and in each cluster a regression over the cluster's own features and labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import csr_matrix

from neartag.comparators.leml.alternation import factorise
from neartag.comparators.shared.model import dimension
from neartag.core.progress import Progress
from neartag.core.threads import single_threaded_blas
from neartag.linalg.products import matmul, matmul_rows
from neartag.linalg.rows import Rows, compact, select_columns, used_columns
from neartag.x1.centroids import route


@dataclass
class LocalFactors:
    """A cluster's regression, over its own features and labels."""

    W: np.ndarray  # (features, r)
    H: np.ndarray  # (labels, r)
    labels: np.ndarray  # (labels,) int32, rising: which of those seen its points have
    features: np.ndarray | None  # (features,) int32, rising: which columns its points have; None: all

    def scores(self, rows: Rows, width: int, threads: int) -> csr_matrix:
        """Return what the regression gives for the cluster's labels: CSR (m, width)."""
        known = matmul(select_columns(rows, self.features), self.W, threads)  # (m, r)
        raw = matmul_rows(known, self.H.T, threads)  # (m, labels)
        pointer = np.arange(len(raw) + 1, dtype=np.int64) * len(self.labels)
        return csr_matrix((raw.ravel(), np.tile(self.labels, len(raw)), pointer), (len(raw), width))


@dataclass
class LocalLearner:
    """A clustering with the regression of each cluster."""

    centroids: np.ndarray  # (d, C), of the features alone
    clusters: list[LocalFactors]

    def scores(self, rows: Rows, unit: Rows, width: int, threads: int) -> csr_matrix:
        """Return each row's scores by its cluster, CSR (m, width); `unit` are the rows as they were clustered."""
        routes = route(unit, self.centroids, 1, threads)[:, 0]  # (m,)
        order = np.argsort(routes, kind="stable")
        bounds = np.searchsorted(routes[order], np.arange(len(self.clusters) + 1))
        blocks = [
            cluster.scores(rows[order[first:last]], width, threads)
            for cluster, first, last in zip(self.clusters, bounds[:-1], bounds[1:], strict=True)
        ]
        back = np.empty(len(order), np.int64)
        back[order] = np.arange(len(order))
        return csr_matrix(sparse.vstack(blocks, format="csr")[back])


def fit_cluster(
    rows: Rows, Y: csr_matrix, settings: dict[str, Any], seed: int, threads: int, progress: Progress
) -> LocalFactors:
    """Return the regression of a cluster's points."""
    labels = np.unique(Y.indices).astype(np.int32)
    rows, features = used_columns(rows)
    if not len(labels):  # none of its points has any
        progress.advance(settings["max_iter"])
        return LocalFactors(np.zeros((rows.shape[1], 1), np.float32), np.zeros((0, 1), np.float32), labels, features)
    with single_threaded_blas():
        factors = factorise(
            compact(rows),
            select_columns(Y, labels),
            dimension(settings["rank"], len(labels)),
            settings["l2"],
            max_iter=settings["max_iter"],
            cg_max_iter=settings["cg_max_iter"],
            seed=seed,
            threads=threads,
            progress=progress,
        )
    return LocalFactors(factors.W, factors.H, labels, features)

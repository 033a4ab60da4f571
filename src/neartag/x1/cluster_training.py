"""How a learner is trained: a partition, and in each cluster an embedding and its regressors (Algorithm 1)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.sparse import csr_matrix

from neartag.core.threads import single_threaded_blas
from neartag.linalg.rows import Rows, compact, is_dense, normalise, used_columns
from neartag.x1.centroids import Partition
from neartag.x1.embedding import embed
from neartag.x1.kmeans import partition
from neartag.x1.label_graph import neighbour_graph
from neartag.x1.learner import Cluster
from neartag.x1.parameters import UNLIMITED
from neartag.x1.regression import CG_TOLERANCE, CG_TOLERANCE_RERANKED, admm
from neartag.x1.settings import ClusterSettings, X1Settings
from neartag.x1.svp import svp

# Unless told otherwise no cluster may be larger than so many times the average: k-means on short texts makes giants.
MAX_SIZE_RATIO = 3
# Whole projections of SVP are rounds of Rayleigh–Ritz, each from the last step's eigenvectors: at most so many, fewer
# once they are as exact as this: the objective of each step is then that of the textbook's to three digits.
EXACT_SWEEPS, EXACT_TOL = 20, 1e-3
# Squares summed at once in float32.
SUM_BLOCK = 2**16
# Where votes only propose and a reranker decides, half of a cluster's points teach its embedding, and no fewer than
# these: with all of them no figure on held-out fifths of five sets was better. Measurements, unlike words, are cheap.
MIN_TAUGHT_RERANKED = 8000


def count_taught(X: Rows, settings: X1Settings) -> int:
    """Return how many of a cluster's rows its embedding is learned from."""
    n = X.shape[0]
    everybody = not settings.rerank.enabled or is_dense(X) or settings.regression.l2 == 0  # columns may then be empty
    return n if everybody else min(n, max(MIN_TAUGHT_RERANKED, -(-n // 2)))


def max_cluster_size(settings: ClusterSettings, n: int) -> int:
    """Return how many of n points a cluster may have."""
    if settings.max_size == UNLIMITED:
        return n
    return int(settings.max_size or max(2, -(-MAX_SIZE_RATIO * n // int(settings.count))))


def make_partition(X: Rows, settings: ClusterSettings, seed: int, threads: int) -> Partition:
    """Return a learner's partition of unit rows."""
    count, largest = int(settings.count), max_cluster_size(settings, X.shape[0])
    with single_threaded_blas():
        return partition(
            X,
            count,
            max_size=largest,
            start=settings.start,
            plain=settings.k_means == "plain",
            centroid_entries=settings.centroid_entries,
            seed=seed,
            threads=threads,
        )


def cluster_steps(settings: X1Settings) -> int:
    """Return how many steps `train_cluster` reports: the graph, each step of SVP, the regression."""
    return int(settings.svp.max_iter) + 2


def train_cluster(
    X: Rows,
    Y: csr_matrix,
    members: np.ndarray,
    settings: X1Settings,
    seed: int,
    threads: int,
    report: Callable[[int], None] | None = None,
) -> Cluster:
    """Return a trained cluster (lines 3 to 7 of Algorithm 1). A pure function of its arguments; nothing is "auto".

    Of many points only some teach, where a reranker decides; the others are embedded as a new point would be.
    `report` is told how many steps were done, `cluster_steps` of them in all.
    """
    report = report or (lambda steps: None)
    options, penalties = settings.svp, settings.regression
    steps = int(options.max_iter)
    taught = count_taught(X, settings)
    with single_threaded_blas():
        everybody, features = used_columns(X)  # of all points: a column that no point that teaches has gets no weight
        X = everybody = compact(everybody)
        if taught < X.shape[0]:
            some = np.sort(np.random.default_rng(seed).choice(X.shape[0], taught, replace=False))
            X, Y = X[some], Y[some]
        # Line 3: Ω, and the label similarities on it.
        graph = neighbour_graph(Y, int(options.neighbours), similarity=options.similarity, threads=threads)  # (N, N)
        report(1)
        embedding = svp(  # lines 4 and 5: Z, embedding.points
            graph,
            int(options.dim),
            step=options.step,
            max_iter=steps,
            tol=options.tol,
            sweeps=EXACT_SWEEPS if options.projection == "exact" else 0,
            sweep_tol=EXACT_TOL,
            seed=seed,
            threads=threads,
            report=report,
        )
        report(steps - len(embedding.objective))
        regression = admm(  # line 6: V
            X,
            embedding.points,
            l2=float(penalties.l2),
            l1=penalties.l1,
            rho=penalties.rho,
            max_iter=penalties.max_iter,
            tol=penalties.tol,
            keep=penalties.keep_weights,
            tolerance=CG_TOLERANCE_RERANKED if settings.rerank.enabled else CG_TOLERANCE,
            threads=threads,
        )
        embedded = embed(everybody, regression.weights, regression.zero_below, threads)  # line 7: V·X (N, dim)
        report(1)
    whole = sum(float(np.dot(part, part)) for part in np.array_split(graph.data, 1 + len(graph.data) // SUM_BLOCK))
    return Cluster(
        members=np.asarray(members, np.int32),
        weights=regression.weights,
        points=embedded if settings.vote.distance == "euclidean" else normalise(embedded),
        zero_below=regression.zero_below,
        features=features,
        history=np.array(embedding.objective) / max(whole, np.finfo(np.float64).tiny),
    )

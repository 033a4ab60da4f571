"""LocalLEML: LEML by itself in each of the clusters that X1 would use, and an ensemble of such clusterings.

Bhatia, Jain, Kar, Varma, Jain, "Sparse local embeddings for extreme multi-label classification", NIPS 2015, section 4,
where it answers whether X1's gain is from clustering alone; LEML is Yu, Jain, Kar, Dhillon 2014 (see `leml`).

Objective, in each cluster c of each learner, over the features and labels that its points have:

    min over W, H of ½ ‖Y_c − X_c W Hᵀ‖² + ½ λ (‖W‖² + ‖H‖²)

A point goes to its nearest centroid, whose regression scores the cluster's own labels; scores are averaged over the
learners, a label that a cluster does not know counting as 0. The clusters are made by X1's own code from the same
seeds: the same settings give the same clusters to the last point.

Cost: k-means, then LEML's with each cluster's own n, d and L; together no more than LEML's a learner. Memory: one
cluster a core at a time, and all factors, learners · clusters · (d_c + L_c) · r numbers. Predicting a point takes
d̄ · C + d̄ · r + L_c · r a learner.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy import sparse
from scipy.sparse import csr_matrix

from neartag.comparators.base import Comparator, Shape, from_table
from neartag.comparators.leml import MIDDLE, leml
from neartag.comparators.leml_steps import problem_bytes
from neartag.comparators.model import (
    BATCH_ROWS,
    BATCH_SCORES,
    Facts,
    ScoringModel,
    State,
    check_array,
    dimension,
    to_unit_interval,
)
from neartag.core.progress import Progress
from neartag.core.threads import single_threaded_blas
from neartag.linalg.packing import require, within
from neartag.linalg.products import matmul, matmul_rows
from neartag.linalg.rows import Rows, compact, normalise, select_columns, used_columns
from neartag.x1.ensemble import make_partitions
from neartag.x1.kmeans import Partition, route
from neartag.x1.learner import LARGEST_SHARE
from neartag.x1.resolve import partition_counts
from neartag.x1.settings import ClusterSettings


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


def unit_rows(rows: Rows, settings: dict[str, Any]) -> Rows:
    """Return the rows that X1 clusters and routes: without the constant, of unit length."""
    if settings["bias"] > 0:
        rows = rows[:, :-1] if sparse.issparse(rows) else np.ascontiguousarray(rows[:, :-1])
    return normalise(rows)


def clusterings(
    unit: Rows, settings: dict[str, Any], seeds: list[np.random.SeedSequence], threads: int
) -> list[Partition]:
    """Return the partitions of X1's learners, of which `seeds` are the seeds; a single one where it has one cluster."""
    count, size, start = (settings[name] for name in ("n_clusters", "max_cluster_size", "cluster_start"))
    return make_partitions(unit, ClusterSettings(count, max_size=size, start=start), seeds, threads)


def settled(points: int, settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings with the numbers of learners and clusters that X1 would choose."""
    learners, clusters = partition_counts(points, settings["n_learners"], settings["n_clusters"])
    return {**settings, "n_learners": learners, "n_clusters": clusters}


def train_cluster(
    rows: Rows, Y: csr_matrix, settings: dict[str, Any], seed: int, threads: int, progress: Progress
) -> LocalFactors:
    """Return the regression of a cluster's points."""
    labels = np.unique(Y.indices).astype(np.int32)
    rows, features = used_columns(rows)
    if not len(labels):  # none of its points has any
        progress.advance(settings["max_iter"])
        return LocalFactors(np.zeros((rows.shape[1], 1), np.float32), np.zeros((0, 1), np.float32), labels, features)
    with single_threaded_blas():
        found = leml(
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
    return LocalFactors(found.W, found.H, labels, features)


@dataclass(repr=False)
class LocalLEMLModel(ScoringModel):
    """Learners, each a clustering with a regression a cluster."""

    kind = "local_leml"

    learners: list[LocalLearner]

    @property
    def batch_rows(self) -> int:
        """Rows answered at once: a row has no more scores than its clusters have labels."""
        most = sum(max(len(cluster.labels) for cluster in learner.clusters) for learner in self.learners)
        return max(1, min(BATCH_ROWS, BATCH_SCORES // max(1, most)))

    def scores(self, rows: Rows, threads: int) -> csr_matrix:
        """Return the mean over the learners of what each row's clusters give, 0.5 where they are undecided."""
        unit, width = unit_rows(rows, self.settings), self.facts.width
        total = csr_matrix((rows.shape[0], width), dtype=np.float32)
        for learner in self.learners:
            total = total + learner.scores(rows, unit, width, threads)
        total.eliminate_zeros()
        total.data = to_unit_interval(total.data / len(self.learners), MIDDLE)
        return csr_matrix(total)

    def state(self) -> State:
        """Return each learner's centroids and factors."""
        parts: State = {}
        for number, learner in enumerate(self.learners):
            part = parts[f"learner-{number:03d}"] = {"centroids": learner.centroids}
            for c, cluster in enumerate(learner.clusters):
                part |= {f"W-{c}": cluster.W, f"H-{c}": cluster.H, f"labels-{c}": cluster.labels}
                if cluster.features is not None:
                    part[f"features-{c}"] = cluster.features
        return parts

    @classmethod
    def rebuilt(cls, facts: Facts, state: State) -> LocalLEMLModel:
        """Return the model of a state."""
        require(len(state) > 0, "the model has no learner")
        learners = []
        for number in range(len(state)):
            part = f"learner-{number:03d}"
            clusters = len(_matrix(state, part, "centroids").T)
            require(clusters > 0, f"learner {number} has no cluster")
            centroids = check_array(state, part, "centroids", (facts.n_features, clusters))
            learners.append(LocalLearner(centroids, [_rebuilt(facts, state, part, c) for c in range(clusters)]))
        return cls(facts, learners)


def _rebuilt(facts: Facts, state: State, part: str, c: int) -> LocalFactors:
    rank = _matrix(state, part, f"W-{c}").shape[1]
    labels = _columns(state, part, f"labels-{c}", facts.width)
    features = _columns(state, part, f"features-{c}", facts.columns) if f"features-{c}" in state[part] else None
    require(features is None or len(features) > 0, f"features-{c} are none")
    W = check_array(state, part, f"W-{c}", (facts.columns if features is None else len(features), rank))
    _matrix(state, part, f"H-{c}")
    return LocalFactors(W, check_array(state, part, f"H-{c}", (len(labels), rank)), labels, features)


def _matrix(state: State, part: str, name: str) -> np.ndarray:
    found = state[part][name]
    require(isinstance(found, np.ndarray) and found.ndim == 2, f"{name} is no dense matrix")
    return found


def _columns(state: State, part: str, name: str, bound: int) -> np.ndarray:
    """Return column numbers that rise and stay below the bound."""
    found = state[part][name]
    require(isinstance(found, np.ndarray) and found.ndim == 1 and found.dtype == np.int32, f"{name} are no numbers")
    rising = within(found, bound) and bool((np.diff(found.astype(np.int64)) > 0).all())
    require(rising, f"{name} do not rise within {bound}")
    return found


@from_table
class LocalLEMLClassifier(Comparator):
    """LEML in each of X1's clusters, averaged over an ensemble of clusterings."""

    method = "local_leml"

    def _train(self, rows: Rows, Y: csr_matrix, facts: Facts, threads: int, progress: Progress) -> LocalLEMLModel:
        settings = settled(facts.n_points, facts.settings)
        # As X1 does, so that the clusters are the same: a sequence of its own for each learner.
        seeds = np.random.SeedSequence(settings["random_state"]).spawn(settings["n_learners"])
        partitions = clusterings(unit_rows(rows, settings), settings, seeds, threads)
        settings["n_learners"] = len(partitions)
        tasks = [(number, c) for number, each in enumerate(partitions) for c in range(each.n_clusters)]
        at_once = min(threads, len(tasks))

        def train(number: int, c: int) -> LocalFactors:
            members = np.flatnonzero(partitions[number].assignment == c)
            seed = int(seeds[number].generate_state(1)[0]) + c
            return train_cluster(rows[members], Y[members], settings, seed, threads // at_once, progress)

        with progress.start(len(tasks) * settings["max_iter"], "alternating"):
            trained = Parallel(n_jobs=at_once, prefer="threads")(delayed(train)(*task) for task in tasks)
        by_task = dict(zip(tasks, trained, strict=True))
        learners = [
            LocalLearner(each.centroids, [by_task[number, c] for c in range(each.n_clusters)])
            for number, each in enumerate(partitions)
        ]
        return LocalLEMLModel(replace(facts, settings=settings), learners)

    def _memory(self, shape: Shape, settings: dict[str, Any], threads: int) -> int:
        settings = settled(shape.points, settings)
        learners, clusters = settings["n_learners"], settings["n_clusters"]
        # The largest cluster may have so much of everything.
        share = min(1.0, LARGEST_SHARE / clusters)
        part = Shape(*(max(1, int(share * each)) for each in shape))
        part = part._replace(features=shape.features, labels=min(shape.labels, part.ones))
        rank = min(dimension(settings["rank"], shape.labels), part.points)
        sides = min(clusters * shape.features, shape.entries) + min(clusters * shape.labels, shape.ones)
        at_once = min(threads, learners * clusters)
        copies = 2 * 8 * (part.entries + part.ones)
        clustering = 24 * shape.entries + 8 * threads * shape.features * clusters
        return clustering + learners * 4 * sides * rank + at_once * (copies + problem_bytes(part, rank, 1))

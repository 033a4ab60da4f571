"""The estimator of LocalLEML and its model: learners, clusters, and a regression in each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy.sparse import csr_matrix

from neartag.comparators.leml.classifier import MIDDLE_SCORE
from neartag.comparators.leml.steps import problem_bytes
from neartag.comparators.local_leml import CLUSTERING, METHOD
from neartag.comparators.local_leml.learner import LocalFactors, LocalLearner, fit_cluster
from neartag.comparators.shared.arrays import Arrays, check_array
from neartag.comparators.shared.base import Comparator, Shape
from neartag.comparators.shared.model import BATCH_ROWS, BATCH_SCORES, FitInfo, ScoringModel, dimension
from neartag.comparators.shared.rows import without_constant
from neartag.comparators.shared.scores import to_unit_interval
from neartag.core.progress import Progress
from neartag.linalg.packing import are_within, require
from neartag.linalg.rows import Rows, normalise
from neartag.x1.centroids import Partition
from neartag.x1.cluster_training import MAX_SIZE_RATIO
from neartag.x1.ensemble import make_partitions
from neartag.x1.resolve import partition_counts
from neartag.x1.settings import ClusterSettings


def unit_rows(rows: Rows, settings: dict[str, Any]) -> Rows:
    """Return the rows that X1 clusters and routes: without the constant, of unit length."""
    return normalise(without_constant(rows, rows.shape[1] - (settings["bias"] > 0)))


def make_clusterings(
    unit: Rows, settings: dict[str, Any], seeds: list[np.random.SeedSequence], threads: int
) -> list[Partition]:
    """Return the partitions of X1's learners, of which `seeds` are the seeds; a single one where it has one cluster."""
    count, size, start, k_means = (settings[name] for name in CLUSTERING[1:])
    options = ClusterSettings(count, max_size=size, start=start, k_means=k_means)
    return make_partitions(unit, options, seeds, threads)


def resolve_partition(points: int, labels: int, settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings with the numbers of learners and clusters that X1 would choose."""
    learners, clusters = partition_counts(points, settings["n_learners"], settings["n_clusters"], labels)
    return {**settings, "n_learners": learners, "n_clusters": clusters}


@dataclass(repr=False)
class LocalLEMLModel(ScoringModel):
    """Learners, each a clustering with a regression a cluster."""

    method = METHOD

    learners: list[LocalLearner]

    @property
    def batch_rows(self) -> int:
        """Rows answered at once: a row has no more scores than its clusters have labels."""
        most = sum(max(len(cluster.labels) for cluster in learner.clusters) for learner in self.learners)
        return max(1, min(BATCH_ROWS, BATCH_SCORES // max(1, most)))

    def scores(self, rows: Rows, threads: int) -> csr_matrix:
        """Return the mean over the learners of what each row's clusters give, 0.5 where they are undecided."""
        unit, width = unit_rows(rows, self.settings), self.info.width
        total = csr_matrix((rows.shape[0], width), dtype=np.float32)
        for learner in self.learners:
            total = total + learner.scores(rows, unit, width, threads)
        total.eliminate_zeros()
        total.data = to_unit_interval(total.data / len(self.learners), MIDDLE_SCORE)
        return csr_matrix(total)

    def arrays(self) -> Arrays:
        """Return each learner's centroids and factors."""
        parts: Arrays = {}
        for number, learner in enumerate(self.learners):
            part = parts[f"learner-{number:03d}"] = {"centroids": learner.centroids}
            for c, cluster in enumerate(learner.clusters):
                part |= {f"W-{c}": cluster.W, f"H-{c}": cluster.H, f"labels-{c}": cluster.labels}
                if cluster.features is not None:
                    part[f"features-{c}"] = cluster.features
        return parts

    @classmethod
    def from_arrays(cls, info: FitInfo, arrays: Arrays) -> LocalLEMLModel:
        """Return the model of such arrays."""
        require(len(arrays) > 0, "the model has no learner")
        learners = []
        for number in range(len(arrays)):
            part = f"learner-{number:03d}"
            clusters = len(_read_matrix(arrays, part, "centroids").T)
            require(clusters > 0, f"learner {number} has no cluster")
            centroids = check_array(arrays, part, "centroids", (info.n_features, clusters))
            learners.append(LocalLearner(centroids, [_read_cluster(info, arrays, part, c) for c in range(clusters)]))
        return cls(info, learners)


def _read_cluster(info: FitInfo, arrays: Arrays, part: str, c: int) -> LocalFactors:
    rank = _read_matrix(arrays, part, f"W-{c}").shape[1]
    labels = _read_columns(arrays, part, f"labels-{c}", info.width)
    features = _read_columns(arrays, part, f"features-{c}", info.columns) if f"features-{c}" in arrays[part] else None
    require(features is None or len(features) > 0, f"features-{c} are none")
    W = check_array(arrays, part, f"W-{c}", (info.columns if features is None else len(features), rank))
    _read_matrix(arrays, part, f"H-{c}")
    return LocalFactors(W, check_array(arrays, part, f"H-{c}", (len(labels), rank)), labels, features)


def _read_matrix(arrays: Arrays, part: str, name: str) -> np.ndarray:
    array = arrays[part][name]
    require(isinstance(array, np.ndarray) and array.ndim == 2, f"{name} is no dense matrix")
    return array


def _read_columns(arrays: Arrays, part: str, name: str, bound: int) -> np.ndarray:
    """Return column numbers that rise and stay below the bound."""
    array = arrays[part][name]
    require(isinstance(array, np.ndarray) and array.ndim == 1 and array.dtype == np.int32, f"{name} are no numbers")
    rising = are_within(array, bound) and bool((np.diff(array.astype(np.int64)) > 0).all())
    require(rising, f"{name} do not rise within {bound}")
    return array


class LocalLEMLClassifier(Comparator):
    """LEML in each of X1's clusters, averaged over an ensemble of clusterings."""

    method = METHOD

    def _train(self, rows: Rows, Y: csr_matrix, info: FitInfo, threads: int, progress: Progress) -> LocalLEMLModel:
        settings = resolve_partition(info.n_points, Y.shape[1], info.settings)
        # As X1 does, so that the clusters are the same: a sequence of its own for each learner.
        seeds = np.random.SeedSequence(settings["random_state"]).spawn(settings["n_learners"])
        partitions = make_clusterings(unit_rows(rows, settings), settings, seeds, threads)
        settings["n_learners"] = len(partitions)
        tasks = [(number, c) for number, each in enumerate(partitions) for c in range(each.n_clusters)]
        at_once = min(threads, len(tasks))

        def train(number: int, c: int) -> LocalFactors:
            members = np.flatnonzero(partitions[number].assignment == c)
            seed = int(seeds[number].generate_state(1)[0]) + c
            return fit_cluster(rows[members], Y[members], settings, seed, threads // at_once, progress)

        with progress.start(len(tasks) * settings["max_iter"], "alternating"):
            trained = Parallel(n_jobs=at_once, prefer="threads")(delayed(train)(*task) for task in tasks)
        by_task = dict(zip(tasks, trained, strict=True))
        learners = [
            LocalLearner(each.centroids, [by_task[number, c] for c in range(each.n_clusters)])
            for number, each in enumerate(partitions)
        ]
        return LocalLEMLModel(replace(info, settings=settings), learners)

    def _memory(self, shape: Shape, settings: dict[str, Any], threads: int) -> int:
        settings = resolve_partition(shape.points, shape.labels, settings)
        learners, clusters = settings["n_learners"], settings["n_clusters"]
        # The largest cluster may have so much of everything.
        share = min(1.0, MAX_SIZE_RATIO / clusters)
        part = Shape(*(max(1, int(share * each)) for each in shape))
        part = part._replace(features=shape.features, labels=min(shape.labels, part.ones))
        rank = min(dimension(settings["rank"], shape.labels), part.points)
        sides = min(clusters * shape.features, shape.entries) + min(clusters * shape.labels, shape.ones)
        at_once = min(threads, learners * clusters)
        copies = 2 * 8 * (part.entries + part.ones)
        clustering = 24 * shape.entries + 8 * threads * shape.features * clusters
        return clustering + learners * 4 * sides * rank + at_once * (copies + problem_bytes(part, rank, 1))

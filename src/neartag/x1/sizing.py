"""The plan of a training of data that need not be there: from points, features and labels to tasks and their amounts.

A job has the real plan, with the real tasks, of data of a shape. Only what the data decide is assumed: how uneven
clusters are, and how frequent the labels. The amounts of a task are what its time, its memory and its part grow with;
`work/rates.py` learns from measured tasks what one of each costs.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from math import sqrt
from typing import Any

import numpy as np

from neartag.rerank.candidates import candidates_per_average
from neartag.rerank.label_centroids import ENTRIES_KEPT_OF_MANY
from neartag.rerank.plan import RerankPlan
from neartag.rerank.preparation import RerankOptions
from neartag.search.inverted_index import MAX_ENTRIES_READ
from neartag.work.data import GIVEN
from neartag.work.graph import Graph
from neartag.work.rates import Amounts
from neartag.work.task import Task
from neartag.x1.kmeans import MAX_FLAT_CLUSTERS
from neartag.x1.kmeans_blocks import sample_points
from neartag.x1.parts import RUN
from neartag.x1.plan import Room, TrainingPlan
from neartag.x1.resolve import DataFacts, held_out_count, resolve
from neartag.x1.selection import first_choices
from neartag.x1.settings import X1Settings
from neartag.x1.shape import Shape
from neartag.x1.training import is_refitted

# The smallest cluster has so much less than the average, and the largest so much more; those between lie evenly.
UNEVENNESS = 0.5
CACHES = 2**20, 2**24  # bytes: about a core's own cache, and its share of the last one
ENTRY_BYTES = 8  # of a number in sparse rows: the number and its column
_READ_ALL_ROWS = frozenset(
    {"index_rows", "take_other_rows", "make_search", "find_candidates"}
    | {"divide_points", "average_blocks", "join_assignments"}
)
_READ_OWN_ROWS = ("fit_cluster", "find_neighbours", "find_hard_negatives", "divide_sample", "assign_points")
# Steps of a partition in blocks cost what the same steps cost in one piece, which are measured on fewer points.
_ALIKE = dict.fromkeys(("divide_sample", "assign_points", "average_blocks", "join_assignments"), "divide_points")


class Job:
    """The training of data of a shape, with sparse rows: its tasks, as they come to be planned."""

    def __init__(self, shape: Shape, parameters: dict[str, Any] | None = None) -> None:
        asked = X1Settings.from_parameters(parameters or {})
        self.shape = shape
        self.settings = resolve(asked, DataFacts(shape.points, shape.features, labels=shape.labels))
        self.held_out = held_out_count(shape.points, to_rerank=self.settings.rerank.enabled)
        self._divided = 0

    @cached_property
    def plan(self) -> TrainingPlan:
        """The plan that real data of this shape would have."""
        shape, settings = self.shape, self.settings
        reranker = None
        if settings.rerank.enabled:
            options = RerankOptions(seed=settings.random_state or 0)
            reranker = RerankPlan(shape.points, self.held_out, shape.label_counts(), options, self.candidates)
        return TrainingPlan(
            settings,
            shape.points,
            shape.features,
            int(shape.entries),
            self.held_out,
            reranker,
            has_index=float(first_choices(settings).vote.feature_share) > 0,
            is_refitted=is_refitted(shape.points, self.held_out, settings),
        )

    @cached_property
    def labels_per_tried(self) -> int:
        """On one of how many labels the rankers' cost is tried."""
        assert self.plan.reranker is not None
        return self.plan.reranker.labels_per_tried

    @property
    def candidates(self) -> int:
        """Candidates from each source."""
        return candidates_per_average(self.shape.labels_per_point, self.shape.labels)

    @property
    def searched_entries(self) -> float:
        """Entries that a search for a training point's neighbours reads."""
        return min(self.shape.read * self.shape.points, MAX_ENTRIES_READ)

    def start(self) -> Graph:
        """Return the graph as it is at first."""
        self._divided = 0
        graph = Graph({RUN, *GIVEN})
        graph.add(self.plan.start())
        return graph

    def then(self, task: Task) -> Iterable[Task]:
        """Return what can be planned when a task has ended."""
        self._divided += task.stage == "partition"
        if task.stage == "partition" and self._divided == int(self.settings.learners):
            sizes = [self.cluster_sizes(1 - self.held_out / self.shape.points)] * self._divided
            full = [self.cluster_sizes()] * self._divided
            tasks = list(self.plan.fit_votes(sizes, Room()))
            return [*tasks, *([] if len(self.plan.attempts()) > 1 else self.plan.finish(0, sizes, full, Room()))]
        if task.name == "graph":
            learners = int(self.settings.learners)
            kept = 1 - self.held_out / self.shape.points
            return self.plan.finish(0, [self.cluster_sizes(kept)] * learners, [self.cluster_sizes()] * learners, Room())
        return ()

    def cluster_sizes(self, share: float = 1.0) -> np.ndarray:
        """Return the sizes of a learner's clusters, of all points or of a share of them."""
        count = int(self.settings.clusters.count)
        weights = np.linspace(1 - UNEVENNESS, 1 + UNEVENNESS, count) if count > 1 else np.ones(1)
        sizes = np.maximum(1, np.round(share * self.shape.points / count * weights).astype(np.int64))
        largest = self.settings.clusters.max_size
        if isinstance(largest, int):
            parts = -(-sizes // largest)
            sizes = np.repeat(-(-sizes // parts), parts)
        return sizes

    def amounts(self, task: Task) -> Amounts:
        """Return what a task's time, memory and part grow with: the steps of docs/performance.md, told by the plan."""
        make = _AMOUNTS.get(_function(task))
        return {"task": 1.0, **(make(self, task) if make is not None else {"size": float(task.size)})}

    def reads(self, task: Task) -> float:
        """Return how many bytes of the data a task reads, about; 0 of one that reads the parts of others only."""
        name, row = _function(task), ENTRY_BYTES * self.shape.features_per_point
        if name in _READ_ALL_ROWS:
            return row * self.shape.points
        if name in _READ_OWN_ROWS:
            return row * task.size
        if name == "make_centroid_block":
            return row * min(task.size, self.shape.points) + ENTRY_BYTES * self.shape.pairs
        if name in ("fit_rankers", "fit_trial_rankers"):
            return row * min(task.size * self.with_wrong, self.shape.points)
        return 0.0

    @property
    def with_wrong(self) -> float:
        """Points, right or wrong, that a ranker is trained on, for each right one: at most so many."""
        return 1 + 2 * self.candidates / self.shape.labels_per_point


def kind(task: Task) -> str:
    """Return the kind of a task: what costs alike."""
    name = _function(task)
    return _ALIKE.get(name, name)


def _function(task: Task) -> str:
    return task.function.partition(":")[2]


def _divide(job: Job, task: Task) -> Amounts:
    count = int(job.settings.clusters.count)
    if count == 1:
        return {}
    sample = min(task.size, sample_points(count))
    return {
        "entries·centroids": _products(job, task.size),
        "sampled entries·centroids": _products(job, sample),
        "centroids": job.shape.features * _columns(job),
    }


def _divide_sample(job: Job, task: Task) -> Amounts:
    return {"sampled entries·centroids": _products(job, task.size), "centroids": job.shape.features * _columns(job)}


def _assign(job: Job, task: Task) -> Amounts:
    # One of the two rounds that a partition in one piece has over all points.
    return {"entries·centroids": _products(job, task.size) / 2, "centroids": job.shape.features * _columns(job)}


def _join_assignments(job: Job, task: Task) -> Amounts:
    # Means are a pass over all entries, of which each counts once.
    return {"entries·centroids": job.shape.entries, "centroids": job.shape.features * _columns(job)}


def _products(job: Job, points: float) -> float:
    return points * job.shape.features_per_point * _columns(job)


def _columns(job: Job) -> float:
    """Return how many centroids a point is multiplied with: of many, those of groups, and of groups next to each."""
    count = int(job.settings.clusters.count)
    return float(count if count <= MAX_FLAT_CLUSTERS else 2 * sqrt(count))


def _fetches(name: str, count: float, table: float) -> Amounts:
    """Return amounts of fetches from places of a table of so many bytes that no cache foresees.

    They take longer from a table that is larger than a cache, up to a limit: when hardly anything is in the cache.
    """
    missed = {f"{name}, beyond {cache >> 20} MB": count * max(0.0, 1 - cache / table) for cache in CACHES}
    return {name: count, **missed}


def _cluster(job: Job, task: Task) -> Amounts:
    svp, entries = job.settings.svp, task.size * job.shape.features_per_point
    neighbours = 100 if svp.neighbours == "auto" else int(svp.neighbours)
    features, dim = job.shape.used_features(task.size), int(svp.dim)
    pairs = task.size * float(min(neighbours, task.size))
    return {
        **_fetches("graph·dimensions", pairs * dim, 4 * dim * task.size),
        **_fetches("entries·dimensions", entries * dim, 4 * dim * features),
        "features·dimensions": features * dim,
    }


def _points_in_cells(job: Job, task: Task) -> Amounts:
    dim, count, n = int(job.settings.svp.dim), int(job.settings.clusters.count), job.shape.points
    features = count * job.shape.used_features(n / count)
    return {"points·dimensions": float(n * dim), "features·dimensions": features * dim}


def _entries(job: Job, task: Task) -> Amounts:
    return {"entries": job.shape.entries}


def _pairs(job: Job, task: Task) -> Amounts:
    return {"pairs": job.shape.pairs}


def _centroid_block(job: Job, task: Task) -> Amounts:
    return {"entries of pairs": task.size * job.shape.features_per_point, "all pairs": job.shape.pairs}


def _held_out(job: Job, task: Task) -> Amounts:
    shape, held = job.shape, job.held_out
    return {
        **_search(job, held, shape.read * shape.points),
        "held out": float(held),
        "points": float(shape.points),
    }


def _search(job: Job, size: float, entries: float) -> Amounts:
    return _fetches("read", size * entries, ENTRY_BYTES * job.shape.entries)


def _neighbours(job: Job, task: Task) -> Amounts:
    entries = task.size * job.shape.features_per_point
    return {**_search(job, task.size, job.searched_entries), "entries": entries}


def _hard_negatives(job: Job, task: Task) -> Amounts:
    assert job.plan.reranker is not None
    is_refitted = job.plan.reranker.is_refitted
    found = {"points": float(job.shape.points)} if is_refitted else _search(job, task.size, job.searched_entries)
    entries = task.size * job.shape.features_per_point
    of_labels = entries * job.shape.labels / job.shape.features  # entries of label centroids that are read, about
    table = ENTRY_BYTES * ENTRIES_KEPT_OF_MANY * job.shape.labels
    return {**found, "entries": entries, **_fetches("entries·labels", of_labels, table)}


def _candidates_of_all(job: Job, task: Task) -> Amounts:
    return {"candidates": job.shape.points * (job.shape.labels_per_point + 2.0 * job.candidates)}


def _rankers(job: Job, task: Task) -> Amounts:
    arguments, share = task.arguments, 1 / job.labels_per_tried
    pairs = float(task.size)  # of a trial those of the labels tried
    if kind(task) == "fit_rankers":
        share = 1.0 if arguments["of"] == "all" else 1 - share
        pairs *= share
    labels = float(arguments["last"] - arguments["first"])
    return {
        "entries": pairs * job.with_wrong * job.shape.features_per_point,
        "labels": share * labels,
        "all labels": float(job.shape.labels),
    }


def _weights(job: Job, task: Task) -> Amounts:
    # A label's ranker has a weight for each feature that its points have, right or wrong.
    return {"held out": float(job.held_out), "entries of pairs": job.shape.pairs * job.shape.features_per_point}


_AMOUNTS = {
    "index_rows": _entries,
    "take_other_rows": _entries,
    "take_other_labels": _pairs,
    "divide_points": _divide,
    "divide_sample": _divide_sample,
    "assign_points": _assign,
    "average_blocks": _join_assignments,
    "join_assignments": _join_assignments,
    "fit_cluster": _cluster,
    "join_clusters": _points_in_cells,
    "join_held_out": _points_in_cells,
    "choose_vote": _held_out,
    "answer_by_votes": _held_out,
    "make_search": _entries,
    "find_neighbours": _neighbours,
    "make_centroid_block": _centroid_block,
    "find_hard_negatives": _hard_negatives,
    "make_problems": _candidates_of_all,
    "fit_trial_rankers": _rankers,
    "fit_rankers": _rankers,
    "find_candidates": _held_out,
    "choose_cost_of_errors": _weights,
    "fit_fusion": _weights,
    "join_reranker": _weights,
}

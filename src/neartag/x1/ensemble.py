"""The clusters of an ensemble, many at once: the partition of each learner, then all clusters of all learners."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from joblib.parallel import get_active_backend
from scipy.sparse import csr_matrix

from neartag.core.progress import Progress
from neartag.linalg.rows import Rows
from neartag.x1.cluster_training import cluster_steps, make_partition, train_cluster
from neartag.x1.kmeans import Partition
from neartag.x1.learner import Cluster
from neartag.x1.schedule import Machine, Wave, cluster_bytes, kept_bytes, plan
from neartag.x1.settings import ClusterSettings, X1Settings


def learner_seeds(settings: X1Settings) -> list[np.random.SeedSequence]:
    """Return the seed of each learner."""
    return np.random.SeedSequence(settings.random_state).spawn(int(settings.learners))


def make_partitions(
    rows: Rows, settings: ClusterSettings, seeds: list[np.random.SeedSequence], jobs: int
) -> list[Partition]:
    """Return the partition of each learner; one only, with a warning, where all would be the same."""
    numbers = [int(seed.generate_state(2)[1]) for seed in seeds]
    first = make_partition(rows, settings, numbers[0], jobs)
    if len(seeds) > 1 and first.n_clusters == 1:
        warnings.warn(
            f"with one cluster all {len(seeds)} learners would be the same: one is trained; "
            "set n_clusters to 2 or more, or n_learners to 1",
            UserWarning,
            stacklevel=4,
        )
        return [first]
    rest = Parallel(n_jobs=max(1, min(jobs, len(seeds) - 1)), prefer="threads")(
        delayed(make_partition)(rows, settings, number, 1) for number in numbers[1:]
    )
    return [first, *rest]


def members_of(partitions: list[Partition], held_out: np.ndarray) -> list[list[np.ndarray]]:
    """Return the points of each cluster of each learner.

    The points held out helped to place the clusters, but are members of none.
    """
    return [_members(each, held_out) for each in partitions]


def train_clusters(
    rows: Rows,
    Y: csr_matrix,
    members: list[list[np.ndarray]],
    settings: X1Settings,
    seeds: list[np.random.SeedSequence],
    machine: Machine,
    progress: Progress,
    title: str,
) -> list[list[Cluster]]:
    """Return each learner's clusters, trained side by side as cores and memory allow."""
    tasks = [(learner, cluster) for learner, each in enumerate(members) for cluster in range(len(each))]
    sizes = [len(members[learner][cluster]) for learner, cluster in tasks]
    first_seeds = [int(seed.generate_state(1)[0]) for seed in seeds]
    # Steps inside a cluster can only be told where tasks share our memory, as threads do.
    shared = getattr(get_active_backend(prefer="threads")[0], "supports_sharedmem", False)
    report = progress.advance if shared else None
    trained: dict[tuple[int, int], Cluster] = {}
    with progress:
        progress.start(len(tasks) * (cluster_steps(settings) if shared else 1), title)
        for wave in _plan(rows, sizes, settings, machine):
            work = (
                delayed(train_cluster)(
                    rows[own], Y[own], own, settings, first_seeds[learner] + cluster, wave.threads, report
                )
                for learner, cluster in (tasks[place] for place in wave.tasks)
                for own in (members[learner][cluster],)
            )
            for place, fresh in zip(wave.tasks, _parallel(wave.at_once, work), strict=True):
                trained[tasks[place]] = fresh
                if not shared:
                    progress.advance(1)
    return [[trained[learner, cluster] for cluster in range(len(each))] for learner, each in enumerate(members)]


def _members(partition: Partition, held_out: np.ndarray) -> list[np.ndarray]:
    order = np.argsort(partition.assignment, kind="stable")
    bounds = np.searchsorted(partition.assignment[order], np.arange(partition.n_clusters + 1))
    members = []
    for first, last in pairwise(bounds):
        everybody = order[first:last]
        others = np.setdiff1d(everybody, held_out, assume_unique=True)
        # A cluster of none but held-out points must still have somebody; they do not join it again later.
        members.append(others if len(others) else everybody)
    return members


def _plan(rows: Rows, sizes: list[int], settings: X1Settings, machine: Machine) -> list[Wave]:
    """Return the waves in which clusters of these sizes are trained."""
    n, d = rows.shape
    entries = rows.nnz / n if hasattr(rows, "nnz") else d
    shapes = [(size, int(entries * size), d, settings.svp) for size in sizes]
    room = machine.room()
    if room is not None:
        room -= sum(kept_bytes(*shape) for shape in shapes)
    return plan(sizes, [cluster_bytes(*shape) for shape in shapes], machine.jobs, room, machine.memory)


def _parallel(at_once: int, work: Iterable[Any]) -> Iterable[Cluster]:
    """Return what the tasks give, one by one where joblib's backend can, in their order."""
    # Threads, unless the caller's joblib configuration says otherwise: kernels and BLAS release the GIL. No task is
    # prepared before there is a core for it, for each has its own copy of its rows.
    options = {"n_jobs": at_once, "prefer": "threads", "pre_dispatch": "n_jobs"}
    streams = getattr(get_active_backend(prefer="threads")[0], "supports_return_generator", True)
    return Parallel(**options, return_as="generator" if streams else "list")(work)

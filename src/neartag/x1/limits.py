"""What a limit of memory means for a training: what does not fit is refused, made in files, or split before."""

from __future__ import annotations

import warnings
from dataclasses import replace

from scipy.sparse import csr_matrix

from neartag.core.memory import format_bytes
from neartag.linalg.rows import Rows
from neartag.rerank import training as rerank
from neartag.rerank.preparation import RerankOptions
from neartag.work.executors.base import Executor
from neartag.work.executors.dask import Dask
from neartag.x1.cluster_training import max_cluster_size
from neartag.x1.schedule import Machine, largest_that_fits, no_room
from neartag.x1.selection import GRAPH_CHOICES
from neartag.x1.settings import X1Settings

# Within a limit of memory, arrays of so much of the room that is left are made in files, and no fewer bytes than these:
# a task has a few such blocks at once.
BLOCKS_IN_ROOM, MIN_BLOCK_BYTES = 10, 2**22
# For each feature and cluster while points are divided: the centroid sparse, dense, and a copy. That fits the one peak
# which was measured, 294 MB with 60,000 features and 112 clusters.
CENTROID_BYTES = 20


def check_room_to_rerank(
    rows: Rows,
    Y: csr_matrix,
    settings: X1Settings,
    options: RerankOptions,
    machine: Machine,
    *,
    in_files: bool = False,
) -> None:
    """Raise ParameterError, before any work, where a reranker is asked for and there is too little memory to fit it.

    `in_files`: there is a work folder, so that what is large can be made in files.
    """
    room = machine.room()
    if not settings.rerank.enabled or room is None:
        return
    needed = (rerank.bytes_needed_in_blocks if in_files else rerank.bytes_needed)(rows, Y, options)
    if needed > room:
        work = f"refining {Y.shape[0]} points"
        ways = ["set refine to False (--no-refine)"]
        if not in_files and rerank.bytes_needed_in_blocks(rows, Y, options) <= room:
            ways.append("give a work folder, in whose files there is room (--work-dir)")
        raise no_room(work, needed, room, machine.memory or 0, *ways)


def check_room_to_divide(rows: Rows, settings: X1Settings, machine: Machine) -> None:
    """Raise ParameterError, before any work, where there is too little memory for the centroids of all clusters."""
    room, clusters = machine.room(), int(settings.clusters.count)
    needed = CENTROID_BYTES * rows.shape[1] * clusters
    if clusters > 1 and room is not None and needed > room:
        work = f"dividing the points into {clusters} clusters by {rows.shape[1]} features"
        ways = "set fewer clusters (--n-clusters)", "drop rare features"
        raise no_room(work, needed, room, machine.memory or 0, *ways)


def block_size(machine: Machine, executor: Executor) -> int:
    """Return from how many bytes on tasks make arrays in files; 0: all in memory, which has no limit, or no files."""
    rooms = [room for room in (machine.room(), worker_limit(executor)) if room is not None]
    return max(MIN_BLOCK_BYTES, min(rooms) // BLOCKS_IN_ROOM) if rooms and has_files(executor) else 0


def split_to_fit(settings: X1Settings, rows: Rows, executor: Executor) -> X1Settings:
    """Return the settings, with a limit to the size of clusters where larger ones would fit no worker of a cluster.

    Not where a size was asked for: the executor then says, before it sends anything, what does not fit.
    """
    limit = worker_limit(executor)
    if limit is None or settings.clusters.max_size is not None:
        return settings
    svp = settings.svp
    if svp.neighbours == "auto":
        svp = replace(svp, neighbours=max(GRAPH_CHOICES))
    n, d = rows.shape
    largest = min(n, max_cluster_size(settings.clusters, n))
    fitting = largest_that_fits(largest, count_entries(rows) / n, d, svp, limit)
    if fitting is None or fitting == largest:
        return settings
    warnings.warn(
        f"no worker has memory for a cluster of {largest} points: larger ones than {fitting} are split "
        f"(max_cluster_size), where their tasks have {format_bytes(limit)} at most",
        UserWarning,
        stacklevel=2,
    )
    return settings.replace(max_cluster_size=fitting)


def worker_limit(executor: Executor) -> int | None:
    """Return how many bytes a task may take on the workers of a cluster; None where there are none, or none says."""
    return executor.task_limit() if isinstance(executor, Dask) else None


def count_entries(rows: Rows) -> int:
    """Return how many numbers rows hold."""
    return int(rows.nnz if hasattr(rows, "nnz") else rows.size)


def has_files(executor: Executor) -> bool:
    """Say whether tasks may make large arrays in files."""
    return executor.parts.scratch is not None

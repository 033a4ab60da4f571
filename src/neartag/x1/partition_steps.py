"""The tasks that divide the points among a learner's clusters (line 1 of Algorithm 1): of many points several."""

from __future__ import annotations

import numpy as np

from neartag.linalg.rows import row_block
from neartag.work.data import read_rows
from neartag.work.parts import Arrays, TaskContext, get_matrix, put_matrix
from neartag.x1.cluster_training import make_partition, max_cluster_size
from neartag.x1.kmeans_blocks import Clusters, assign_block, average_clusters, find_clusters, join_blocks
from neartag.x1.parts import RUN, partition_to_arrays, read_settings


def divide_points(context: TaskContext, learner: int) -> Arrays:
    """Return a learner's partition."""
    settings = read_settings(context)
    return partition_to_arrays(
        make_partition(read_rows(context), settings.clusters, _seed(context, learner), context.threads)
    )


def divide_sample(context: TaskContext, learner: int, sample: int) -> Arrays:
    """Return the clusters of a sample of so many points."""
    rows, settings = read_rows(context), read_settings(context).clusters
    options = settings.start, _seed(context, learner), sample, context.threads
    return _clusters_to_arrays(find_clusters(rows, int(settings.count), *options))


def assign_points(context: TaskContext, first: int, last: int, clusters: str) -> Arrays:
    """Return the nearest cluster of each point of a block."""
    found = context.get(clusters)
    near = Clusters(get_matrix(found, "centroids"), found["owner"])
    nearest = assign_block(row_block(read_rows(context), first, last), near, context.threads)
    return {"assignment": nearest.astype(np.int32, copy=False)}


def average_blocks(context: TaskContext, learner: int, blocks: str) -> Arrays:
    """Return the clusters that the points of all blocks make."""
    given = read_rows(context), _read_assignment(context, blocks), _seed(context, learner), context.threads
    return _clusters_to_arrays(average_clusters(*given))


def join_assignments(context: TaskContext, learner: int, blocks: str) -> Arrays:
    """Return a learner's partition, which the blocks tell."""
    rows, settings = read_rows(context), read_settings(context).clusters
    largest, seed = max_cluster_size(settings, rows.shape[0]), _seed(context, learner)
    options = largest, settings.centroid_entries, settings.start, seed, context.threads
    return partition_to_arrays(join_blocks(rows, _read_assignment(context, blocks), *options))


def _seed(context: TaskContext, learner: int) -> int:
    return int(context.get(RUN)["seeds"][learner, 1])


def _read_assignment(context: TaskContext, prefix: str) -> np.ndarray:
    """Return the clusters of all points (n,), as the blocks found them."""
    return np.concatenate([context.get(name)["assignment"] for name in context.starting(prefix)])


def _clusters_to_arrays(clusters: Clusters) -> Arrays:
    arrays: Arrays = {"owner": clusters.owner}
    put_matrix(arrays, "centroids", clusters.centroids)
    return arrays

"""The partition block by block: each step against dense lines, and the whole whatever the blocks."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from neartag.core.threads import single_threaded_blas
from neartag.data import synthetic
from neartag.linalg.hybrid_rows import HybridRows
from neartag.linalg.rows import dense, normalise, row_block
from neartag.x1.centroids import route
from neartag.x1.kmeans_blocks import Clusters, assign_block, average_clusters, find_clusters, join_blocks


@pytest.fixture(autouse=True)
def held():
    """Hold BLAS to one thread, as tasks do."""
    with single_threaded_blas():
        yield


def text_rows(n=500, d=120, seed=0):
    return normalise(csr_matrix(synthetic.make(n, d, 30, 12, 2, seed=seed).X, dtype=np.float32))


def hybrid_rows(n=500, seed=0):
    vectors = np.random.default_rng(seed).standard_normal((n, 6)).astype(np.float32)
    return HybridRows(text_rows(n, seed=seed), normalise(vectors)).weigh(0.5)


def whole(rows):
    if isinstance(rows, HybridRows):
        return np.hstack([dense(rows.words), rows.vector_weight * rows.vectors])
    return dense(rows)


def in_blocks(X, clusters, blocks):
    bounds = [X.shape[0] * block // blocks for block in range(blocks + 1)]
    return np.concatenate([assign_block(row_block(X, a, b), clusters, 1) for a, b in pairwise(bounds)])


def divide(X, count, blocks, max_size=None, entries=None):
    """Return the partition, by the steps that the tasks take."""
    first = in_blocks(X, find_clusters(X, count, "k-means++", 7, 200, 1), blocks)
    second = in_blocks(X, average_clusters(X, first, 7, 1), blocks)
    return join_blocks(X, second, max_size, entries, "k-means++", 7, 1)


def means_of(X, assignment, count):
    return np.stack([X[assignment == cluster].mean(axis=0) for cluster in range(count)], axis=1)  # (d, C)


@pytest.mark.parametrize("make", [text_rows, hybrid_rows])
def test_each_point_goes_to_the_nearest_centroid_and_the_means_are_those_of_its_points(make):
    X = make()
    points, clusters = whole(X).astype(np.float64), find_clusters(X, 5, "k-means++", 3, 200, 1)
    centroids = clusters.centroids.toarray().astype(np.float64)  # (d, C)
    found = in_blocks(X, clusters, 4)
    distances = ((points[:, :, None] - centroids[None]) ** 2).sum(axis=1)  # (n, C)
    assert np.take_along_axis(distances, found[:, None], 1)[:, 0] == pytest.approx(distances.min(axis=1), abs=1e-6)
    means = average_clusters(X, found, 3, 1).centroids.toarray()
    assert means == pytest.approx(means_of(points, found, 5), abs=1e-6)


@pytest.mark.parametrize("max_size", [None, 90])
def test_the_partition_is_the_same_whatever_the_blocks(max_size):
    X = text_rows()
    one, many = divide(X, 5, 1, max_size), divide(X, 5, 7, max_size)
    assert np.array_equal(one.assignment, many.assignment)
    assert np.array_equal(one.centroids, many.centroids)


@pytest.mark.parametrize("max_size", [None, 60])
def test_centroids_are_the_means_of_their_clusters_also_of_those_that_were_split(max_size):
    X = text_rows()
    found = divide(X, 5, 3, max_size)
    sizes = np.bincount(found.assignment)
    assert (sizes > 0).all()
    assert max_size is None or (sizes.max() <= max_size and len(sizes) > 5)
    assert found.centroids == pytest.approx(means_of(dense(X), found.assignment, len(sizes)), abs=1e-6)


def test_truncated_centroids_keep_so_many_entries():
    found = divide(text_rows(), 5, 3, entries=10)
    assert np.diff(csr_matrix(found.centroids.T).indptr).max() <= 10


def test_points_look_for_many_clusters_in_groups():
    X = text_rows(900)
    clusters = average_clusters(X, np.arange(900) % 50, 0, 1)
    groups = clusters.owner.max() + 1
    assert 3 <= groups <= 7
    found = assign_block(X, clusters, 1)
    best = route(X, dense(clusters.centroids), 1, 1)[:, 0]
    assert np.mean(found == best) > 0.7, "most groups that are next to a point have its cluster"
    means = np.stack([dense(clusters.centroids)[:, clusters.owner == each].mean(axis=1) for each in range(groups)], 1)
    nearest = route(X, np.ascontiguousarray(means, np.float32), 1, 1)[:, 0]
    alone = clusters.owner[best] == nearest
    assert np.array_equal(found[alone], best[alone]), "the best cluster of a point's own group is not missed"


def test_a_cluster_that_nobody_chooses_is_gone():
    X = text_rows(100)
    far = np.zeros((X.shape[1], 1), np.float32)
    far[:] = 5.0  # no point is as long as that
    clusters = find_clusters(X, 3, "k-means++", 0, 100, 1)
    wider = csr_matrix(np.hstack([clusters.centroids.toarray()[:, :1], far, clusters.centroids.toarray()[:, 1:]]))
    chosen = in_blocks(X, Clusters(wider, np.zeros(4, np.int32)), 3)
    assert average_clusters(X, chosen, 0, 1).centroids.shape[1] == 3
    found = join_blocks(X, chosen, None, None, "k-means++", 0, 1)
    assert found.n_clusters == 3
    assert set(np.unique(found.assignment)) == {0, 1, 2}

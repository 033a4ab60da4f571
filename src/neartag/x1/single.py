"""One point at a time: the steps of prediction without the machinery of a batch.

A point's answer takes some tens of microseconds of arithmetic; making and checking sparse matrices on the way would
take ten times that. Here the model's arrays stand ready in the kernels' types, and a point is three small arrays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from neartag.linalg import topk_kernels as search_kernels
from neartag.linalg.rows import Rows, csr_arrays, matmul
from neartag.rerank import reranker as refine
from neartag.rerank.candidates import Voters
from neartag.search import vote_kernels
from neartag.search.exact import nearest_to_one
from neartag.x1.kmeans import half_squares

if TYPE_CHECKING:
    from neartag.x1.learner import Cluster, Learner
    from neartag.x1.model import X1Model

Point = tuple[np.ndarray, np.ndarray, np.ndarray]  # a CSR matrix of one row: indptr, indices, data
_START = np.array([0], np.int64)


class SinglePoint:
    """The voters and the vote of one point, for a model whose settings stay as they are."""

    def __init__(self, model: X1Model) -> None:
        self.model = model
        self.labels = csr_arrays(model.Y)[:2]
        self.learners = [_SingleLearner(learner) for learner in model.learners]

    def predict_topk(self, row: Rows, k: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the k best labels and their scores, both (1, k); None where nobody votes."""
        point = _unit(row)
        if point is None:
            return None
        model = self.model
        most = min(k, model.n_labels)
        labels, scores = np.full((1, k), -1, np.int32), np.zeros((1, k))
        if model.refinement is not None:
            row = sparse.csr_matrix((point[2], point[1], point[0]), shape=(1, model.n_features))
            found = model.refinement.candidates(row, model.Y, *self.both(point), model.frequency, 1)
            probabilities = model.refinement.scores(row, found, model.frequency, 1)
            best, sums = refine.best(found.labels, probabilities, model.frequency, most, 1)
        else:
            best, sums = np.empty((1, most), np.int32), np.empty((1, most))
            scratch = np.zeros(model.n_labels), np.empty(model.n_labels, np.int32)
            voters = self.voters(point)
            vote_kernels.vote_top(*self.labels, *voters, model.frequency, *scratch, best, sums, 0, 1)
        if best[0, 0] < 0:
            return None
        labels[:, :most], scores[:, :most] = best, np.minimum(sums, 1.0)
        return labels, scores

    def voters(self, point: Point) -> Voters:
        """Return who votes and with what share, both (1, voters)."""
        return self.model.together(*self.both(point))

    def both(self, point: Point) -> tuple[Voters, Voters]:
        """Return who votes by embedding and who by features, each kind's shares 1 in all."""
        model, settings = self.model, self.model.settings
        how = settings.vote.distance, settings.clusters.probes, model.looked_at
        exact = settings.vote.search == "exact"
        lists = [learner.find(point, *how, exact=exact) for learner in self.learners]
        return model.elected(lists, lambda index, among: index.find_one(point, model.count, model.skip, among))


class _SingleLearner:
    """A learner's centroids, ready to route one point, and its clusters."""

    def __init__(self, learner: Learner) -> None:
        self.clusters = learner.clusters
        self.centroids = learner.centroids
        self.offset = half_squares(learner.centroids) if len(learner.clusters) > 1 else None

    def find(
        self, point: Point, distance: str, probes: int, count: int, *, exact: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the nearest training rows among the point's nearest clusters, and how near, both (1, count)."""
        routes = self._route(point, probes)
        found = [_nearest(self.clusters[number], point, distance, count, exact) for number in routes]
        if len(found) == 1:
            return found[0][0], found[0][1]
        ids, near = np.hstack([each[0] for each in found]), np.hstack([each[1] for each in found])
        # As for a batch: clusters are compared by how much of the point they explain.
        reach = np.hstack([each[1] * (each[2] if each[2] > 0 else 1) for each in found]).astype(np.float32)
        order, best = np.empty((1, count), np.int32), np.empty((1, count), np.float32)
        search_kernels.row_top(reach, 0, order, best, 0, 1)
        return np.take_along_axis(ids, order, axis=1), np.take_along_axis(near, order, axis=1)

    def _route(self, point: Point, probes: int) -> np.ndarray:
        if self.offset is None:
            return _START
        scores = _times(point, self.centroids) - self.offset
        return np.argsort(-scores, kind="stable")[:probes]


def _unit(row: Rows) -> Point | None:
    """Return a feature row scaled to unit length; None where it has nothing in it."""
    if sparse.issparse(row):
        indices, values = row.indices, row.data
        if not row.has_canonical_format:
            row = row.copy()
            row.sum_duplicates()
            indices, values = row.indices, row.data
    else:
        indices = np.flatnonzero(row[0])
        values = row[0][indices]
    values = np.asarray(values, np.float32)
    length = float(np.sqrt(np.dot(values.astype(np.float64), values)))
    if length == 0:
        return None
    return (np.array([0, len(indices)], np.int64), indices.astype(np.int32, copy=False), values / np.float32(length))


def _times(point: Point, weights: Rows) -> np.ndarray:
    """point @ weights (width,)."""
    if sparse.issparse(weights):
        whole = sparse.csr_matrix((point[2], point[1], point[0]), shape=(1, weights.shape[0]))
        return matmul(whole, weights)[0]
    out = np.empty(weights.shape[1], np.float32)
    search_kernels.embed_row(point, 0, weights, out)
    return out


def _known(point: Point, features: np.ndarray | None) -> Point:
    """Return the point over some features only, given in rising order; None: all."""
    if features is None:
        return point
    place = np.minimum(np.searchsorted(features, point[1]), len(features) - 1).astype(np.int32)
    return point[0], place, np.where(features[place] == point[1], point[2], np.float32(0))


def _nearest(
    cluster: Cluster, point: Point, distance: str, count: int, exact: bool
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return a cluster's nearest training rows, how near (1, count), and ‖V·x‖."""
    embedded = _times(_known(point, cluster.features), cluster.weights)  # (dim,)
    if cluster.zero_below > 0:
        embedded[np.abs(embedded) < cluster.zero_below] = 0
    square = float(np.dot(embedded, embedded.astype(np.float64)))
    if square == 0:  # sent to zero, and so near nobody
        return np.full((1, count), -1, np.int32), np.full((1, count), -np.inf, np.float32), 0.0
    if distance == "cosine":
        embedded = embedded / np.float32(np.sqrt(square))
    offset = cluster.half_squares if distance == "euclidean" else None
    if cluster.cells is not None and not exact:
        ids, near = cluster.cells.nearest(embedded[None], cluster.points, count, 1, offset=offset)
    else:
        ids, near = nearest_to_one(embedded, cluster.points, count, offset=offset)
    if distance == "euclidean":
        near += np.float32(1 - square / 2)
    return cluster.rows_of(ids), near, float(np.sqrt(square))

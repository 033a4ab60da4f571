"""A text's cluster in two dimensions: its points along their two principal components.

The two directions are computed once for each trained cluster, on a sample of its points, and kept: points that are
added later fall into the same picture. Points are projected each time, so that a forgotten one is never shown.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np

from neartag.core.threads import single_threaded_blas
from neartag.linalg.rows import as_rows, normalise, select_columns
from neartag.serve.explanations import check_votes
from neartag.storage.bundle import StoredModel
from neartag.tagging.explain import labels_of, votes
from neartag.tagging.ranking import has_features
from neartag.tagging.tagger import TextTagger
from neartag.x1.centroids import route
from neartag.x1.embedding import embed
from neartag.x1.learner import Cluster

MAX_SAMPLE_POINTS = 2000  # to compute directions from
MAX_CACHED_CLUSTERS = 256  # whose directions are kept
MAX_LABELS_SHOWN = 5  # of a point
NO_MAP: dict[str, Any] = {"cluster": None, "text": None, "points": []}


@dataclass(frozen=True)
class Directions:
    """The map's axes in a cluster's embedding space."""

    of: Any  # the cluster's regressors, which say what space it is
    mean: np.ndarray  # (dim,)
    axes: np.ndarray  # (dim, 2)
    explained: float  # share of the variance

    def place(self, points: np.ndarray) -> np.ndarray:
        """Return points (m, dim) on the map (m, 2)."""
        return (points - self.mean) @ self.axes


class ClusterMaps:
    """Makes maps, and keeps directions for the next."""

    def __init__(self) -> None:
        self._cached: OrderedDict[int, Directions] = OrderedDict()
        self._lock = Lock()

    def draw(self, tagger: TextTagger, text: str, count: int) -> dict[str, Any]:
        """Return the text, its voters and `count` other points of its cluster, of the first learner."""
        check_votes(tagger)
        stored = tagger.stored
        row = normalise(as_rows(stored.features.transform([text])))
        ((_, share_of),) = votes(stored.model, row, 1)
        if not has_features(row)[0] or not share_of:
            return NO_MAP
        learner = stored.model.learners[0]
        number = int(route(row, learner.centroids, 1, 1)[0, 0])
        cluster = learner.clusters[number]
        if not len(cluster.members):  # all were forgotten
            return NO_MAP
        with single_threaded_blas():
            directions = self._directions(cluster)
            own = directions.place(_embed_row(stored, cluster, row))[0]
            voters = self._voters(stored, cluster, directions, share_of)
            chosen = _sample(len(cluster.members), count)
            chosen = chosen[~np.isin(cluster.members[chosen], list(share_of))]
            places = directions.place(cluster.points[chosen])
        return {
            "cluster": {"number": number, "points": len(cluster.members), "explained": directions.explained},
            "text": {"x": float(own[0]), "y": float(own[1])},
            "points": [
                *voters,
                *(
                    _describe_point(stored, int(point), place)
                    for point, place in zip(cluster.members[chosen], places, strict=True)
                ),
            ],
        }

    def _voters(
        self, stored: StoredModel, cluster: Cluster, directions: Directions, share_of: dict[int, float]
    ) -> list[dict[str, Any]]:
        """Return all voters; a voter of another cluster stands where this one would put it, if its row is known."""
        at = np.flatnonzero(np.isin(cluster.members, list(share_of)))
        place_of = dict(zip(cluster.members[at].tolist(), at.tolist(), strict=True))
        described = []
        for point, share in share_of.items():
            inside = point in place_of
            if inside:
                points = cluster.points[[place_of[point]]]
            else:
                row = _row_of(stored, point)
                if row is None:
                    continue
                points = _embed_row(stored, cluster, row)
            described.append(_describe_point(stored, point, directions.place(points)[0], min(1.0, share), not inside))
        return described

    def _directions(self, cluster: Cluster) -> Directions:
        with self._lock:
            directions = self._cached.get(id(cluster.weights))
            if directions is None or directions.of is not cluster.weights:
                directions = _principal_directions(cluster)
                self._cached[id(cluster.weights)] = directions
            self._cached.move_to_end(id(cluster.weights))
            while len(self._cached) > MAX_CACHED_CLUSTERS:
                self._cached.popitem(last=False)
            return directions


def _principal_directions(cluster: Cluster) -> Directions:
    points = np.asarray(cluster.points[_sample(len(cluster.members), MAX_SAMPLE_POINTS)], np.float64)
    mean = points.mean(axis=0)
    covariance = np.cov(points, rowvar=False, bias=True).reshape(points.shape[1], points.shape[1])
    variances, vectors = np.linalg.eigh(covariance)  # rising
    axes = np.zeros((points.shape[1], 2))
    best = vectors[:, ::-1][:, :2]
    # An eigenvector may point either way: the same way in every worker.
    axes[:, : best.shape[1]] = best * np.where(best[np.abs(best).argmax(axis=0), range(best.shape[1])] < 0, -1, 1)
    whole = float(variances.clip(0).sum())
    return Directions(cluster.weights, mean, axes, float(variances[-2:].clip(0).sum()) / whole if whole > 0 else 1.0)


def _sample(points: int, count: int) -> np.ndarray:
    """Return at most `count` places, rising; as points are added, nearly the same ones are chosen as before."""
    if points <= count:
        return np.arange(points)
    lots = np.random.default_rng(0).random(points)
    return np.sort(np.argsort(lots, kind="stable")[:count])


def _embed_row(stored: StoredModel, cluster: Cluster, row: Any) -> np.ndarray:
    """Return V·x of a unit row (1, dim), as the cluster's own points are kept."""
    embedded = embed(select_columns(row, cluster.features), cluster.weights, cluster.zero_below, 1)
    return embedded if stored.model.settings.vote.distance == "euclidean" else normalise(embedded)


def _row_of(stored: StoredModel, point: int) -> Any:
    whole = not hasattr(stored.features, "vectors_")  # the index may have the words alone
    if whole and stored.model.index is not None and hasattr(stored.model.index.postings, "indptr"):
        return stored.model.index.row(point)
    if stored.texts is not None:
        return normalise(as_rows(stored.features.transform([stored.texts[point]])))
    return None


def _describe_point(
    stored: StoredModel, point: int, place: np.ndarray, share: float = 0.0, outside: bool = False
) -> dict[str, Any]:
    names = stored.label_names or []
    return {
        "id": str(point) if stored.point_names is None else stored.point_names[point],
        "labels": [names[label] for label in labels_of(stored.model, point)[:MAX_LABELS_SHOWN]],
        "x": float(place[0]),
        "y": float(place[1]),
        "share": share,
        "outside": outside,
    }

"""A text's cluster in two dimensions: its points along their two principal components.

Directions are found once for each trained cluster, on a sample of its points, and kept: what is added later falls into
the same picture. Points are projected anew each time, so that what was forgotten is never shown.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np

from neartag.core.threads import single_threaded_blas
from neartag.linalg.rows import as_rows, normalise, select_columns
from neartag.serve.reasons import check_votes
from neartag.storage.bundle import StoredModel
from neartag.tagging.explain import labels_of, votes
from neartag.tagging.tagger import TextTagger
from neartag.x1.kmeans import route
from neartag.x1.learner import Cluster
from neartag.x1.regression import embed

SAMPLE = 2000  # points that directions are found on
KEPT = 256  # clusters whose directions are remembered
LABELS = 5  # told of a point
NO_MAP: dict[str, Any] = {"cluster": None, "text": None, "points": []}


@dataclass(frozen=True)
class Directions:
    """Where the map's axes lie in a cluster's space."""

    of: Any  # the cluster's regressors, which say what space it is
    mean: np.ndarray  # (dim,)
    axes: np.ndarray  # (dim, 2)
    explained: float  # share of the variance

    def place(self, points: np.ndarray) -> np.ndarray:
        """Return points (m, dim) on the map (m, 2)."""
        return (points - self.mean) @ self.axes


class Maps:
    """Makes maps, and remembers directions."""

    def __init__(self) -> None:
        self._known: OrderedDict[int, Directions] = OrderedDict()
        self._lock = Lock()

    def draw(self, tagger: TextTagger, text: str, count: int) -> dict[str, Any]:
        """Return the text, its voters and `count` other points of its cluster, of the first learner."""
        check_votes(tagger)
        stored = tagger.stored
        row = normalise(as_rows(stored.features.transform([text])))
        ((_, share_of),) = votes(stored.model, row, 1)
        if not row.nnz or not share_of:
            return NO_MAP
        learner = stored.model.learners[0]
        number = int(route(row, learner.centroids, 1, 1)[0, 0])
        cluster = learner.clusters[number]
        if not len(cluster.members):  # all were forgotten
            return NO_MAP
        with single_threaded_blas():
            directions = self._directions(cluster)
            own = directions.place(_embedded(stored, cluster, row))[0]
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
                    _described(stored, int(point), place)
                    for point, place in zip(cluster.members[chosen], places, strict=True)
                ),
            ],
        }

    def _voters(
        self, stored: StoredModel, cluster: Cluster, directions: Directions, share_of: dict[int, float]
    ) -> list[dict[str, Any]]:
        """Return all voters; those of other clusters where this one would put them, if their rows are known."""
        at = np.flatnonzero(np.isin(cluster.members, list(share_of)))
        place_of = dict(zip(cluster.members[at].tolist(), at.tolist(), strict=True))
        found = []
        for point, share in share_of.items():
            inside = point in place_of
            if inside:
                points = cluster.points[[place_of[point]]]
            else:
                row = _row_of(stored, point)
                if row is None:
                    continue
                points = _embedded(stored, cluster, row)
            found.append(_described(stored, point, directions.place(points)[0], min(1.0, share), not inside))
        return found

    def _directions(self, cluster: Cluster) -> Directions:
        with self._lock:
            found = self._known.get(id(cluster.weights))
            if found is None or found.of is not cluster.weights:
                found = _principal(cluster)
                self._known[id(cluster.weights)] = found
            self._known.move_to_end(id(cluster.weights))
            while len(self._known) > KEPT:
                self._known.popitem(last=False)
            return found


def _principal(cluster: Cluster) -> Directions:
    points = np.asarray(cluster.points[_sample(len(cluster.members), SAMPLE)], np.float64)
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
    """Return at most so many places, rising; as points are added, hardly another is chosen than before."""
    if points <= count:
        return np.arange(points)
    lots = np.random.default_rng(0).random(points)
    return np.sort(np.argsort(lots, kind="stable")[:count])


def _embedded(stored: StoredModel, cluster: Cluster, row: Any) -> np.ndarray:
    """Return V·x of a unit row (1, dim), as the cluster's own points are kept."""
    embedded = embed(select_columns(row, cluster.features), cluster.weights, cluster.zero_below, 1)
    return embedded if stored.model.settings.vote.distance == "euclidean" else normalise(embedded)


def _row_of(stored: StoredModel, point: int) -> Any:
    if stored.model.index is not None and hasattr(stored.model.index.postings, "indptr"):
        return stored.model.index.row(point)
    if stored.texts is not None:
        return normalise(as_rows(stored.features.transform([stored.texts[point]])))
    return None


def _described(
    stored: StoredModel, point: int, place: np.ndarray, share: float = 0.0, outside: bool = False
) -> dict[str, Any]:
    names = stored.label_names or []
    return {
        "id": str(point) if stored.point_names is None else stored.point_names[point],
        "labels": [names[label] for label in labels_of(stored.model, point)[:LABELS]],
        "x": float(place[0]),
        "y": float(place[1]),
        "share": share,
        "outside": outside,
    }

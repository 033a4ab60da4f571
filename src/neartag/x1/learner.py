"""One trained learner: a partition's centroids, and in each cluster the regressors and where its points lie."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from neartag.core.threads import run_ranges
from neartag.linalg.large_arrays import insert, take
from neartag.linalg.rows import Rows, normalise, select_columns
from neartag.linalg.single_row import SingleRow
from neartag.search import topk_kernels
from neartag.search.cells import MIN_POINTS_FOR_CELLS, NPROBE, Cells, build_cells
from neartag.search.exact import Neighbours, nearest, nearest_to_one
from neartag.x1.centroids import half_squares, route
from neartag.x1.embedding import embed


@dataclass
class Cluster:
    """What is kept of a cluster: who is in it, how to embed a point, and where its points lie."""

    members: np.ndarray  # (N,) int32, row numbers in the training set
    weights: Rows  # Vᵀ (features, dim), CSR where truncated
    points: np.ndarray  # V·x of the members (N, dim), of unit length where cosines are asked for
    zero_below: float = 0.0
    features: np.ndarray | None = None  # (features,) int32, rising: which ones the members have; None: all d
    history: np.ndarray = field(default_factory=lambda: np.empty(0))  # SVP's objective a step, as a share of its start
    cells: Cells | None = None  # the members' order, where a search need not look at all of them

    @cached_property
    def half_squares(self) -> np.ndarray:
        """‖V·xᵢ‖²/2 of the members (N,), for Euclidean distances."""
        return np.einsum("ij,ij->i", self.points, self.points) / 2

    @property
    def unexplained(self) -> float:
        """Share of the label graph's squared norm that SVP left unexplained."""
        return float(self.history[-1]) if len(self.history) else 0.0

    def find(
        self, X: Rows | SingleRow, distance: str, count: int, threads: int, *, exact: bool = False
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the training rows nearest to each row of X, how near (m, count), best first, and ‖V·x‖ (m,).

        Nearness is the cosine, or 1 − ‖V·x − V·xᵢ‖²/2, which is the cosine for rows of unit length.
        """
        if isinstance(X, SingleRow):
            return self._find_one(X, distance, count, exact)
        known = select_columns(X, self.features)
        embedded = embed(known, self.weights, self.zero_below, threads)  # (m, dim)
        squares = np.einsum("ij,ij->i", embedded, embedded, dtype=np.float64)
        queries = embedded if distance == "euclidean" else normalise(embedded)
        offset = self.half_squares if distance == "euclidean" else None
        if self.cells is None or exact:
            ids, near = nearest(queries, self.points, count, threads, offset=offset)
        else:
            ids, near = self.cells.nearest(queries, self.points, count, threads, offset=offset)
        if distance == "euclidean":
            near += (1 - squares / 2)[:, None].astype(np.float32)
        # A point that the regressors send to zero is near nobody: no vote is better than an arbitrary one.
        lost = squares == 0
        ids[lost], near[lost] = -1, -np.inf
        return self.rows_of(ids), near, np.sqrt(squares).astype(np.float32)

    def _find_one(
        self, row: SingleRow, distance: str, count: int, exact: bool
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the same for one row, without the machinery of a batch."""
        embedded = row.select_columns(self.features).matmul(self.weights)  # (dim,)
        if self.zero_below > 0:
            embedded[np.abs(embedded) < self.zero_below] = 0
        square = float(np.dot(embedded, embedded.astype(np.float64)))
        length = np.float32(math.sqrt(square))
        if square == 0:
            return np.full((1, count), -1, np.int32), np.full((1, count), -np.inf, np.float32), length[None]
        offset = None
        if distance == "euclidean":
            offset = self.half_squares
        else:
            embedded = embedded / length
        if self.cells is None or exact:
            ids, near = nearest_to_one(embedded, self.points, count, offset=offset)
        else:
            ids, near = self.cells.nearest(embedded[None], self.points, count, 1, offset=offset)
        if distance == "euclidean":
            near += np.float32(1 - square / 2)
        return self.rows_of(ids), near, length[None]

    def with_cells(self, threads: int, nprobe: int = NPROBE, *, min_points: int = MIN_POINTS_FOR_CELLS) -> Cluster:
        """Return the cluster with its members in cells, where these are enough for that to pay."""
        cells, order = build_cells(self.points, threads, nprobe, min_points=min_points)
        if cells is None:
            return replace(self, cells=None)
        return replace(self, members=self.members[order], points=take(self.points, order, collected=True), cells=cells)

    def add_points(self, points: np.ndarray, members: np.ndarray, threads: int) -> Cluster:
        """Return the cluster with more members, embedded."""
        before, cells = np.full(len(members), len(self.members)), None
        if self.cells is not None:
            before, cells = self.cells.insertion_points(points, threads)
        return replace(
            self,
            members=np.insert(self.members, before, members),
            points=insert(self.points, before, points, collected=True),
            cells=cells,
        )

    def rows_of(self, places: np.ndarray) -> np.ndarray:
        """Return the training rows of members given by their places; −1 stays."""
        if not len(self.members):  # all were forgotten
            return np.full(places.shape, -1, np.int32)
        return np.where(places >= 0, self.members[places], -1).astype(np.int32)


@dataclass
class Learner:
    """A partition's centroids with a trained cluster for each."""

    centroids: Rows  # (d, C)
    clusters: list[Cluster]

    @cached_property
    def centroid_offset(self) -> np.ndarray:
        """‖c‖²/2 of each centroid (C,)."""
        return half_squares(self.centroids)

    def find(
        self, X: Rows | SingleRow, distance: str, probes: int, count: int, threads: int = 1, *, exact: bool = False
    ) -> Neighbours:
        """Return the `count` nearest training rows of each row of X among its `probes` nearest clusters, and how near.

        Each cluster has an embedding of its own, so cosines of two clusters cannot be compared as they are: a cluster
        that knows none of the point's features turns what little is left into any direction. ‖V·x‖ tells how much of
        the point a cluster explains; neighbours of several clusters are ranked by ‖V·x‖ · cosine.
        """
        if len(self.clusters) == 1:
            return self.clusters[0].find(X, distance, count, threads, exact=exact)[:2]
        routes = route(X, self.centroids, probes, threads, offset=self.centroid_offset)  # (m, probes)
        if isinstance(X, SingleRow):
            return self._find_one(X, routes[0], distance, count, exact)
        m, probes = routes.shape
        ids = np.full((m, probes, count), -1, np.int32)
        near = np.full((m, probes, count), -np.inf, np.float32)
        lengths = np.zeros((m, probes, 1), np.float32)
        for number, cluster in enumerate(self.clusters):
            for probe in range(probes):
                rows = np.flatnonzero(routes[:, probe] == number)
                if len(rows):
                    block = X if len(rows) == m else X[rows]
                    neighbours = cluster.find(block, distance, count, threads, exact=exact)
                    ids[rows, probe], near[rows, probe], lengths[rows, probe, 0] = neighbours
        if probes == 1:
            return ids[:, 0], near[:, 0]
        reach = np.where(ids >= 0, near, -np.inf) * np.where(lengths > 0, lengths, 1)
        order, best = np.empty((m, count), np.int32), np.empty((m, count), np.float32)
        run_ranges(topk_kernels.row_top, m, threads, reach.reshape(m, -1), 0, order, best)
        chosen = np.take_along_axis(ids.reshape(m, -1), order, axis=1)
        return chosen, np.take_along_axis(near.reshape(m, -1), order, axis=1)

    def _find_one(self, row: SingleRow, numbers: np.ndarray, distance: str, count: int, exact: bool) -> Neighbours:
        """Return the same for one row, whose nearest clusters are given, without the machinery of a batch."""
        by_cluster = [self.clusters[number].find(row, distance, count, 1, exact=exact) for number in numbers]
        if len(by_cluster) == 1:
            return by_cluster[0][:2]
        ids, near = np.hstack([each[0] for each in by_cluster]), np.hstack([each[1] for each in by_cluster])
        reach = np.hstack([each[1] * (each[2] or 1) for each in by_cluster]).astype(np.float32, copy=False)
        order, best = np.empty((1, count), np.int32), np.empty((1, count), np.float32)
        topk_kernels.row_top(reach, 0, order, best, 0, 1)
        return ids[:, order[0]], near[:, order[0]]

    def with_cells(self, threads: int, nprobe: int = NPROBE, *, min_points: int = MIN_POINTS_FOR_CELLS) -> Learner:
        """Return the learner with the points of its large clusters in cells."""
        clusters = [cluster.with_cells(threads, nprobe, min_points=min_points) for cluster in self.clusters]
        return Learner(self.centroids, clusters)

    def add_points(self, X: Rows, members: np.ndarray, distance: str, threads: int) -> Learner:
        """Return the learner with more points in its clusters: unit rows X, whose numbers are `members`.

        Each goes where a new point would be routed, and is embedded by what the cluster has learned. Who is a member
        of some cluster already stays where he is.
        """
        present = np.concatenate([cluster.members for cluster in self.clusters])
        if len(present) and len(members) and members.min() <= present.max():
            new = ~np.isin(members, present)
            X, members = X[new], members[new]
        routes = route(X, self.centroids, 1, threads)[:, 0]
        clusters = []
        for number, cluster in enumerate(self.clusters):
            rows = np.flatnonzero(routes == number)
            if len(rows):
                known = select_columns(X[rows], cluster.features)
                embedded = embed(known, cluster.weights, cluster.zero_below, threads)
                points = embedded if distance == "euclidean" else normalise(embedded)
                cluster = cluster.add_points(points, members[rows].astype(np.int32), threads)
            clusters.append(cluster)
        return Learner(self.centroids, clusters)

"""The fitted ensemble: everything that prediction needs, and nothing of scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from scipy.sparse import csr_matrix

from neartag.core.frequent_labels import by_frequency, most_frequent
from neartag.core.threads import resolve_jobs, single_threaded_blas
from neartag.linalg import csr
from neartag.linalg.packing import get_rows, put_rows
from neartag.linalg.rows import Rows, as_rows, dense, normalise
from neartag.linalg.validation import check_count, check_features
from neartag.rerank import state as refine_state
from neartag.rerank.candidates import Voters, no_voters
from neartag.rerank.reranker import Refinement, best
from neartag.search.cells import Cells
from neartag.search.inverted_index import AMONG, PRUNE, PRUNE_LOOSELY, SHARPNESS, FeatureIndex, merge_ids
from neartag.search.weights import voter_weights
from neartag.x1.learner import Cluster, Learner
from neartag.x1.settings import X1Settings
from neartag.x1.single import SinglePoint
from neartag.x1.state import check_state
from neartag.x1.vote import vote

# With fewer entries than this share other than zero, embedded points take less room as CSR.
SPARSE_SHARE = 0.5
# Rows answered at once, which bounds the memory of voters and scores.
BATCH = 8192

Lists = list[tuple[np.ndarray, np.ndarray]]  # of each learner: row numbers and how near they are (m, count)


@dataclass(repr=False)
class X1Model:
    """Learners over one set of labelled training points."""

    kind: ClassVar[str] = "x1"

    settings: X1Settings  # as trained
    n_features: int
    Y: csr_matrix  # (n, L): what each training point votes for
    learners: list[Learner]
    index: FeatureIndex | None = None  # of the training rows, where features have a share of the vote
    refinement: Refinement | None = None  # what decides among the labels that are voted for, where that is asked for
    frequency: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))  # (L,) points that have each label
    added: np.ndarray = field(default_factory=lambda: np.empty(0, bool))  # (n,) which points came after training
    forgotten: int = 0  # points that were trained on and are no longer there
    proposing: bool = False  # whether votes only propose, before the refinement is there, and need not be exact
    # The settings last asked of `adjusted` and the model that it made: to make one for each point would cost.
    _last_adjusted: tuple[dict[str, Any], X1Model] | None = field(default=None, init=False, compare=False)

    def __post_init__(self) -> None:
        """Count the labels unless they are counted already: ties and rows without features are decided by it."""
        if len(self.frequency) != self.Y.shape[1]:
            self.frequency = np.bincount(self.Y.indices, minlength=self.Y.shape[1]).astype(np.int64, copy=False)
        if len(self.added) != self.n_points:
            self.added = np.zeros(self.n_points, bool)

    @property
    def n_points(self) -> int:
        """Number of training points, those without labels included."""
        return int(self.Y.shape[0])

    @property
    def n_labels(self) -> int:
        """Number of labels, those never seen in training included."""
        return int(self.Y.shape[1])

    @property
    def parameters(self) -> dict[str, Any]:
        """Every parameter by name, as trained."""
        return self.settings.to_parameters()

    @property
    def batch_rows(self) -> int:
        """Rows answered at once."""
        return BATCH

    @property
    def count(self) -> int:
        """Neighbours that each voter asks: no more than there are points."""
        return min(int(self.settings.vote.neighbours), max(self.n_points, 1))

    @property
    def looked_at(self) -> int:
        """Neighbours looked for by embedding: more than vote, where those by features are found among them."""
        near = self.feature_share > 0 and self.settings.vote.feature_search == "near"
        return min(AMONG * self.count, max(self.n_points, 1)) if near else self.count

    @property
    def skip(self) -> float:
        """Share of a point's length that the first look for neighbours by features may leave out."""
        return PRUNE_LOOSELY if self.proposing or self.refinement is not None else PRUNE

    @property
    def feature_share(self) -> float:
        """Share of the vote for neighbours by features, 0 without an index of them."""
        return float(self.settings.vote.feature_share) if self.index is not None else 0.0

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what was kept by the way, to be copied or pickled."""
        return {each.name: getattr(self, each.name) for each in fields(self) if each.init}

    def adjusted(self, changes: dict[str, Any]) -> X1Model:
        """Return a model of the same arrays with other settings of prediction; itself where they are its own.

        `changes` names the settings as parameters: `{"n_probe": 2}`.
        """
        changed = {name: value for name, value in changes.items() if self.settings.value(name) != value}
        if not changed:
            return self
        last = self._last_adjusted
        if last is None or last[0] != changed:
            last = changed, replace(self, settings=self.settings.replace(**changed))
            self._last_adjusted = last
        return last[1]

    @cached_property
    def single(self) -> SinglePoint:
        """The direct path of one point."""
        return SinglePoint(self)

    def __repr__(self) -> str:
        """Say in a line what was trained."""
        clusters = sum(len(learner.clusters) for learner in self.learners)
        return (
            f"X1Model({self.n_points} points, {self.n_features} features, {self.n_labels} labels; "
            f"{len(self.learners)} learners, {clusters} clusters)"
        )

    def neighbours(self, X: object, *, n_jobs: int | None = -1) -> tuple[np.ndarray, np.ndarray]:
        """Return who votes on each row of X: training row numbers and shares (m, voters · vote_neighbours).

        The voters are the learners and, where it has a share, the index of the features. A row's shares sum to 1,
        and to less where a voter finds nobody near; a training point found by several stands once for each. −1 where
        there are fewer.
        """
        rows = normalise(as_rows(check_features(X, self.n_features, "X1Classifier")))
        return self.voters(rows, self._threads(n_jobs))

    def predict_topk(self, X: object, k: int = 5, *, n_jobs: int | None = -1) -> tuple[np.ndarray, np.ndarray]:
        """Return the k best labels of each row of X, best first, and their scores in [0, 1], both (m, k).

        Ties go to the label more frequent in training, then to the lower id. Where fewer than k labels have votes
        the id is −1 with score 0. A row on which nobody votes, having no feature or none that training knew, gets the
        most frequent labels, scored by their frequency.
        """
        check_count("k", k)
        checked = check_features(X, self.n_features, "X1Classifier")
        if checked.shape[0] == 1:
            answer = self.single.predict_topk(checked, k)
            if answer is None:
                labels, scores = most_frequent(self.frequency, self.n_points, k)
                return labels[None], scores[None]
            return answer
        rows = as_rows(checked)
        m = rows.shape[0]
        labels = np.full((m, k), -1, np.int32)
        scores = np.zeros((m, k))
        most = min(k, self.n_labels)
        threads = self._threads(n_jobs)
        for first in range(0, m, BATCH):
            batch = normalise(rows[first : first + BATCH])
            part = slice(first, first + batch.shape[0])
            if self.refinement is not None:
                found = best(*self.refined(batch, threads), self.frequency, most, threads)
            else:
                found = vote(self.Y, *self.voters(batch, threads), self.frequency, most, threads)
            labels[part, :most], scores[part, :most] = found
        unheard = labels[:, 0] < 0
        if unheard.any():
            labels[unheard], scores[unheard] = most_frequent(self.frequency, self.n_points, k)
        return labels, np.minimum(scores, 1.0)

    def decision_function(self, X: object, *, n_jobs: int | None = -1) -> csr_matrix:
        """Return the scores of every label that has a vote, as CSR (m, L)."""
        rows = as_rows(check_features(X, self.n_features, "X1Classifier"))
        threads = self._threads(n_jobs)
        labels = self.Y.astype(np.float64)
        blocks = [csr_matrix((0, self.n_labels))]
        for first in range(0, rows.shape[0], BATCH):
            batch = normalise(rows[first : first + BATCH])
            if self.refinement is not None:
                blocks.append(_as_csr(*self.refined(batch, threads), self.n_labels))
            else:
                blocks.append(_as_csr(*self.voters(batch, threads), self.n_points) @ labels)  # (batch, L)
            unheard = np.flatnonzero(np.diff(blocks[-1].indptr) == 0)
            if len(unheard):
                blocks[-1] = blocks[-1] + by_frequency(self.frequency, self.n_points, unheard, batch.shape[0])
        scores = csr_matrix(sparse.vstack(blocks, format="csr"))
        scores.sort_indices()
        np.minimum(scores.data, 1.0, out=scores.data)
        return scores

    def predict(self, X: object, *, n_jobs: int | None = -1) -> csr_matrix:
        """Return the labels that score at least `threshold`, as an indicator CSR (m, L)."""
        scores = self.decision_function(X, n_jobs=n_jobs)
        scores.data = (scores.data >= self.settings.threshold).astype(np.int64)
        scores.eliminate_zeros()
        return scores

    def to_state(self) -> tuple[dict[str, Any], dict[str, dict[str, np.ndarray]]]:
        """Return settings as JSON types, and arrays by part: one part a learner, one for the labels."""
        settings = {"parameters": self.parameters, "n_features": self.n_features, "n_labels": self.n_labels}
        settings |= {"n_learners": len(self.learners), "forgotten": self.forgotten}
        precision = self.settings.regression.precision
        parts = {"labels": {"indptr": self.Y.indptr.astype(np.int64), "indices": self.Y.indices.astype(np.int32)}}
        if self.added.any():
            parts["labels"]["added"] = self.added.astype(np.uint8)
        for number, learner in enumerate(self.learners):
            arrays: dict[str, np.ndarray] = {}
            put_rows(arrays, "centroids", learner.centroids)
            arrays["zero_below"] = np.array([cluster.zero_below for cluster in learner.clusters], np.float64)
            for c, cluster in enumerate(learner.clusters):
                arrays[f"{c}.members"] = cluster.members
                sparse_points = np.count_nonzero(cluster.points) < SPARSE_SHARE * cluster.points.size
                points = csr_matrix(cluster.points) if sparse_points else cluster.points
                put_rows(arrays, f"{c}.points", points, precision)
                arrays[f"{c}.history"] = cluster.history
                put_rows(arrays, f"{c}.weights", cluster.weights, precision)
                if cluster.cells is not None:
                    arrays[f"{c}.centres"], arrays[f"{c}.pointer"] = cluster.cells.centres, cluster.cells.pointer
                if cluster.features is not None:
                    arrays[f"{c}.features"] = cluster.features
            parts[f"learner-{number:03d}"] = arrays
        if self.index is not None:
            parts["index"] = {}
            put_rows(parts["index"], "postings", self.index.postings)
        if self.refinement is not None:
            settings["refinement"], parts["refinement"] = refine_state.to_arrays(self.refinement)
        return settings, parts

    @classmethod
    def from_state(cls, settings: dict[str, Any], parts: dict[str, dict[str, np.ndarray]]) -> X1Model:
        """Return the model that `to_state` described; arrays may be memory maps, and only packed ones are copied."""
        given = check_state(settings, parts)
        precision = given.regression.precision
        labels = parts["labels"]
        n = len(labels["indptr"]) - 1
        ones = np.ones(len(labels["indices"]), np.float32)
        Y = csr_matrix((ones, labels["indices"], labels["indptr"]), shape=(n, settings["n_labels"]))
        learners = []
        for number in range(settings["n_learners"]):
            arrays = parts[f"learner-{number:03d}"]
            clusters = [
                Cluster(
                    members=arrays[f"{c}.members"],
                    weights=get_rows(arrays, f"{c}.weights", precision),
                    points=dense(get_rows(arrays, f"{c}.points", precision)),
                    zero_below=float(zero_below),
                    features=arrays.get(f"{c}.features"),
                    history=arrays[f"{c}.history"],
                    cells=Cells(arrays[f"{c}.centres"], arrays[f"{c}.pointer"]) if f"{c}.centres" in arrays else None,
                )
                for c, zero_below in enumerate(arrays["zero_below"])
            ]
            learners.append(Learner(get_rows(arrays, "centroids"), clusters))
        index = FeatureIndex(get_rows(parts["index"], "postings")) if "index" in parts else None
        refinement = None
        if "refinement" in parts:
            shape = settings["n_features"], settings["n_labels"]
            refinement = refine_state.from_arrays(settings["refinement"], parts["refinement"], *shape)
        added = labels["added"].astype(bool) if "added" in labels else np.zeros(n, bool)
        forgotten = settings.get("forgotten", 0)
        return cls(given, settings["n_features"], Y, learners, index, refinement, added=added, forgotten=forgotten)

    def voters(self, rows: Rows, threads: int) -> tuple[np.ndarray, np.ndarray]:
        """Return who votes on each unit row and with what share (m, voters)."""
        return self.together(*self.both(rows, threads))

    def both(self, rows: Rows, threads: int) -> tuple[Voters, Voters]:
        """Return who votes on each unit row by embedding and who by features, each kind's shares 1 in all."""
        lists = self.learner_neighbours(rows, self.looked_at, threads)
        return self.elected(lists, lambda index, among: index.find(rows, self.count, threads, self.skip, among))

    def elected(
        self, lists: Lists, search: Callable[[FeatureIndex, np.ndarray | None], tuple[np.ndarray, np.ndarray]]
    ) -> tuple[Voters, Voters]:
        """Return the same from each learner's neighbours; `search` finds those by features, among some or everywhere.

        Nobody votes by features where these have no share.
        """
        near = self.near(lists)
        if self.feature_share == 0 or self.index is None:
            return near, no_voters(len(near[0]))
        among = merge_ids([ids for ids, _ in lists]) if self.settings.vote.feature_search == "near" else None
        return near, self.alike(*search(self.index, among))

    def near(self, lists: Lists) -> Voters:
        """Return who votes by embedding, from each learner's neighbours and how near they are."""
        kind, sharpness = self.settings.vote.weight, self.settings.vote.sharpness
        shares = [voter_weights(first_columns(near, self.count), kind, sharpness) / len(lists) for _, near in lists]
        if len(lists) == 1:
            return first_columns(lists[0][0], self.count), shares[0]
        return np.hstack([ids[:, : self.count] for ids, _ in lists]), np.hstack(shares)

    def alike(self, ids: np.ndarray, cosines: np.ndarray) -> Voters:
        """Return who votes by features, from the neighbours by them and their cosines."""
        return ids, voter_weights(cosines, self.settings.vote.weight, SHARPNESS)

    def together(self, near: Voters, alike: Voters) -> Voters:
        """Return all voters with their shares of the whole vote."""
        return combine_votes(near, alike, self.feature_share)

    def refined(self, rows: Rows, threads: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the candidates of each unit row and their probabilities (m, room); −1 where there are fewer."""
        assert self.refinement is not None
        found = self.refinement.candidates(rows, self.Y, *self.both(rows, threads), self.frequency, threads)
        return found.labels, self.refinement.scores(rows, found, self.frequency, threads)

    def weighed(self, X: object, label: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the features of one row that a label's ranker weighs, and what each adds to its sum; none without one.

        Numbers above zero speak for the label, those below against it.
        """
        row = normalise(as_rows(check_features(X, self.n_features, "X1Classifier")))
        both = (self.refinement.later, self.refinement.rankers) if self.refinement is not None else ()
        for rankers in both:  # as when candidates are scored: what was learned later counts
            if rankers is not None and rankers.has(np.array([label]))[0]:
                return rankers.weighed(row, label)
        return np.empty(0, np.int32), np.empty(0, np.float32)

    def learner_neighbours(self, rows: Rows, count: int, threads: int) -> Lists:
        """Return for each learner the nearest training rows and how near (m, count), best first."""
        distance, probes = self.settings.vote.distance, self.settings.clusters.probes
        exact = self.settings.vote.search == "exact"
        with single_threaded_blas():
            return [learner.find(rows, distance, probes, count, threads, exact=exact) for learner in self.learners]

    def _threads(self, n_jobs: int | None) -> int:
        return resolve_jobs(n_jobs)


def combine_votes(near: Voters, alike: Voters, share: float) -> Voters:
    """Return those who vote by embedding and, with a share of the whole vote, those who do by features."""
    if share == 0:
        return near
    return np.hstack([near[0], alike[0]]), np.hstack([(1 - share) * near[1], share * alike[1]])


def first_columns(lists: np.ndarray, count: int) -> np.ndarray:
    """Return the first so many of each row."""
    return np.ascontiguousarray(lists[:, :count])


def _as_csr(columns: np.ndarray, values: np.ndarray, width: int) -> csr_matrix:
    """Return a CSR matrix of lists of columns and values (m, room), of those that are there and above zero."""
    kept = (columns >= 0) & (values > 0)
    pointer = csr.pointer(kept.sum(axis=1))
    return csr_matrix((values[kept], columns[kept], pointer), shape=(len(columns), width))

"""Add points to a fitted model, or forget some, without training again.

An added point is treated as a point to predict: it goes to its nearest cluster, is embedded by that cluster's
regressors, and votes from then on. A forgotten point loses its features, its embedding and its votes; the regressors
keep what they learned from it. Both functions return a new model. It predicts what a model with the same regressors
predicts whose stored points are exactly those that are left.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from scipy.sparse import csr_matrix

from neartag.linalg import csr
from neartag.linalg.hybrid_rows import round_vectors, words_of
from neartag.linalg.rows import Rows, dense
from neartag.rerank.merged_labels import merge_in_reranker
from neartag.rerank.new_labels import rank_new_labels
from neartag.x1.learner import Cluster, Learner
from neartag.x1.model import X1Model

# Points of the sample that measures how well the embeddings fit.
DRIFT_SAMPLE = 200
# A retrain is advised when this share of the points was added, or of the trained ones forgotten, or when added points
# fit so many times worse than trained ones.
MAX_CHANGED_SHARE, MAX_ERROR_RATIO = 0.2, 1.25

_COUNT_AGAIN = np.empty(0, np.int64)  # in place of frequencies that are out of date


def add(model: X1Model, rows: Rows, Y: csr_matrix, threads: int = 1) -> X1Model:
    """Return the model with more points: unit rows (m, d) and their labels (m, L or more, where there are new ones)."""
    rows = round_vectors(model.weigh_vectors(rows))
    n, m = model.n_points, rows.shape[0]
    members = np.arange(n, n + m)
    distance = model.settings.vote.distance
    learners = [learner.add_points(rows, members, distance, threads) for learner in model.learners]
    stacked = csr_matrix(sparse.vstack([csr.widen(model.Y, Y.shape[1]), Y.astype(np.float32)], format="csr"))
    index = None if model.index is None else model.index.append(words_of(rows))
    vectors = None if model.vectors is None else model.vectors.append(rows.vectors, threads)
    added = np.concatenate([model.added, np.ones(m, bool)])
    grown = {"Y": stacked, "learners": learners, "index": index, "vectors": vectors, "added": added}
    more = replace(model, **grown, frequency=_COUNT_AGAIN)
    return _rank_new_labels(more, Y.indices, threads)


def forget(model: X1Model, gone: np.ndarray) -> X1Model:
    """Return the model without some points, gone (n,) bool; the others keep their order and are numbered anew."""
    kept = ~gone
    number = np.cumsum(kept, dtype=np.int32) - 1
    learners = [
        Learner(learner.centroids, [_keep_members(cluster, kept, number) for cluster in learner.clusters])
        for learner in model.learners
    ]
    fewer = replace(
        model,
        Y=model.Y[kept],
        learners=learners,
        index=None if model.index is None else model.index.keep(kept),
        vectors=None if model.vectors is None else model.vectors.keep(kept),
        frequency=_COUNT_AGAIN,
        added=model.added[kept],
        forgotten=model.forgotten + int((gone & ~model.added).sum()),
    )
    return _rank_new_labels(fewer, model.Y[gone].indices)


def merge_labels(model: X1Model, gone: int, into: int) -> X1Model:
    """Return the model with one label merged into another: points that had either have it; later labels move up by one.

    The ranker of the merged label is fitted again, to the points of both.
    """
    target = np.arange(model.n_labels, dtype=np.int32)
    target[gone] = into
    target -= target > gone  # (L,) the new number of each label
    pieces = model.Y.data.copy(), target[model.Y.indices], model.Y.indptr.copy()
    Y = csr_matrix(pieces, shape=(model.n_points, model.n_labels - 1))
    Y.sum_duplicates()
    Y.data[:] = 1
    frequency = np.bincount(Y.indices, minlength=Y.shape[1]).astype(np.int64, copy=False)
    reranker = model.reranker
    if reranker is not None:
        rerank, having = model.settings.rerank, np.zeros(model.n_points, bool)
        having[csr.row_numbers(Y)[Y.indices == target[into]]] = True
        learned = having, model.index, float(rerank.cost), rerank.min_weight
        reranker = merge_in_reranker(reranker, gone, into, *learned, beside=model.beside)
    # Where neither label was trained, the merged one may have points enough for a ranker of its own now.
    return _rank_new_labels(replace(model, Y=Y, frequency=frequency, reranker=reranker), target[[into]])


@dataclass(frozen=True)
class Drift:
    """How far a model has moved from what it was trained on."""

    points: int
    added: int  # of the points
    forgotten: int  # points that the regressors have seen and that are no longer there
    error_trained: float | None  # mean reconstruction error of trained points, and of added ones; None without labels
    error_added: float | None

    @property
    def retrain(self) -> str:
        """Why training again is advised, "" where it is not."""
        reasons = []
        if self.added > MAX_CHANGED_SHARE * max(1, self.points):
            reasons.append(f"{self.added} of {self.points} points were added")
        if self.forgotten > MAX_CHANGED_SHARE * max(1, self.points - self.added + self.forgotten):
            reasons.append(f"{self.forgotten} points that it learned from are forgotten")
        if self.error_trained and self.error_added and self.error_added > MAX_ERROR_RATIO * self.error_trained:
            reasons.append(f"added points fit {self.error_added / self.error_trained:.1f} times worse")
        return "; ".join(reasons)


def drift(model: X1Model, seed: int = 0) -> Drift:
    """Return how many points were added and forgotten, and how well samples of trained and added ones are embedded."""
    errors = [reconstruction_error(model, np.flatnonzero(which), seed) for which in (~model.added, model.added)]
    return Drift(model.n_points, int(model.added.sum()), model.forgotten, *errors)


def reconstruction_error(model: X1Model, rows: np.ndarray, seed: int = 0) -> float | None:
    """Return how badly the embeddings of these points keep their label similarities, a mean over a sample.

    For each point its most similar points by labels in its cluster are taken, as many as SVP preserves. The error is
    the squared difference of the two cosines, by labels and by embedding, as a share of the squared cosine by labels: 0
    is perfect, 1 as bad as no embedding. None where no point has labels.
    """
    labelled = rows[np.diff(model.Y.indptr)[rows] > 0]
    if not len(labelled):
        return None
    chosen = np.random.default_rng(seed).permutation(labelled)[:DRIFT_SAMPLE]
    lengths = np.sqrt(np.maximum(np.diff(model.Y.indptr), 1)).astype(np.float32)
    unit = sparse.diags(1 / lengths).tocsr() @ model.Y  # label rows of unit length
    wrong, whole = 0.0, 0.0
    for cluster in model.learners[0].clusters:
        places = np.flatnonzero(np.isin(cluster.members, chosen))
        if not len(places):
            continue
        by_labels = dense(csr_matrix(unit[cluster.members[places]] @ unit[cluster.members].T))  # (sample, N)
        points = cluster.points / np.maximum(np.linalg.norm(cluster.points, axis=1, keepdims=True), 1e-12)
        by_points = points[places] @ points.T  # (sample, N)
        count = min(model.settings.svp.neighbours, by_labels.shape[1])
        near = np.argpartition(-by_labels, count - 1, axis=1)[:, :count]
        wanted, actual = (np.take_along_axis(each, near, axis=1) for each in (by_labels, by_points))
        wrong += float(((wanted - actual) ** 2)[wanted > 0].sum())
        whole += float((wanted**2).sum())
    return wrong / whole if whole > 0 else None


def _rank_new_labels(model: X1Model, changed: np.ndarray, threads: int = 1) -> X1Model:
    """Return the model with rankers for those of the changed labels that training did not know."""
    if model.reranker is None:
        return model
    rerank = model.settings.rerank
    learned = model.Y, model.frequency, model.index, float(rerank.cost), rerank.min_weight
    return replace(model, reranker=rank_new_labels(model.reranker, changed, *learned, threads, model.beside))


def _keep_members(cluster: Cluster, kept: np.ndarray, number: np.ndarray) -> Cluster:
    """Return the cluster with those members that are kept (n,), by their new numbers (n,)."""
    stays = kept[cluster.members]
    if stays.all() and np.array_equal(number[cluster.members], cluster.members):
        return cluster
    points = np.ascontiguousarray(cluster.points[stays])
    cells = None if cluster.cells is None else cluster.cells.keep(stays)
    return replace(cluster, members=number[cluster.members[stays]], points=points, cells=cells)

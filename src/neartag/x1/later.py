"""Rankers of labels that came after training: trained as soon as a label has enough points, in milliseconds each."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse
from scipy.sparse import csr_matrix

from neartag.rerank import rankers
from neartag.rerank.rankers import Rankers
from neartag.search.inverted_index import FeatureIndex
from neartag.x1.model import X1Model

# Points from which on a label gets a ranker; with fewer the votes know better.
ENOUGH = 5
# Neighbours by features among which a label's hard negatives are, and of how many of its points, the newest ones.
NEIGHBOURS, ASKED = 50, 30


def ranked_later(model: X1Model, changed: np.ndarray, threads: int = 1) -> X1Model:
    """Return the model with rankers for those of the changed labels that training did not know.

    They need the features of their points, and so an index of them; without one votes go on deciding alone.
    """
    refinement = model.refinement
    if refinement is None:
        return model
    refinement = refinement.widened(model.n_labels)
    new = np.unique(changed)[~refinement.rankers.has(np.unique(changed))]
    if len(new) and model.index is not None:
        refinement = replace(refinement, later=_trained(model, model.index, new, refinement.later, threads))
    return model if refinement is model.refinement else replace(model, refinement=refinement)


def _trained(
    model: X1Model, index: FeatureIndex, new: np.ndarray, before: Rankers | None, threads: int
) -> Rankers | None:
    """Return the later rankers, those of some labels made anew."""
    labels, d = model.n_labels, model.n_features
    fitting = new[model.frequency[new] >= ENOUGH]
    kept = np.zeros(labels, bool) if before is None else np.pad(before.known, (0, labels - len(before.known)))
    kept[new] = False
    weights, bias = csr_matrix((labels, d), dtype=np.float32), np.zeros(labels, np.float32)
    if before is not None and kept.any():
        bias[: len(before.bias)] = before.bias
        bias[~kept] = 0
        weights = _resized(before.weights, labels)
        weights = sparse.diags(kept.astype(np.float32)).tocsr() @ weights
    if len(fitting):
        fresh = _fitted(model, index, fitting, threads)
        place = csr_matrix(
            (np.ones(len(fitting), np.float32), (fitting, np.arange(len(fitting)))), (labels, len(fitting))
        )
        weights, bias[fitting], kept[fitting] = weights + place @ fresh.weights, fresh.bias, True
    if not kept.any():
        return None
    weights = csr_matrix(weights, dtype=np.float32)
    weights.eliminate_zeros()
    weights.sort_indices()
    return Rankers(weights, bias, kept)


def _fitted(model: X1Model, index: FeatureIndex, labels: np.ndarray, threads: int) -> Rankers:
    """Return the rankers of these labels, each against neighbours by features that do not have it.

    Neighbours are looked for among the points up to the last one that has the label: a ranker then does not depend on
    whether points came one by one or many at a time.
    """
    having = csr_matrix(model.Y[:, labels])  # (n, labels)
    columns = csr_matrix(having.T.tocsr())
    rows, places = [], []
    for place in range(len(labels)):
        own = columns.indices[columns.indptr[place] : columns.indptr[place + 1]]
        near = _neighbours(index, own, int(own.max()) + 1)
        rows.append(near)
        places.append(np.full(len(near), place))
    pairs = np.concatenate(rows), np.concatenate(places)
    wrong = csr_matrix((np.ones(len(pairs[0]), np.float32), pairs), having.shape)
    involved = np.flatnonzero(np.diff(having.indptr) + np.diff(wrong.indptr))
    cost, least = float(model.settings.rerank.cost), model.settings.rerank.min_weight
    return rankers.train(index.rows(involved), having[involved], wrong[involved], cost, least, threads)


def _neighbours(index: FeatureIndex, own: np.ndarray, stop: int) -> np.ndarray:
    """Return the points below `stop`, not among `own`, that are nearest to any of those by features."""
    found: set[int] = set()
    for point in own[-ASKED:].tolist():
        row = index.rows(np.array([point]))
        if sparse.issparse(index.postings):
            cosines = (row.data @ index.postings[row.indices]).ravel()[:stop]  # sums of the lists that it is in
        else:
            cosines = index.postings[:stop] @ row[0]
        cosines[own[own < stop]] = 0
        best = np.argsort(-cosines, kind="stable")[:NEIGHBOURS]
        found.update(best[cosines[best] > 0].tolist())
    return np.array(sorted(found), np.int64)


def _resized(weights: csr_matrix, labels: int) -> csr_matrix:
    """Return the weights with empty rows for labels that came since."""
    more = np.full(labels - weights.shape[0], weights.indptr[-1], weights.indptr.dtype)
    pieces = weights.data, weights.indices, np.concatenate([weights.indptr, more])
    return csr_matrix(pieces, shape=(labels, weights.shape[1]))

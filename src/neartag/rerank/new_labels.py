"""Train rankers for labels that came after training, as soon as a label has enough points, in milliseconds each."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse
from scipy.sparse import csr_matrix

from neartag.linalg import csr
from neartag.linalg.coded_rows import CodedRows
from neartag.rerank.rankers import Rankers, fit_rankers
from neartag.rerank.reranker import Reranker
from neartag.search.inverted_index import FeatureIndex
from neartag.search.vector_index import Beside

# A label with so many points gets a ranker; with fewer, votes are more reliable.
MIN_POINTS = 5
# Hard negatives of a label are so many neighbours by features of each of its newest points, of which so many are asked.
# Both bound how long an addition takes, while somebody waits; the older points of a label have no say in its negatives.
# A guess.
NEW_LABEL_NEIGHBOURS, NEWEST_POINTS = 50, 30


def rank_new_labels(
    reranker: Reranker,
    changed: np.ndarray,
    Y: csr_matrix,
    frequency: np.ndarray,
    index: FeatureIndex | None,
    cost: float,
    min_weight: float,
    threads: int = 1,
    beside: Beside | None = None,
) -> Reranker:
    """Return the reranker with rankers for those of the changed labels that training did not know.

    Y (n, L) are the labels of all points as they are now, `frequency` (L,) says how many points have each, and `index`
    has their features; `beside` has the vectors beside these, where there are such. Without an index no ranker can be
    trained, and votes alone go on deciding.
    """
    reranker = reranker.widen(Y.shape[1])
    changed = np.unique(changed)
    new = changed[~reranker.rankers.has(changed)]
    if not len(new) or index is None:
        return reranker
    enough = new[frequency[new] >= MIN_POINTS]
    fresh = None
    if len(enough):
        fresh = _fit(index, beside, csr_matrix(Y[:, enough]), cost, min_weight, threads)
    return replace(reranker, new_rankers=_merge(reranker.new_rankers, new, enough, fresh, Y.shape[1]))


def _merge(
    before: Rankers | None, changed: np.ndarray, fitted: np.ndarray, fresh: Rankers | None, labels: int
) -> Rankers | None:
    """Return the rankers from before without those of the changed labels, and with the fresh ones of the fitted labels.

    None where no label has one.
    """
    parts = []
    known, bias = np.zeros(labels, bool), np.zeros(labels, np.float32)
    if before is not None:
        known[: len(before.known)] = before.known
        known[changed] = False
        bias[: len(before.bias)] = before.bias
        bias[~known] = 0
        parts.append(sparse.diags(known.astype(np.float32)).tocsr() @ csr.heighten(before.weights, labels))
    if fresh is not None:
        known[fitted], bias[fitted] = True, fresh.bias
        ones = np.ones(len(fitted), np.float32)
        place = csr_matrix((ones, (fitted, np.arange(len(fitted)))), (labels, len(fitted)))
        parts.append(place @ fresh.weights)
    if not known.any():
        return None
    weights = csr_matrix(sum(parts[1:], parts[0]), dtype=np.float32)
    weights.eliminate_zeros()
    weights.sort_indices()
    return Rankers(weights, bias, known, vectors=_merge_vectors(before, known, fitted, fresh))


def _merge_vectors(
    before: Rankers | None, known: np.ndarray, fitted: np.ndarray, fresh: Rankers | None
) -> CodedRows | None:
    """Return the weights of vectors of the labels that are known (L,); None where there are no vectors."""
    dims = [each.vectors.dim for each in (before, fresh) if each is not None and each.vectors is not None]
    if not dims:
        return None
    out = CodedRows.zeros(len(known), dims[0])
    if before is not None and before.vectors is not None:
        kept = np.flatnonzero(known[: len(before.known)] & before.known)
        out = out.put(kept, before.vectors.take(kept))
    if fresh is not None and fresh.vectors is not None:
        out = out.put(fitted, fresh.vectors)
    return out


def _fit(
    index: FeatureIndex, beside: Beside | None, having: csr_matrix, cost: float, min_weight: float, threads: int
) -> Rankers:
    """Return the rankers of some labels (n, some), each against neighbours by features that do not have it.

    Only points up to the last one that has the label are searched. A ranker then does not depend on whether points were
    added one by one or many at a time.
    """
    columns = csr_matrix(having.T.tocsr())
    lists = []
    for label in range(having.shape[1]):
        own = columns.indices[columns.indptr[label] : columns.indptr[label + 1]]
        lists.append(_neighbours(index, beside, own, int(own.max()) + 1))
    pairs = np.concatenate(lists), np.repeat(np.arange(len(lists)), [len(each) for each in lists])
    negatives = csr_matrix((np.ones(len(pairs[0]), np.float32), pairs), having.shape)
    involved = np.flatnonzero(np.diff(having.indptr) + np.diff(negatives.indptr))
    rows = index.rows(involved)
    rows = rows if beside is None else beside.join(rows, involved)
    return fit_rankers(rows, having[involved], negatives[involved], cost, min_weight, threads)


def _neighbours(index: FeatureIndex, beside: Beside | None, own: np.ndarray, stop: int) -> np.ndarray:
    """Return the points below `stop`, not among `own`, that are nearest to any of those by features, or by vectors."""
    nearest: set[int] = set()

    def add_best(cosines: np.ndarray) -> None:
        cosines[own[own < stop]] = 0
        best = np.argsort(-cosines, kind="stable")[:NEW_LABEL_NEIGHBOURS]
        nearest.update(best[cosines[best] > 0].tolist())

    newest = own[-NEWEST_POINTS:]
    for point in newest.tolist():
        row = index.rows(np.array([point]))
        if index.is_sparse:
            cosines = (row.data @ index.postings[row.indices]).ravel()[:stop]  # sums of the lists that it is in
        else:
            cosines = index.postings[:stop] @ row[0]
        add_best(cosines)
    if beside is not None:
        for by_vector in beside.cosines(newest, stop).T:
            add_best(by_vector.copy())
    return np.array(sorted(nearest), np.int64)

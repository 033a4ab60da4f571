"""Two labels of a reranker made one: their centroids are added up, and one ranker is fitted to the points of both."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.sparse import csr_matrix

from neartag.linalg import csr
from neartag.linalg.coded_rows import CodedRows
from neartag.linalg.rows import normalise
from neartag.rerank.label_centroids import LabelCentroids
from neartag.rerank.rankers import Rankers, fit_rankers
from neartag.rerank.reranker import Reranker
from neartag.search.inverted_index import FeatureIndex
from neartag.search.vector_index import Beside

# Points that both old rankers put below this are no hard negatives: a machine that tells them from its own by the full
# margin would not change by them. At most so many are taken, the hardest first.
FULL_MARGIN, MAX_NEGATIVES = -1.0, 20_000


def merge_in_reranker(
    reranker: Reranker,
    gone: int,
    into: int,
    having: np.ndarray,
    index: FeatureIndex | None,
    cost: float,
    min_weight: float,
    threads: int = 1,
    beside: Beside | None = None,
) -> Reranker:
    """Return the reranker of one label less; `having` (n,) tells which points have the merged label.

    `index` has the points' features, and `beside` the vectors beside these, where there are such. The ranker is fitted
    to these points against the points without it that the old rankers take for its own. Without an
    index, which has the points' features, the ranker of `into` stays as it is. So it does where neither label was
    trained: the caller fits those as labels that came later.
    """
    labels = len(reranker.centroids.lengths)
    later = None if reranker.new_rankers is None else _drop_row(reranker.new_rankers, labels, gone)
    rankers = _drop_row(reranker.rankers, labels, gone)
    place = into - (into > gone)
    if index is not None and having.any() and reranker.rankers.has(np.array([gone, into])).any():
        margins = _margins(reranker, [gone, into], index, beside)
        fresh = _fit(margins, having, index, beside, cost, min_weight, threads)
        rankers = _put_row(rankers, place, fresh)
        later = None if later is None else _put_row(later, place, None)
    return replace(
        reranker,
        size=min(reranker.size, labels - 1),
        centroids=_merge_centroids(reranker.centroids, gone, into, having, beside),
        rankers=rankers,
        new_rankers=later if later is not None and later.known.any() else None,
    )


def _margins(reranker: Reranker, labels: list[int], index: FeatureIndex, beside: Beside | None) -> np.ndarray:
    """Return the larger of what the labels' rankers say of each point, (n,)."""
    best = np.full(index.postings.shape[1 if index.is_sparse else 0], -np.inf, np.float32)
    for rankers in (reranker.rankers, reranker.new_rankers):
        for label in labels:
            if rankers is not None and rankers.has(np.array([label]))[0]:
                weights = rankers.weights[label].toarray().ravel()  # (d,)
                sums = index.postings.T @ weights if index.is_sparse else index.postings @ weights  # (n,)
                if beside is not None and rankers.vectors is not None:
                    sums = sums + beside.times(rankers.vectors.decode(np.array([label]))[0])
                best = np.maximum(best, sums + rankers.bias[label])
    return best


def _fit(
    margins: np.ndarray,
    having: np.ndarray,
    index: FeatureIndex,
    beside: Beside | None,
    cost: float,
    min_weight: float,
    threads: int,
) -> Rankers:
    """Return the ranker of the points that have the label, against the hardest of the others."""
    hard = np.flatnonzero(~having & (margins > FULL_MARGIN))
    hard = hard[np.argsort(-margins[hard], kind="stable")[:MAX_NEGATIVES]]
    involved = np.union1d(np.flatnonzero(having), hard)
    own = csr_matrix(having[involved].astype(np.float32)[:, None])  # (involved, 1)
    negatives = csr_matrix((~having[involved]).astype(np.float32)[:, None])
    rows = index.rows(involved)
    rows = rows if beside is None else beside.join(rows, involved)
    return fit_rankers(rows, own, negatives, cost, min_weight, threads)


def _merge_centroids(
    centroids: LabelCentroids, gone: int, into: int, having: np.ndarray, beside: Beside | None
) -> LabelCentroids:
    """Return the centroids with the sum of both labels' rows for the one that is left.

    Only the largest entries of each sum are there, and a row that had both labels counts twice: the sum is nearly that
    of the rows.
    """
    labels = len(centroids.lengths)
    lengths = centroids.lengths.astype(np.float64)
    both = centroids.postings[:, [gone, into]] @ lengths[[gone, into]]  # (d,)
    length = float(np.linalg.norm(both))
    kept = np.delete(np.arange(labels), gone)
    # What each label's centroid counts for in the centroids that are left, (L, L − 1).
    rows, columns, scales = kept, np.arange(labels - 1), np.ones(labels - 1)
    place = into - (into > gone)
    if length > 0:
        scales[place] = lengths[into] / length
        rows, columns = np.append(rows, gone), np.append(columns, place)
        scales = np.append(scales, lengths[gone] / length)
    share = csr_matrix((scales.astype(np.float32), (rows, columns)), (labels, labels - 1))
    postings = csr_matrix(centroids.postings @ share, dtype=np.float32)
    postings.eliminate_zeros()
    postings.sort_indices()
    left = centroids.lengths[kept]
    left[place] = length
    vectors = centroids.vectors
    if vectors is not None and beside is not None:
        mean = beside.vectors.rows.decode(having).sum(axis=0, keepdims=True)  # (1, e)
        vectors = vectors.keep(np.arange(labels) != gone).put_row(place, normalise(mean)[0])
    return replace(centroids, postings=postings, lengths=left, vectors=vectors)


def _drop_row(rankers: Rankers, labels: int, gone: int) -> Rankers:
    """Return the rankers of one label less, a row for each label: those that had none still have none."""
    more = labels - len(rankers.known)
    kept = np.delete(np.arange(labels), gone)
    weights = csr_matrix(csr.heighten(rankers.weights, labels)[kept])
    bias, known = np.pad(rankers.bias, (0, more)), np.pad(rankers.known, (0, more))
    vectors = None if rankers.vectors is None else rankers.vectors.extend(labels).take(kept)
    return replace(rankers, weights=weights, bias=bias[kept], known=known[kept], vectors=vectors)


def _put_row(rankers: Rankers, label: int, fresh: Rankers | None) -> Rankers:
    """Return the rankers with another one for a label, whose weights are (1, d); None: with none."""
    kept = csr.keep_entries(rankers.weights, csr.row_numbers(rankers.weights) != label)
    bias, known = rankers.bias.copy(), rankers.known.copy()
    bias[label], known[label] = 0, fresh is not None
    if fresh is not None:
        place = csr_matrix(([np.float32(1)], ([label], [0])), (len(bias), 1))
        kept, bias[label] = csr_matrix(kept + place @ fresh.weights, dtype=np.float32), fresh.bias[0]
    kept.sort_indices()
    vectors = rankers.vectors
    if vectors is not None:
        dense = CodedRows.zeros(1, vectors.dim) if fresh is None or fresh.vectors is None else fresh.vectors
        vectors = vectors.put(np.array([label]), dense)
    return replace(rankers, weights=kept, bias=bias, known=known, vectors=vectors)

"""How much dense vectors weigh against the words beside them, told by points held out.

A point is x = (words, weight · vector) to the embedding and to the rankers. To train these for each weight would cost a
training each. What a weight is worth shows in a plain vote of the nearest points by x: where vectors tell labels better
than words do, it is best with a large weight.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix

from neartag.evaluation.point_precision import precision_by_point, standard_error
from neartag.linalg.coded_rows import float_rows
from neartag.linalg.hybrid_rows import HybridRows
from neartag.linalg.rows import csr_arrays
from neartag.search.inverted_index import PRUNE_LOOSELY, FeatureIndex, merge_ids
from neartag.search.vector_index import VectorIndex
from neartag.search.weights import FEATURE_SHARPNESS, voter_weights
from neartag.x1.selection import KS, first_of_others
from neartag.x1.vote import vote

# What is tried, and by how many times another weight's vote must be better than the first one's. A guess: on yso, where
# the votes were within 1%, weights 1 and 2 were within 0.4 points on a held-out fifth, and 1 was not behind. For a
# smaller weight it is enough that its vote is hardly better by chance: on a held-out fifth of eurlex4k-partial, with
# static vectors, 0.25 had the better vote, and in the end was better than 1, and than words alone, at every figure. On
# a part of debian, 2 was 2.4% better by its votes, and not better in the end.
WEIGHTS, MIN_GAIN, MIN_STANDARD_ERRORS = (1.0, 0.5, 2.0, 0.25), 1.03, 2.0
# Neighbours that vote, of as many by words and by vectors; and points held out that are asked at most.
NEIGHBOURS, MAX_ASKED = 40, 1000


def choose_vector_weight(
    rows: HybridRows, Y: csr_matrix, vectors: VectorIndex, held: np.ndarray, threads: int
) -> float:
    """Return the weight whose nearest points vote best, of unit rows with labels Y (n, L), on held-out ones.

    `vectors` is the index of the rows' vectors. The first weight, where nothing can be told.
    """
    if not len(held):
        return WEIGHTS[0]
    asked, n = held[:: -(-len(held) // MAX_ASKED)], rows.shape[0]
    count = min(NEIGHBOURS, n)
    own, own_vectors = rows[asked], float_rows(rows.vectors, asked)
    index = FeatureIndex.from_rows(rows.words)
    by_words = index.find(own.words, min(2 * count, n), threads, PRUNE_LOOSELY)
    by_vectors = vectors.find(own_vectors, min(2 * count, n), threads)
    lists = [first_of_others(each, held, count, n)[0] for each in (by_words, by_vectors)]
    pool = np.ascontiguousarray(merge_ids(lists))  # (m, 2 · count), −1: nobody
    words, dense = _word_cosines(own.words, rows.words, pool), vectors.rows.products(own_vectors, pool, threads)
    frequency, labels = np.bincount(Y.indices, minlength=Y.shape[1]), csr_arrays(Y)
    most, truth = min(KS[-1], Y.shape[1]), Y[asked]
    votes = []
    for weight in WEIGHTS:
        both = (words + np.float32(weight**2) * dense) / np.float32(1 + weight**2)
        both[pool < 0] = -np.inf
        order = np.argsort(-both, axis=1, kind="stable")[:, :count]
        near = np.take_along_axis(pool, order, axis=1), np.take_along_axis(both, order, axis=1)
        voters = near[0], voter_weights(np.ascontiguousarray(near[1]), "similarity", FEATURE_SHARPNESS)
        answers = np.full((len(asked), KS[-1]), -1, np.int32)
        answers[:, :most], _ = vote(labels, voters, frequency, most, threads)
        votes.append(precision_by_point(answers, truth, KS))
    clear = [weight for weight, vote_of in zip(WEIGHTS, votes, strict=True) if _is_clear(weight, vote_of, votes[0])]
    return max(clear, key=lambda weight: votes[WEIGHTS.index(weight)].mean(), default=WEIGHTS[0])


def _is_clear(weight: float, precision: np.ndarray, of_first: np.ndarray) -> bool:
    """Say whether a weight is clearly better than the first one, by the precision of the votes on each point (m,)."""
    if weight > WEIGHTS[0]:
        return bool(precision.mean() > MIN_GAIN * of_first.mean())
    gains = precision - of_first
    return bool(gains.mean() > MIN_STANDARD_ERRORS * standard_error(gains))


def _word_cosines(queries: csr_matrix, rows: csr_matrix, pool: np.ndarray) -> np.ndarray:
    """Return the product of each query (m, d) with each of its pool of rows (m, many), float32."""
    m, many = pool.shape
    pairs = rows[np.maximum(pool, 0).ravel()].multiply(queries[np.repeat(np.arange(m), many)])
    return np.asarray(pairs.sum(axis=1), np.float32).reshape(m, many)

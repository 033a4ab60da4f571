"""Which labels to look at again: those that are probably wrong, and those that are probably missing.

A label is judged by what is known without its own document: by the nearest other documents, by the label's other
documents, by labels that mostly stand together, and by a model that was trained without the document. Against that
stands how well such models foresee the label elsewhere, how many labels they expect of the document, and, where a label
may be missing, how many it has. How much each counts is learned from the corpus itself. Labels given to random
documents tell what wrong ones look like. Labels that were not given, among those that could be expected, tell how sure
a missing one can be.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse import csr_matrix

from neartag.linalg import csr
from neartag.linalg.rows import Rows
from neartag.rerank.fusion import Fusion
from neartag.tagging.review_pairs import PairFeatures, entries

WRONG, MISSING = "wrong", "missing"
# Assumed of labels before they are looked at: such a share is wrong, and of the right ones such a share is missing.
WRONG_SHARE, MISSING_SHARE = 0.025, 0.05
NOISE_PER_LABEL = 3  # labels of random documents, for each that was given
NOTHING = -20.0  # log-odds where nothing speaks for an error
# How far the log-odds of a missing label add to those of the document's labels that may stand in its place. Chosen on
# damaged training documents of two corpora; the list of wrong labels gains, that of missing ones has no use for it.
REPLACED = 0.3
MIN_EXPECTED = 0.02  # a label may be missing where its probability, or its share of the votes, is as large

Pairs = tuple[np.ndarray, np.ndarray]  # documents and labels (m,) each
Judge = Callable[[np.ndarray], np.ndarray]  # from features of pairs (m, J) to the log-odds that each is in error (m,)


class DoubtfulPairs(NamedTuple):
    """Pairs of document and label, the most doubtful first."""

    documents: np.ndarray  # (m,)
    labels: np.ndarray  # (m,)
    is_missing: np.ndarray  # (m,) else the label is given, and may be wrong
    scores: np.ndarray  # (m,)

    def of_kind(self, kind: str | None) -> DoubtfulPairs:
        """Return those that are probably wrong, or probably missing, in the same order; None: both."""
        if kind is None:
            return self
        return DoubtfulPairs(*(each[self.is_missing == (kind == MISSING)] for each in self))


def rank_doubts(
    features: PairFeatures, reviewed: np.ndarray, fitted: np.ndarray, threads: int = 1, seed: int = 0
) -> DoubtfulPairs:
    """Return all labels given to the documents reviewed (n,) bool, and all that they may lack, by doubt.

    What to doubt is learned from the documents in `fitted` (n,) bool, one half for the other.
    """
    every = csr.row_numbers(features.Y), features.Y.indices.astype(np.int64)
    expected = find_expected(features)
    given, absent = (_of_documents(each, reviewed) for each in (every, expected))
    absent = _where(absent, entries(features.Y, *absent) == 0)
    suspect, lacking = np.empty(len(given[0])), np.empty(len(absent[0]))  # log-odds
    for half in range(2):  # each is judged by what the other teaches: errors that were learned would look right
        others = fitted & (np.arange(len(fitted)) % 2 != half)
        wrong = fit_wrong(features, _of_documents(every, others), threads, seed)
        missing = fit_missing(features, _of_documents(expected, others), threads)
        mine, own = given[0] % 2 == half, absent[0] % 2 == half
        suspect[mine] = wrong(features.of_pairs(*_where(given, mine)))
        lacking[own] = missing(features.of_pairs(*_where(absent, own), with_size=True))
    documents, labels = (np.concatenate(each) for each in zip(given, absent, strict=True))
    is_missing = np.repeat([False, True], [len(given[0]), len(absent[0])])
    suspect = add_what_is_lacking(suspect, given[0], lacking, absent[0])
    scores = _probability(np.concatenate([suspect, lacking]))
    order = np.lexsort((labels, documents, -scores))
    return DoubtfulPairs(documents[order], labels[order], is_missing[order], scores[order])


def add_what_is_lacking(
    suspect: np.ndarray, documents: np.ndarray, lacking: np.ndarray, lacking_documents: np.ndarray
) -> np.ndarray:
    """Return the log-odds of wrong labels, larger where their document lacks a label: one may stand for the other."""
    most = np.full(int(documents.max(initial=-1)) + 1, NOTHING)
    here = lacking_documents < len(most)
    np.maximum.at(most, lacking_documents[here], np.maximum(lacking[here], NOTHING))
    usual = np.log(MISSING_SHARE)
    return suspect + REPLACED * (most[documents] - usual)


def fit_wrong(features: PairFeatures, given: Pairs, threads: int = 1, seed: int = 0) -> Judge:
    """Return what tells how likely given labels are wrong: as likely as they are like random ones."""
    documents, labels = given
    shuffled = np.random.default_rng(seed).permutation(np.tile(labels, NOISE_PER_LABEL))
    noise = np.tile(documents, NOISE_PER_LABEL), shuffled
    noise = _where(noise, entries(features.Y, *noise) == 0)
    if not len(documents) or not len(noise[0]):
        return _never
    pairs = np.concatenate([features.of_pairs(*given), features.of_pairs(*noise)])
    fusion = Fusion.fit(pairs, np.repeat([True, False], [len(documents), len(noise[0])]), threads)
    # The fusion's log-odds are those of given labels against random ones, of which there were more.
    offset = np.log(WRONG_SHARE / (1 - WRONG_SHARE)) + np.log(len(documents) / len(noise[0]))
    return lambda asked: offset - fusion.log_odds(asked, threads)


def fit_missing(features: PairFeatures, expected: Pairs, threads: int = 1) -> Judge:
    """Return what tells how likely labels that are expected, and not given, are missing."""
    is_given = entries(features.Y, *expected) > 0
    if not is_given.any() or is_given.all():
        return _never
    fusion = Fusion.fit(features.of_pairs(*expected, with_size=True), is_given, threads)
    return lambda asked: np.log(MISSING_SHARE) + fusion.log_odds(asked, threads)


def find_expected(features: PairFeatures) -> Pairs:
    """Return the pairs of document and label that could be expected, given or not."""
    likely = features.few if features.answers is None else features.few.maximum(features.answers)
    likely = csr_matrix(likely).tocoo()
    kept = likely.data >= MIN_EXPECTED
    return likely.row[kept].astype(np.int64), likely.col[kept].astype(np.int64)


def choose_documents(n: int, most: int) -> np.ndarray:
    """Return a mask of n documents, of at most so many, always the same ones."""
    mask = np.ones(n, bool)
    if n > most:
        mask[np.random.default_rng(0).choice(n, n - most, replace=False)] = False
    return mask


def answer_by_folds(
    fit: Callable[[], Any], rows: Rows, Y: csr_matrix, folds: int, n_jobs: int | None, done: Callable[[], None]
) -> csr_matrix:
    """Return each document's labels with probabilities (n, L), by a model trained on the other folds.

    `fit` returns an unfitted classifier; `done` is called after each fold.
    """
    n = rows.shape[0]
    fold = np.random.default_rng(0).permutation(n) % folds
    parts, places = [], []
    for number in range(folds):
        others, own = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        model = fit().fit(rows[others], Y[others]).model_
        parts.append(model.decision_function(rows[own], n_jobs=n_jobs))
        places.append(own)
        done()
    stacked = csr_matrix(sparse.vstack(parts, format="csr"))
    return stacked[np.argsort(np.concatenate(places), kind="stable")]


def _probability(log_odds: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-np.clip(log_odds, -700, 700)))


def _never(asked: np.ndarray) -> np.ndarray:
    """Doubt nothing: there was nothing to learn from."""
    return np.full(len(asked), NOTHING)


def _of_documents(pairs: Pairs, mask: np.ndarray) -> Pairs:
    return _where(pairs, mask[pairs[0]])


def _where(pairs: Pairs, mask: np.ndarray) -> Pairs:
    return pairs[0][mask], pairs[1][mask]

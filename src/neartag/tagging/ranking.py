"""Rows answered as arrays: the best labels of each, their scores, and whether the model knows anything of the row."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from neartag.core.frequent_labels import most_frequent
from neartag.linalg.coded_rows import float_rows
from neartag.linalg.hybrid_rows import HybridRows
from neartag.tagging.calibration import Calibration, calibrate_scores
from neartag.tagging.explain import has_voters, is_refined


class Ranked(NamedTuple):
    """The best labels of rows, best first; −1 and 0 where there are fewer."""

    labels: np.ndarray  # (m, k)
    scores: np.ndarray  # (m, k)
    shares: np.ndarray  # (m, k) of the votes
    found: np.ndarray  # (m,) whether anything is known of the row; where not, its labels are −1


def rank_rows(model: Any, X: Any, k: int, n_jobs: int | None = -1, *, with_shares: bool = True) -> Ranked:
    """Return the k best labels of each row; a row that nothing is known of has none.

    Nothing is known of a row without features, and of one on which nobody votes. Without `with_shares`, shares are 0
    where it takes time to find them.
    """
    known = has_features(X)  # (m,)
    if not has_voters(model):
        labels, scores = model.predict_topk(X, k, n_jobs=n_jobs)
        labels, scores = np.where(known[:, None], labels, -1), np.where(known[:, None], scores, 0.0)
        return Ranked(labels, scores, scores, known)
    parts = [Ranked(np.empty((0, k), np.int32), np.empty((0, k)), np.empty((0, k)), np.empty(0, bool))]
    for retrieved in model.retrieve_batches(X, n_jobs=n_jobs):
        labels, scores = model.rank(retrieved, k, fallback=False)
        shares, found = scores, labels[:, 0] >= 0
        if is_refined(model):
            shares = model.shares(retrieved, labels) if with_shares and found.any() else np.zeros_like(scores)
        if not found.all():  # of the labels asked for none may come up, though others would
            found |= model.has_voters(retrieved)
        parts.append(Ranked(labels, scores, shares, found))
    labels, scores, shares, found = (np.concatenate(each) for each in zip(*parts, strict=True))
    return Ranked(labels, scores, shares, found & known)


def finish_ranking(
    ranked: Ranked,
    calibration: Calibration | None,
    min_score: float,
    frequency: np.ndarray | None = None,
) -> Ranked:
    """Return what is told: scores calibrated, labels below the lowest score gone (−1).

    With `frequency`, the points that have each label (L,), a row that nothing is known of gets the most frequent ones.
    Their scores are 0, whatever the lowest score is: how frequent a label is says nothing about the row.
    """
    scores = calibrate_scores(calibration, ranked.scores)
    labels = np.where(scores >= min_score, ranked.labels, np.int32(-1))
    unknown = ~ranked.found
    if frequency is not None and unknown.any():
        labels[unknown] = most_frequent(frequency, 1, labels.shape[1])[0]
        scores = np.where(unknown[:, None], 0.0, scores)
    return ranked._replace(labels=labels, scores=scores)


def has_features(X: Any) -> np.ndarray:
    """Return which rows have a feature that is not 0, (m,)."""
    if isinstance(X, HybridRows):
        return has_features(X.words) | has_features(float_rows(X.vectors))
    if not issparse(X):
        return np.asarray(np.asarray(X).any(axis=1))
    if not X.data.all():  # zeros that are stored
        X = X.copy()
        X.eliminate_zeros()
    return np.diff(X.indptr) > 0

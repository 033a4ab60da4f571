"""Splits as X1's engine takes them: rows scaled, a part held out or not, and the embedding of each learned once."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from neartag.experiments import datasets, trials
from neartag.experiments.datasets import Parts
from neartag.linalg.rows import as_rows, normalise, row_lengths
from neartag.x1.settings import X1Settings

HELD_OUT_SHARE = 0.2


def prepare(parts: Parts, rows: str) -> Parts:
    """Return the parts with their rows of unit length, or all divided by the longest training row's length."""
    if rows == "unit":
        return parts._replace(X=normalise(as_rows(parts.X)), X_test=normalise(as_rows(parts.X_test)))
    train, test = as_rows(parts.X), as_rows(parts.X_test)
    longest = np.float32(row_lengths(train).max(initial=0.0) or 1.0)
    return parts._replace(X=as_rows(train / longest), X_test=as_rows(test / longest))


class Split(NamedTuple):
    """Rows to train on and rows to measure on: a split of a data set, or its training part with a fifth held out."""

    data: str
    seed: int
    quick: bool
    rows: str  # as `prepare` takes it
    held_out: bool


@lru_cache(maxsize=2)
def load(split: Split) -> Parts:
    """Return the rows of a split."""
    whole = prepare(datasets.split(split.data, split.seed, split.quick), split.rows)
    if not split.held_out:
        return whole
    kept, held = trials.hold_out(whole.X.shape[0], HELD_OUT_SHARE, (split.seed, 11))
    return Parts(whole.X[kept], whole.Y[kept], whole.X[held], whole.Y[held])


def embed_split(
    split: Split,
    settings: X1Settings,
    *,
    itself: bool = True,
    k_means: trials.KMeans = "plain",
    threads: int,
    learner: int = 0,
) -> trials.Embedded:
    """Return what `embed_labels` gives, learned once for all that ask: penalties, k and the distance have no part.

    What a cell takes therefore depends on the one before it; what it measures does not.
    """
    others = {"l2": 1.0, "vote_neighbours": 1, "vote_distance": "euclidean"}
    return _embed_once(split, settings.replace(**others), itself, k_means, threads, learner)


@lru_cache(maxsize=8)  # most readings: four n̄, each with a part held out and with the whole
def _embed_once(
    split: Split, settings: X1Settings, itself: bool, k_means: trials.KMeans, threads: int, learner: int
) -> trials.Embedded:
    parts = load(split)
    return trials.embed_labels(parts.X, parts.Y, settings, threads, itself=itself, k_means=k_means, learner=learner)


def forget() -> None:
    """Let go of the rows and embeddings that are kept."""
    load.cache_clear()
    _embed_once.cache_clear()

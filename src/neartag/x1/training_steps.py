"""Steps of training that take values and return one, whoever calls them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.sparse import csr_matrix

from neartag.linalg.hybrid_rows import words_of
from neartag.linalg.quantization import round_to
from neartag.linalg.rows import Rows
from neartag.search.cells import NPROBE, NPROBE_TO_DECIDE
from neartag.search.inverted_index import PRUNE_LOOSELY, FeatureIndex
from neartag.search.vector_index import VectorIndex
from neartag.x1.learner import Learner
from neartag.x1.model import X1Model
from neartag.x1.selection import auto_settings, choose_vote, first_choices
from neartag.x1.settings import X1Settings

# A search among all points for neighbours by features takes long when it reads more entries than this for a point: it
# would be most of an answer's time. Delicious, with 11,000, answers in two thirds of the time without it, and loses 0.3
# of P@3 on held-out fifths.
MAX_ENTRIES_TO_ANSWER = 5000


def select_vote(
    settings: X1Settings,
    rows: Rows,
    Y: csr_matrix,
    held_out: np.ndarray,
    learners: list[Learner],
    index: FeatureIndex | None,
    vectors: VectorIndex | None,
    threads: int,
) -> X1Model:
    """Return a model of these learners that votes as is best for the held-out points, where that is open."""
    first = first_choices(settings).replace(n_learners=len(learners))
    approximate = settings.rerank.enabled
    model = X1Model(first, int(rows.shape[1]), Y, learners, index, vectors, approximate=approximate)
    names = auto_settings(settings)
    if not names or not len(held_out):
        return model
    chosen = first.replace(**choose_vote(model, rows, held_out, names, threads))
    return replace(model, settings=chosen, index=index if float(chosen.vote.feature_share) > 0 else None)


def round_learner(learner: Learner, precision: str) -> Learner:
    """Return the learner with its weights and points as they will be after saving and loading."""
    clusters = [
        replace(cluster, weights=round_to(cluster.weights, precision), points=round_to(cluster.points, precision))
        for cluster in learner.clusters
    ]
    return Learner(learner.centroids, clusters)


def with_cells(learner: Learner, settings: X1Settings, threads: int) -> Learner:
    """Return the learner with its points in cells, where that is how they are searched."""
    if settings.vote.search != "cells":
        return learner
    return learner.with_cells(threads, NPROBE if settings.rerank.enabled else NPROBE_TO_DECIDE)


def has_slow_search(model: X1Model, rows: Rows) -> bool:
    """Say whether a search among all points for neighbours by features takes long."""
    rows = words_of(rows)
    return model.index is not None and model.index.work(rows, model.n_neighbours, PRUNE_LOOSELY) > MAX_ENTRIES_TO_ANSWER

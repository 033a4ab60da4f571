"""What tests of training share: its steps one by one, with held-out points of their own choice."""

from __future__ import annotations

import numpy as np

from neartag.core.progress import Progress
from neartag.core.threads import single_threaded_blas
from neartag.linalg.rows import as_rows, normalise
from neartag.x1.ensemble import learner_seeds, make_partitions
from neartag.x1.model import X1Model
from neartag.x1.resolve import DataFacts, resolve
from neartag.x1.schedule import Machine
from neartag.x1.settings import X1Settings
from neartag.x1.training import TrainingRun, fit_learners, hold_out, refit_or_join, select_vote


def fit_joined(X, Y, held_out: np.ndarray | None = None, **options) -> X1Model:
    """Return the model whose held-out points joined their clusters, however few the points are."""
    rows = normalise(as_rows(X))
    settings = resolve(X1Settings.from_parameters(options), DataFacts.of(rows))
    held_out = hold_out(rows.shape[0], settings, False) if held_out is None else held_out
    partitions = make_partitions(rows, settings.clusters, learner_seeds(settings), 1)
    run = TrainingRun(rows, Y, held_out, partitions, Machine(1), Progress())
    with single_threaded_blas():
        learners = fit_learners(run, settings, held_out, "training")
        return refit_or_join(run, select_vote(run, settings, learners), refit=False)

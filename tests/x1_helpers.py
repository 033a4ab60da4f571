"""What tests of training share: its steps one by one, with held-out points of their own choice."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from neartag.core.threads import single_threaded_blas
from neartag.linalg.rows import as_rows, normalise
from neartag.search.inverted_index import FeatureIndex
from neartag.x1.cluster_training import train_cluster
from neartag.x1.ensemble import learner_seeds, make_partitions
from neartag.x1.learner import Learner
from neartag.x1.model import X1Model
from neartag.x1.parts import members_of, partition_to_arrays
from neartag.x1.resolve import DataFacts, resolve
from neartag.x1.selection import first_choices
from neartag.x1.settings import X1Settings
from neartag.x1.training import hold_out
from neartag.x1.training_steps import round_learner, select_vote, with_cells


def fit_joined(X, Y, held_out: np.ndarray | None = None, **options) -> X1Model:
    """Return the model whose held-out points joined their clusters, however few the points are."""
    rows = normalise(as_rows(X))
    settings = resolve(X1Settings.from_parameters(options), DataFacts.of(rows))
    held_out = hold_out(rows.shape[0], settings, False) if held_out is None else held_out
    seeds = learner_seeds(settings)
    partitions = make_partitions(rows, settings.clusters, seeds, 1)
    index = FeatureIndex.from_rows(rows) if float(first_choices(settings).vote.feature_share) > 0 else None
    learners = []
    with single_threaded_blas():
        for partition, seed in zip(partitions, seeds, strict=False):
            arrays, first = partition_to_arrays(partition), int(seed.generate_state(1)[0])
            members = [members_of(arrays, number, held_out) for number in range(partition.n_clusters)]
            clusters = [
                train_cluster(rows[own], Y[own], own, settings, first + number, 1) for number, own in enumerate(members)
            ]
            learners.append(with_cells(Learner(partition.centroids, clusters), settings, 1))
        model = select_vote(settings, rows, Y, held_out, learners, index, None, 1)
        joined = [each.add_points(rows[held_out], held_out, settings.vote.distance, 1) for each in learners]
        final = [round_learner(with_cells(each, settings, 1), settings.regression.precision) for each in joined]
    return replace(model, learners=final)

"""The learners of an ensemble: the seed of each, and its partition of the points."""

from __future__ import annotations

import warnings

import numpy as np
from joblib import Parallel, delayed

from neartag.linalg.rows import Rows
from neartag.x1.centroids import Partition
from neartag.x1.cluster_training import make_partition
from neartag.x1.settings import ClusterSettings, X1Settings


def learner_seeds(settings: X1Settings) -> list[np.random.SeedSequence]:
    """Return the seed of each learner."""
    return np.random.SeedSequence(settings.random_state).spawn(int(settings.learners))


def make_partitions(
    rows: Rows, settings: ClusterSettings, seeds: list[np.random.SeedSequence], jobs: int
) -> list[Partition]:
    """Return the partition of each learner; one only, with a warning, where all would be the same."""
    numbers = [int(seed.generate_state(2)[1]) for seed in seeds]
    first = make_partition(rows, settings, numbers[0], jobs)
    if len(seeds) > 1 and first.n_clusters == 1:
        warnings.warn(
            f"with one cluster all {len(seeds)} learners would be the same: one is trained; "
            "set n_clusters to 2 or more, or n_learners to 1",
            UserWarning,
            stacklevel=4,
        )
        return [first]
    rest = Parallel(n_jobs=max(1, min(jobs, len(seeds) - 1)), prefer="threads")(
        delayed(make_partition)(rows, settings, number, 1) for number in numbers[1:]
    )
    return [first, *rest]

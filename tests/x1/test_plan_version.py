"""A work folder goes on with the tasks that it was begun with: whoever changes these must raise PLAN_VERSION."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

import numpy as np
import pytest

from neartag.work.simulation import Cluster, Need, simulate
from neartag.x1.shape import Shape
from neartag.x1.sizing import Job
from neartag.x1.training import PLAN_VERSION

SETTINGS = {"n_learners": 2, "n_clusters": 3, "embedding_dim": 8, "svp_neighbours": 20}


@dataclass(frozen=True)
class MadeUp(Shape):
    """A shape whose labels are counted in whole numbers, which are the same on every computer."""

    def label_counts(self) -> np.ndarray:
        weights = 1000 // (np.arange(self.labels) % 100 + 1)
        return 1 + weights * int(self.pairs) // int(weights.sum())


SMALL = MadeUp(400, 200, 40, 10.0, 2.0)
LARGE = MadeUp(300_000, 5000, 3000, 10.0, 4.0)  # points are divided in blocks, costs tried on fewer labels
# How many tasks there are, and a digest of them.
KNOWN = {
    ("small", True): (40, "de98d2608600350a"),
    ("small", False): (14, "04b64ca010b16cf5"),
    ("large", True): (157, "f8bef2cb27b036a4"),
    ("large", False): (26, "f0563c0f7a292a39"),
}


def digest(shape: Shape, refine: bool) -> tuple[int, str]:
    """Return how many tasks a plan has, and a digest of their names, functions, inputs and arguments."""
    job, tasks = Job(shape, {**SETTINGS, "refine": refine}), {}

    def need(task):
        tasks[task.name] = [task.name, task.function, task.inputs, task.arguments]
        return Need(1.0)

    simulate(job.start(), need, Cluster(50), job.then)
    described = json.dumps([tasks[name] for name in sorted(tasks)], sort_keys=True)
    return len(tasks), hashlib.sha256(described.encode()).hexdigest()[:16]


@pytest.mark.parametrize("refine", [True, False])
@pytest.mark.parametrize(("name", "shape"), [("small", SMALL), ("large", LARGE)])
def test_who_changes_the_tasks_raises_the_version(name, shape, refine):
    found = {"version": PLAN_VERSION, "tasks": digest(shape, refine)}
    wanted = {"version": 4, "tasks": KNOWN.get((name, refine))}
    assert found == wanted, "raise PLAN_VERSION, and write it and the new digests here"


def test_the_large_plan_is_one_of_over_a_million_pairs():
    assert SMALL.label_counts().sum() < 1_000_000 < LARGE.label_counts().sum()

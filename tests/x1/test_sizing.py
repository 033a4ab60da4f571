"""The plan of data that are not there is the plan of data that are."""

from __future__ import annotations

import numpy as np
import pytest

from neartag.core.progress import Progress
from neartag.data import synthetic
from neartag.linalg.rows import normalise
from neartag.work.executors.in_process import InProcess
from neartag.work.folder import WorkFolder
from neartag.work.simulation import Cluster, Need, simulate
from neartag.work.times import read_times
from neartag.x1 import plan
from neartag.x1.schedule import Machine
from neartag.x1.settings import X1Settings
from neartag.x1.shape import Shape
from neartag.x1.sizing import _AMOUNTS, Job, kind
from neartag.x1.training import fit_model

SETTINGS = {"n_learners": 2, "n_clusters": 2, "embedding_dim": 8, "svp_neighbours": 20}
WIKILSHTC = Shape(1_778_351, 1_617_899, 325_056, 42.15, 3.19)


def planned(shape, parameters=None, workers=3):
    """Return the tasks of a shape by name, and the outcome of a simulation in which each takes a second."""
    job, tasks = Job(shape, parameters), {}

    def need(task):
        tasks[task.name] = task
        return Need(1.0)

    return tasks, simulate(job.start(), need, Cluster(workers), job.then)


@pytest.mark.parametrize("refine", [True, False])
def test_the_tasks_of_a_shape_are_those_of_real_data(refine, tmp_path):
    """A real training writes down its tasks; those planned from five numbers have the same names, kinds and inputs."""
    data = synthetic.make(400, 200, 40, 10, 2)
    asked = X1Settings.from_parameters({**SETTINGS, "refine": refine})
    executor = InProcess(1, None, WorkFolder(tmp_path / "work"))
    fit_model(normalise(data.X), data.Y, asked, Machine(1), Progress(), False, executor)
    real = {took.name: took.task() for took in read_times(tmp_path / "work")}
    shape = Shape(400, 200, 40, data.X.nnz / 400, data.Y.nnz / 400)
    tasks, outcome = planned(shape, {**SETTINGS, "refine": refine})
    assert set(tasks) == set(real)
    assert outcome.tasks == len(real)
    for name, task in tasks.items():
        assert (task.function, task.inputs) == (real[name].function, real[name].inputs)
    assert {kind(task) for task in real.values()} - set(_AMOUNTS) <= {"join_centroids", "choose_graph"}


def test_a_shape_has_as_many_pairs_as_it_says():
    counts = WIKILSHTC.label_counts()
    assert len(counts) == WIKILSHTC.labels
    assert counts.sum() == pytest.approx(WIKILSHTC.pairs, rel=0.1)
    assert counts.max() <= WIKILSHTC.points
    assert np.all(np.diff(counts) <= 0)


def test_points_use_about_as_many_features_as_points_of_made_up_data_do():
    data = synthetic.make(4000, 3000, 300, 20, 2)
    shape = Shape(4000, 3000, 300, data.X.nnz / 4000, 2)
    for points in (100, 1000, 4000):
        used = len(np.unique(data.X[:points].indices))
        assert shape.used_features(points) == pytest.approx(used, rel=0.25)
    assert shape.used_features(1) == pytest.approx(20, rel=0.1)
    assert shape.used_features(1e9) == pytest.approx(3000)


def test_the_clusters_of_a_shape_hold_its_points():
    job = Job(WIKILSHTC)
    sizes = job.cluster_sizes()
    assert len(sizes) == 18
    assert sizes.sum() == pytest.approx(WIKILSHTC.points, rel=1e-3)
    assert sizes.max() == pytest.approx(1.5 * sizes.mean(), rel=1e-3)
    small = Job(WIKILSHTC, {"max_cluster_size": 50_000}).cluster_sizes()
    assert small.max() <= 50_000
    assert small.sum() == pytest.approx(WIKILSHTC.points, rel=1e-3)


def test_every_task_of_a_large_shape_has_amounts_and_more_of_them_with_more_points():
    large, small = WIKILSHTC, WIKILSHTC.divide(10)
    sums = []
    for shape in (small, large):
        job, (tasks, _) = Job(shape), planned(shape, workers=50)
        amounts = [job.amounts(task) for task in tasks.values()]
        assert all(np.isfinite(list(each.values())).all() and min(each.values()) >= 0 for each in amounts)
        sums.append({name: sum(each.get(name, 0) for each in amounts) for name in {key for a in amounts for key in a}})
    assert sums[1]["task"] > 5 * sums[0]["task"]
    assert sums[1]["entries·dimensions"] == pytest.approx(10 * sums[0]["entries·dimensions"], rel=0.02)


def test_points_that_are_divided_in_blocks_cost_what_they_cost_in_one_piece(monkeypatch):
    """The rates are those of a partition in one piece: blocks have the same products, and more of what is joined."""

    def costs(tasks):
        job = Job(WIKILSHTC)
        divided = [job.amounts(task) for task in tasks.values() if kind(task) == "divide_points"]
        assert len(divided) == len([task for task in tasks.values() if "partition_steps" in task.function])
        return {name: sum(each.get(name, 0.0) for each in divided) for each in divided for name in each}

    in_blocks = costs(planned(WIKILSHTC)[0])
    monkeypatch.setattr(plan, "BLOCK_POINTS", 10**9)
    in_one = costs(planned(WIKILSHTC)[0])
    learners = int(Job(WIKILSHTC).settings.learners)
    assert in_one["task"] == learners
    assert in_blocks["task"] == learners * (1 + 7 + 1 + 7 + 1)
    assert in_blocks["sampled entries·centroids"] == pytest.approx(in_one["sampled entries·centroids"])
    passes = 2 * learners * WIKILSHTC.entries  # for means
    assert in_blocks["entries·centroids"] == pytest.approx(in_one["entries·centroids"] + passes)
    assert in_blocks["centroids"] > in_one["centroids"]

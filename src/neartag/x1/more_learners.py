"""More learners for a model that is trained already: of the same data, or from a model that was trained apart."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from neartag.core.errors import ModelError, ParameterError
from neartag.core.progress import Progress
from neartag.linalg.hybrid_rows import HybridRows
from neartag.linalg.rows import Rows
from neartag.work.data import GIVEN, VECTOR_WEIGHT, put_data
from neartag.work.executors.base import Executor
from neartag.work.folder import WorkFolder
from neartag.work.graph import Graph
from neartag.work.task import Task
from neartag.x1.ensemble import learner_seeds
from neartag.x1.learner import Learner
from neartag.x1.model import X1Model
from neartag.x1.parts import RUN, partition_name, read_learners, run_part
from neartag.x1.plan import FINAL, Room, cluster_sizes, learner_name
from neartag.x1.schedule import Machine
from neartag.x1.training import NO_POINTS, default_executor, describe_plan, hold_out, make_plan


def add_learners(
    model: X1Model,
    rows: Rows,
    Y: csr_matrix,
    count: int,
    machine: Machine,
    progress: Progress,
    executor: Executor | None = None,
) -> X1Model:
    """Return the model with so many learners more, trained on the same unit rows as those that it has.

    They are the learners that a training with as many in all would have had. What was chosen on held-out points stays:
    who votes, and the reranker.
    """
    if executor is None:
        with default_executor(machine) as chosen:
            return add_learners(model, rows, Y, count, machine, progress, chosen)
    check_same_data(model, rows, Y)
    first = len(model.learners)
    settings = model.settings.replace(n_learners=first + count)
    parts = executor.parts
    if isinstance(parts, WorkFolder):
        parts.open(describe_addition(model, rows, Y, first, count))
    held_out = hold_out(rows.shape[0], settings, False)
    put_data(parts, rows, Y, held_out)
    if not parts.is_whole(RUN):
        parts.put(RUN, run_part(settings, learner_seeds(settings)))
    given = {RUN, *GIVEN}
    if isinstance(rows, HybridRows):
        parts.put(VECTOR_WEIGHT, {"weight": np.array([float(settings.vector_weight)], np.float64)})
        given.add(VECTOR_WEIGHT)
    plan = make_plan(rows, Y, settings, len(held_out), False, may_do_without=False)
    wanted = [learner_name(FINAL, number) for number in range(first, first + count)]
    names = [partition_name(number) for number in range(first, first + count)]
    graph, divided = Graph(given, {*wanted, *names}), set()
    graph.add(plan.divide(first))

    def then(task: Task) -> Iterable[Task]:
        divided.update({task.name} & set(names))
        if task.stage != "partition" or len(divided) < count:
            return ()
        partitions = [parts.get(name) for name in names]
        sizes = [cluster_sizes(each, held_out) for each in partitions]
        full_sizes = [cluster_sizes(each, NO_POINTS) for each in partitions]
        return plan.fit_more(first, sizes, full_sizes, Room(machine.jobs, machine.room(), machine.memory))

    executor.run(graph, progress, "training", then)
    return with_learners(model, read_learners(parts, wanted))


def describe_addition(model: X1Model, rows: Rows, Y: csr_matrix, first: int, count: int) -> dict[str, Any]:
    """Return what must be the same for an addition to go on with another's work: so many learners after the first."""
    settings = model.settings.replace(n_learners=first + count)
    return {**describe_plan(rows, Y, settings, False), "learners before": first}


def with_learners(model: X1Model, more: list[Learner]) -> X1Model:
    """Return the model with these learners too; ParameterError where it has one of them already."""
    for learner in more:
        if any(_are_same(learner, other) for other in model.learners):
            raise ParameterError(
                "these learners are the same as the model has: with one cluster all are; otherwise train the other "
                "model with another random_state (--random-state)"
            )
    learners = [*model.learners, *more]
    return replace(model, settings=model.settings.replace(n_learners=len(learners)), learners=learners)


def merge(one: X1Model, other: X1Model) -> X1Model:
    """Return a model with the learners of both, which were trained apart on the same data.

    Everything else is the first one's: who votes, the reranker, the calibration of its scores.
    """
    if one.n_features != other.n_features or one.Y.shape != other.Y.shape or _differ(one.Y, other.Y):
        raise ModelError("the models were not trained on the same data: only such can be merged")
    mine, theirs = one.parameters, other.parameters
    free = {"n_learners", "random_state", "n_clusters", "threshold"}
    # What held-out points chose, and what only says how neighbours are asked, may differ: the first one's holds.
    free |= {"vote_neighbours", "feature_share", "feature_search", "vector_share", "refine", "refine_candidates"}
    free |= {"refine_cost", "refine_min_weight", "svp_neighbours", "n_probe", "max_cluster_size"}
    different = [name for name in mine if name not in free and mine[name] != theirs[name]]
    if different:
        name = different[0]
        raise ModelError(
            f"the models were trained with other settings: {name} is {mine[name]!r} in the first and {theirs[name]!r} "
            "in the second"
        )
    return with_learners(one, other.learners)


def check_same_data(model: X1Model, rows: Rows, Y: csr_matrix) -> None:
    """Raise ModelError unless a model can have been trained on these rows and labels, and has not changed since."""
    if model.forgotten or model.added.any():
        raise ModelError("documents were added to this model, or forgotten, since it was trained: train it again")
    if rows.shape != (model.n_points, model.n_features) or Y.shape != model.Y.shape or _differ(Y, model.Y):
        raise ModelError("these are not the data that the model was trained on: learners can be added for those only")


def _differ(one: csr_matrix, other: csr_matrix) -> bool:
    return not (np.array_equal(one.indptr, other.indptr) and np.array_equal(one.indices, other.indices))


def _are_same(one: Learner, other: Learner) -> bool:
    if len(one.clusters) != len(other.clusters):
        return False
    pairs = zip(one.clusters, other.clusters, strict=True)
    return all(np.array_equal(mine.members, theirs.members) for mine, theirs in pairs)

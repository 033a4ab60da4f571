"""Training: a plan of tasks, an executor that runs them, and the model that is made of their parts.

    divide the points → fit the learners → choose the vote → fit the reranker → refit the learners, or join the rest

Some points are held out where anything is to be told from points that the learners have not seen: how many neighbours
vote and with what share, what a reranker makes of the votes, and what calibrated scores are made of.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from joblib.parallel import get_active_backend
from scipy.sparse import csr_matrix

from neartag.core.progress import Progress
from neartag.linalg.hybrid_rows import HybridRows
from neartag.linalg.rows import Rows
from neartag.rerank.parts import index_from_arrays, vectors_from_arrays
from neartag.rerank.plan import RerankPlan
from neartag.rerank.preparation import MAX_POINTS_TO_REFIT_RANKERS, RerankOptions
from neartag.work.data import GIVEN, HELD_OUT, digest_matrix, put_data
from neartag.work.executors.base import Executor
from neartag.work.executors.in_process import InProcess
from neartag.work.executors.joblib_processes import JoblibProcesses
from neartag.work.folder import WorkFolder
from neartag.work.graph import Graph
from neartag.work.parts import get_json
from neartag.work.task import Task
from neartag.x1.ensemble import learner_seeds
from neartag.x1.limits import (
    block_size,
    check_room_to_divide,
    check_room_to_rerank,
    count_entries,
    has_files,
    split_to_fit,
)
from neartag.x1.model import X1Model
from neartag.x1.parts import INDEX, RUN, VECTORS, partition_name, read_chosen, read_learners, read_reranker, run_part
from neartag.x1.plan import FINAL, Room, TrainingPlan, cluster_sizes, learner_name
from neartag.x1.resolve import HELD_OUT_SHARE, DataFacts, resolve
from neartag.x1.schedule import Machine
from neartag.x1.selection import HeldOut, auto_settings, first_choices, held_out_rows
from neartag.x1.settings import RerankSettings, X1Settings

NO_POINTS = np.empty(0, np.int64)
# Up to so many points the learners are trained again on all of them: where a choice was made on held-out points, and
# where there was none to make and only their answers were wanted.
MAX_POINTS_TO_REFIT_LEARNERS, MAX_POINTS_TO_REFIT_UNCHANGED = 20_000, 100_000
# Changes when the tasks or their parts do: work of another version cannot be gone on with. A test knows the tasks.
PLAN_VERSION = 4
# Where the work of a second training is, for votes alone, in the folder of the first.
VOTES_ALONE = "votes-alone"


def fit_model(
    rows: Rows,
    Y: csr_matrix,
    asked: X1Settings,
    machine: Machine,
    progress: Progress,
    return_held_out: bool,
    executor: Executor | None = None,
) -> tuple[X1Model, HeldOut | None]:
    """Return the model of unit rows and, if wanted, what it answered for the held-out points.

    `executor` runs the tasks; None: threads of this process, with everything in memory.

    Rankers are linear: of measurements, unlike of words, they may know less than votes. Where the held-out points say
    so, the model is trained for votes alone.
    """
    if executor is None:
        with default_executor(machine) as chosen:
            return fit_model(rows, Y, asked, machine, progress, return_held_out, chosen)
    facts = DataFacts.of(rows, Y.shape[1])
    settings = resolve(asked, facts)
    options = _rerank_options(settings.rerank, settings.random_state)
    check_room_to_rerank(rows, Y, settings, options, machine, in_files=has_files(executor))
    check_room_to_divide(rows, settings, machine)
    if isinstance(executor.parts, WorkFolder):
        executor.parts.open(describe_plan(rows, Y, asked, return_held_out))
    parts = executor.parts
    is_begun = parts.is_whole(RUN)  # elsewhere perhaps, where there was more memory, or less: what it says holds
    settings = read_chosen(parts, RUN) if is_begun else split_to_fit(settings, rows, executor)
    held_out = hold_out(rows.shape[0], settings, return_held_out)
    put_data(parts, rows, Y, held_out)
    if not is_begun:
        parts.put(RUN, run_part(settings, learner_seeds(settings)))
    plan = make_plan(rows, Y, settings, len(held_out), return_held_out, may_do_without=facts.dense)
    training = _Training(plan, executor, machine)
    training.run(progress)
    if training.is_for_votes_alone:
        alone = replace(executor, parts=parts.inside(VOTES_ALONE))  # type: ignore[type-var]
        return fit_model(rows, Y, _votes_alone(asked), machine, progress, return_held_out, alone)
    return training.model(rows, Y)


@contextmanager
def default_executor(machine: Machine) -> Iterator[Executor]:
    """Give threads of this process; or, where joblib is configured for them, processes that share a temporary folder.

    Files that are mapped stay readable when their folder is gone.
    """
    backend, _ = get_active_backend(prefer="threads")
    if getattr(backend, "supports_sharedmem", False):
        yield InProcess(machine.jobs, machine.room())
        return
    with tempfile.TemporaryDirectory(prefix="neartag-work-", ignore_cleanup_errors=True) as folder:
        yield JoblibProcesses(machine.jobs, WorkFolder(folder), machine.room())


def make_plan(
    rows: Rows, Y: csr_matrix, settings: X1Settings, held_out: int, return_held_out: bool, *, may_do_without: bool
) -> TrainingPlan:
    """Return the plan for these data; `held_out` is how many points are held out at first."""
    n, is_hybrid, reranker = rows.shape[0], isinstance(rows, HybridRows), None
    if settings.rerank.enabled:
        options = _rerank_options(settings.rerank, settings.random_state)
        counts = np.bincount(Y.indices, minlength=Y.shape[1])
        refit = MAX_POINTS_TO_REFIT_RANKERS
        reranker = RerankPlan(
            n, held_out, counts, options, options.candidates_for(Y), is_hybrid, max_points_to_refit=refit
        )
    return TrainingPlan(
        settings=settings,
        points=n,
        features=rows.shape[1],
        entries=count_entries(rows),
        held_out=held_out,
        reranker=reranker,
        is_hybrid=is_hybrid,
        has_index=float(first_choices(settings).vote.feature_share) > 0,
        is_refitted=is_refitted(n, held_out, settings),
        return_held_out=return_held_out,
        may_do_without=may_do_without and reranker is not None,
    )


@dataclass
class _Training:
    """A plan on its way: what is planned when, and what is made of the parts in the end."""

    plan: TrainingPlan
    executor: Executor
    machine: Machine
    n_learners: int = 0
    attempt: int = 0
    is_for_votes_alone: bool = False
    sizes: list[np.ndarray] = field(default_factory=list)  # of each learner's clusters, without the points held out
    full_sizes: list[np.ndarray] = field(default_factory=list)
    divided: set[str] = field(default_factory=set)
    graph: Graph = field(default_factory=Graph)

    def run(self, progress: Progress) -> None:
        """Run all tasks."""
        self.graph = Graph({RUN, *GIVEN})
        first = self.graph.add(self._limit(self.plan.start()))
        # Later tasks, which are not planned yet, read these.
        gone = ("hard-negatives/", "search/", "centroids/others/", "sample/", "assignment/", "means/")
        self.graph.results |= {task.name for task in first if not task.name.startswith(gone)}
        self.graph.openers |= {task.name for task in first if task.stage == "partition"} | {"graph"}
        self.executor.run(self.graph, progress, "training", self.then)

    def then(self, task: Task) -> Iterable[Task]:
        """Return what can be planned when a task has ended."""
        if task.stage == "partition":
            self.divided.add(task.name)
            if len(self.divided) == int(self.plan.settings.learners):
                return self._plan_learners()
        if task.name == "graph":
            self.attempt = int(self.executor.parts.get("graph")["attempt"][0])
            return self._plan_rest()
        if task.name == "fusion" and self.plan.may_do_without:
            self.is_for_votes_alone = not bool(self.executor.parts.get("fusion")["is_worth_it"][0])
            if not self.is_for_votes_alone:
                return self._wanted(self.plan.make_final(self.attempt, self.full_sizes, self._room()))
        return ()

    def _plan_learners(self) -> list[Task]:
        """Return the tasks of the learners; of one only where all would be the same."""
        parts, learners = self.executor.parts, int(self.plan.settings.learners)
        partitions = [parts.get(partition_name(learner)) for learner in range(learners)]
        if learners > 1 and len(partitions[0]["bounds"]) == 2:
            partitions = partitions[:1]
        held_out = parts.get(HELD_OUT)["points"]
        self.n_learners = len(partitions)
        self.sizes = [cluster_sizes(each, held_out) for each in partitions]
        self.full_sizes = [cluster_sizes(each, NO_POINTS) for each in partitions]
        tasks = self._wanted(self.plan.fit_votes(self.sizes, self._room()))
        if isinstance(self.executor, InProcess) and self.executor.room is not None:
            kept = self.plan.bytes_kept(self.sizes) if self._room().keeps_clusters else 0
            self.executor.room = (self.machine.room() or 0) - kept
        return tasks if len(self.plan.attempts()) > 1 else [*tasks, *self._plan_rest()]

    def _plan_rest(self) -> list[Task]:
        chosen, _ = self.plan.attempts()[self.attempt]
        for name, _ in self.plan.attempts():  # what was tried in vain goes
            if name != chosen:
                for learner in range(self.n_learners):
                    self.graph.results.discard(learner_name(name, learner))
                    self.executor.parts.discard(learner_name(name, learner))
        return self._wanted(self.plan.finish(self.attempt, self.sizes, self.full_sizes, self._room()))

    def _wanted(self, tasks: Iterable[Task]) -> list[Task]:
        """Return the tasks, their parts kept but for those of single clusters and of single blocks."""
        planned = self._limit(tasks)
        gone = ("cluster", "hard-negatives", "neighbours")
        self.graph.results |= {task.name for task in planned if task.stage not in gone}
        return planned

    def _limit(self, tasks: Iterable[Task]) -> list[Task]:
        """Return the tasks, within the memory allowed: with a work folder they make large arrays in files."""
        size = block_size(self.machine, self.executor)
        return [replace(task, block_bytes=size) for task in tasks]

    def _room(self) -> Room:
        in_memory = not isinstance(self.executor.parts, WorkFolder)
        return Room(self.machine.jobs, self.machine.room(), self.machine.memory, in_memory)

    def model(self, rows: Rows, Y: csr_matrix) -> tuple[X1Model, HeldOut | None]:
        """Return the model that was made, and what the held-out points were answered, where that was wanted."""
        parts, plan = self.executor.parts, self.plan
        settings = read_chosen(parts, f"vote/{plan.attempts()[self.attempt][0]}")
        has_index = plan.has_index and float(settings.vote.feature_share) > 0
        index = index_from_arrays(parts.get(INDEX)) if has_index else None
        vectors = vectors_from_arrays(parts.get(VECTORS)) if plan.is_hybrid else None
        learners = read_learners(parts, [learner_name(FINAL, number) for number in range(self.n_learners)])
        model = X1Model(
            settings, int(rows.shape[1]), Y, learners, index, vectors, approximate=plan.reranker is not None
        )
        answered = None
        if plan.reranker is not None:
            cost = get_json(parts.get("cost"), "chosen")["cost"]
            chosen = settings.replace(refine_candidates=plan.reranker.size, refine_cost=cost)
            if bool(parts.get("candidates")["is_nearby"][0]):
                chosen = chosen.replace(feature_search="near")
            model = replace(model, settings=chosen, reranker=read_reranker(parts, model))
            answered = "fusion"
        elif plan.held_out:
            answered = "answers"
        if not plan.return_held_out or answered is None:
            return model, None
        arrays = parts.get(answered)
        held_out = np.array(parts.get(HELD_OUT)["points"])
        return model, HeldOut(held_out, arrays["answers.labels"], arrays["answers.scores"])


def describe_plan(rows: Rows, Y: csr_matrix, asked: X1Settings, return_held_out: bool) -> dict[str, Any]:
    """Return what must be the same for a training to go on with another's work."""
    return {
        "version": PLAN_VERSION,
        "parameters": asked.to_parameters(),
        "held-out answers": return_held_out,
        "points": rows.shape[0],
        "features": rows.shape[1],
        "labels": Y.shape[1],
        "digest of the rows": digest_matrix(rows),
        "digest of the labels": digest_matrix(Y),
    }


def hold_out(n: int, settings: X1Settings, return_held_out: bool) -> np.ndarray:
    """Return which of n points are held out: some where a setting is chosen, a reranker fitted, or answers wanted."""
    wanted = has_choice(settings) or return_held_out or settings.rerank.enabled
    return held_out_rows(n, settings.random_state, to_rerank=settings.rerank.enabled) if wanted else NO_POINTS


def is_refitted(n: int, held_out: int, settings: X1Settings) -> bool:
    """Say whether the learners are trained again on all points; otherwise the held-out points join their clusters."""
    if settings.rerank.enabled:  # rankers are trained again anyway, and learners where they missed many points
        return held_out > HELD_OUT_SHARE * n
    return held_out > 0 and n <= (
        MAX_POINTS_TO_REFIT_LEARNERS if has_choice(settings) else MAX_POINTS_TO_REFIT_UNCHANGED
    )


def has_choice(settings: X1Settings) -> bool:
    """Say whether a setting is left to be chosen on held-out points."""
    return bool(auto_settings(settings)) or "auto" in (settings.svp.neighbours, settings.vector_weight)


def _votes_alone(asked: X1Settings) -> X1Settings:
    """Return the settings without a reranker, which predict as quickly as with one where that was left open.

    Neighbours are looked for in cells, and not by features: of measurements these are much the same as by embedding.
    """
    quick: dict[str, Any] = {"vote_search": "cells", "feature_share": 0.0}
    return asked.replace(refine=False, **{name: value for name, value in quick.items() if asked.value(name) == "auto"})


def _rerank_options(settings: RerankSettings, seed: int | None) -> RerankOptions:
    return RerankOptions(
        size=None if settings.candidates == "auto" else int(settings.candidates),
        cost=None if settings.cost == "auto" else float(settings.cost),
        min_weight=settings.min_weight,
        seed=seed or 0,
    )

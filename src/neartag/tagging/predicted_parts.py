"""Rows answered in blocks by tasks, on any engine; what is answered is the same as in one go."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from neartag.core.progress import Progress
from neartag.linalg.rows import Rows
from neartag.storage import store
from neartag.storage.bundle import StoredModel
from neartag.tagging.calibration import from_extras
from neartag.tagging.ranking import Ranked, finish_ranking, rank_rows
from neartag.work.data import ROWS, digest_matrix, matrix_part, read_rows
from neartag.work.executors.base import Executor
from neartag.work.folder import WorkFolder
from neartag.work.graph import Graph
from neartag.work.parts import Arrays, TaskContext
from neartag.work.task import Task

# Batches of a model that one task answers: a task loads the model first, unless its process has it already.
BATCHES_PER_TASK = 4


def rank_batches(
    stored: StoredModel, rows: Rows, k: int, n_jobs: int | None, *, fallback: bool = False
) -> Iterator[Ranked]:
    """Yield what is answered, batch after batch.

    The batches are the model's own, so that the answers are those of one call for all rows, to the last bit.
    """
    calibration, size = from_extras(stored.extras), stored.model.batch_rows
    frequency = stored.model.frequency if fallback else None
    for first in range(0, rows.shape[0], size):
        ranked = rank_rows(stored.model, rows[first : first + size], k, n_jobs, with_shares=False)
        yield finish_ranking(ranked, calibration, 0.0, frequency)


def rank_by_tasks(
    executor: Executor,
    folder: str,
    stored: StoredModel,
    rows: Rows,
    k: int,
    progress: Progress,
    *,
    fallback: bool = False,
) -> Iterator[Ranked]:
    """Yield the same, in larger parts, computed by tasks; `folder` is where the workers load the model from."""
    digest = str(stored.info.get("digest", ""))
    parts, size = executor.parts, BATCHES_PER_TASK * stored.model.batch_rows
    if isinstance(parts, WorkFolder):
        parts.open(
            {"model": digest, "k": k, "fallback": fallback, "rows": digest_matrix(rows), "points": rows.shape[0]}
        )
    if not parts.is_whole(ROWS):
        parts.put(ROWS, matrix_part(rows))
    tasks = []
    for number, first in enumerate(range(0, rows.shape[0], size)):
        last = min(first + size, rows.shape[0])
        arguments = {"model": folder, "digest": digest, "k": k, "fallback": fallback, "first": first, "last": last}
        function = "neartag.tagging.predicted_parts:rank_block"
        tasks.append(Task(f"answers/{number:05d}", "predict", function, (ROWS,), arguments, last - first))
    graph = Graph({ROWS}, {task.name for task in tasks})
    graph.add(tasks)
    executor.run(graph, progress, "predicting")
    for task in tasks:
        arrays = parts.get(task.name)
        yield Ranked(*(arrays[name] for name in Ranked._fields))


def rank_block(context: TaskContext, model: str, digest: str, k: int, fallback: bool, first: int, last: int) -> Arrays:
    """Return what is answered for a block of rows."""
    rows = read_rows(context)[first:last]
    batches = rank_batches(_load(model, digest), rows, k, context.threads, fallback=fallback)
    columns = zip(*batches, strict=True)
    return {name: np.concatenate(each) for name, each in zip(Ranked._fields, columns, strict=True)}


@lru_cache(maxsize=1)
def _load(folder: str, digest: str) -> StoredModel:
    """Return the model, loaded once by each process; the digest tells one model from the next in the same folder."""
    return store.load(folder, expect_digest=digest or None)

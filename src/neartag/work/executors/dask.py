"""Tasks on the workers of a Dask cluster, which read and write the parts of a work folder that all of them see.

Nothing goes through the scheduler but descriptions of tasks: no array is scattered, so none is lost with a worker. The
task of a worker that dies runs again on another. Stages have the names that Dask's dashboard shows.
"""

from __future__ import annotations

import queue
import time
import uuid
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from neartag.core import memory
from neartag.core.errors import ParameterError, WorkError
from neartag.core.extras import install_hint
from neartag.core.memory import format_bytes
from neartag.core.progress import Progress
from neartag.core.threads import available_cores
from neartag.work.executors.base import Course, Then, plan_no_more
from neartag.work.folder import WorkFolder
from neartag.work.graph import Graph
from neartag.work.parts import run_task
from neartag.work.remote_folder import open_folder
from neartag.work.task import Task

# The resource by which workers say how much memory tasks may use, in bytes; and how much of a worker's limit that is
# where we start the workers ourselves: the rest is for Python and what it loads.
MEMORY, TASK_SHARE = "memory", 0.7
# Of workers that we start: one thread each, and no profiler, which looks at each task a hundred times a second.
# The allocator's values are read by the C library when a process begins: arrays up to 32 MB come from memory that the
# process keeps, up to 128 MB of it. With Dask's own setting each array goes back to the system, which then clears the
# pages of the next one: a fifth more processor time.
ALLOCATOR = {"MALLOC_MMAP_THRESHOLD_": str(2**25), "MALLOC_TRIM_THRESHOLD_": str(2**27)}
WORKER_ENVIRONMENT = {"NUMBA_NUM_THREADS": "1", "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False", **ALLOCATOR}
# Seconds after which the cluster is looked at anew, for workers may have come or gone; and after which tasks that wait
# for a thread are sent all the same, twice as many each time.
PAUSE, PATIENCE = 2.0, 5.0


@dataclass
class Dask:
    """The workers of a client's cluster.

    Parameters
    ----------
    client : distributed.Client
        Who is connected to the cluster.
    parts : WorkFolder
        On storage that this process and every worker see under the same path, or URL.
    """

    client: Any
    parts: WorkFolder
    room: int | None = None
    _run: str = field(default_factory=lambda: uuid.uuid4().hex[:8])
    _largest: int = 0  # bytes that a worker allowed for a task so far

    def task_limit(self) -> int | None:
        """Return how many bytes the largest worker allows for a task; None where none says."""
        return max((_limit(worker) for worker in _workers(self.client)), default=0) or None

    def run(self, graph: Graph, progress: Progress, title: str, then: Then = plan_no_more) -> None:
        """Run all tasks of the graph that have no part yet, and those that are added meanwhile."""
        with progress:
            course, blamed = Course(graph, self.parts, progress, title, then), set()
            while True:
                futures: dict[str, Any] = {}
                try:
                    return self._run_all(course, futures)
                except _KilledError as error:
                    # Dask blames every task that a worker had when it died, also those that only waited there. So all
                    # is sent once more, and only who is blamed again is at fault.
                    if error.task.name in blamed:
                        raise self._too_much(error.task) from error
                    blamed.add(error.task.name)
                    self.client.cancel(list(futures.values()), force=True)
                    for name in futures:
                        course.give_back(graph.tasks[name])
                    self._run = uuid.uuid4().hex[:8]

    def _run_all(self, course: Course, futures: dict[str, Any]) -> None:
        """Keep every thread of the cluster busy with the most urgent task that can run.

        The scheduler gets as many tasks as there are threads: of more it would let some wait behind a long one while
        another worker is free. Where others have waited here for a while, it gets more and more: a cluster that starts
        workers as they are needed must see that there is more to do.
        """
        ended: queue.SimpleQueue[Any] = queue.SimpleQueue()
        workers, looked = _workers(self.client), time.monotonic()
        per_thread, changed = 1, looked
        self._submit(course, futures, ended, workers)
        while futures:
            try:
                future = ended.get(timeout=PAUSE)
            except queue.Empty:
                future = None
            if future is not None:
                task = course.graph.tasks[future.key[1]]
                self._check(future, task)
                del futures[task.name]
                course.end(task)
            now = time.monotonic()
            if now > looked + PAUSE:
                workers, looked = _look_again(self.client, workers), now
            if not course.can_begin:
                per_thread, changed = 1, now
            elif now > changed + PATIENCE:
                per_thread, changed = 2 * per_thread, now
            self._submit(course, futures, ended, workers, per_thread)

    def _submit(
        self,
        course: Course,
        futures: dict[str, Any],
        ended: queue.SimpleQueue[Any],
        workers: list[dict[str, Any]],
        per_thread: int = 1,
    ) -> None:
        """Send tasks that can run, the most urgent first, until the scheduler has so many for each thread."""
        most = max(1, per_thread * sum(worker["nthreads"] for worker in workers))
        ready = course.ready()[: most - len(futures)] if len(futures) < most else []
        if not ready:
            return
        largest = max(course.waiting.values(), key=lambda task: task.memory)
        counts_memory = bool(workers) and all(MEMORY in worker.get("resources", {}) for worker in workers)
        # The largest worker may be away for a moment, while it starts again.
        limit = self._largest = max(self._largest, *(_limit(worker) for worker in workers), 0)
        if limit and largest.memory > limit:
            raise ParameterError(
                f"{largest.name} needs about {format_bytes(largest.memory)}, and no worker allows tasks more than "
                f"{format_bytes(limit)}: set more clusters (--n-clusters) or a smaller max_cluster_size "
                "(--max-cluster-size), or start workers with more memory"
            )
        address = self.parts.address
        for task in ready:
            course.begin(task)
            future = self.client.submit(
                run_on_worker,
                address,
                task.to_json(),
                key=(f"{task.stage}-{self._run}", task.name),
                pure=False,
                resources={MEMORY: task.memory} if counts_memory and task.memory else None,
                priority=course.urgency[task.name],
            )
            futures[task.name] = future
            future.add_done_callback(ended.put)

    def _check(self, future: Any, task: Task) -> None:
        """Raise what went wrong with a task, in our own words where it was the cluster."""
        from distributed import KilledWorker

        error = future.exception() if not future.cancelled() else None
        if future.cancelled():
            raise WorkError(
                "the connection to Dask's scheduler was lost. What was done so far is kept in "
                f"{self.parts}: start the cluster again, and train with the same data, options and work folder"
            )
        if isinstance(error, KilledWorker):
            raise _KilledError(task) from error
        if error is not None:
            raise error

    def close(self) -> None:
        """Remove the copies of parts that are on the computers of the workers, and on this one.

        Whoever cannot be reached keeps them: that is no reason for the work to fail.
        """
        if self.parts.has_copies and self.client.status == "running":
            with suppress(Exception):
                self.client.run(forget_copies, self.parts.address, on_error="ignore")
        self.parts.forget_copies()

    def _too_much(self, task: Task) -> WorkError:
        needed = f", which needs about {format_bytes(task.memory)} beside the data" if task.memory else ""
        return WorkError(
            f"workers died again and again at {task.name}{needed}: have they too little memory? Start workers with "
            f"more of it, or set more clusters (--n-clusters). What was done so far is kept in {self.parts}"
        )


class _KilledError(Exception):
    """Too many workers died that had a task."""

    def __init__(self, task: Task) -> None:
        super().__init__(task.name)
        self.task = task


def run_on_worker(address: str, described: dict[str, Any]) -> None:
    """Run a task on a worker. Those before it have written their parts."""
    from distributed import get_worker
    from numba import config, set_num_threads

    folder, task = open_folder(address), Task.from_json(described)
    if folder.has(task.name):  # else it was done by a worker that died before it could tell
        return
    state = get_worker().state
    threads = max(1, state.nthreads // max(1, len(state.executing)))
    set_num_threads(min(threads, int(vars(config)["NUMBA_NUM_THREADS"])))
    run_task(task, folder, threads)


def forget_copies(address: str) -> None:
    """Remove the copies of parts that are on a worker's computer."""
    open_folder(address).forget_copies()


@contextmanager
def connect(scheduler: str | None, workers: int | None) -> Any:
    """Give a client of the cluster at an address, or of a local one of so many workers, which ends with the block."""
    try:
        from dask import config
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise ParameterError(install_hint("the Dask engine needs dask[distributed]", "dask")) from error
    if scheduler is not None:
        try:
            client = Client(scheduler, timeout=10)
        except (OSError, ValueError) as error:
            raise WorkError(f"there is no Dask scheduler at {scheduler}: {error}") from error
        with client:
            yield client
        return
    count = workers or available_cores()
    limit = (memory.total() or 0) // count
    # The rest of the environment is set when a worker's process has begun, which is too late for the C library.
    before = "distributed.nanny.pre-spawn-environ"
    with config.set({before: {**config.get(before), **ALLOCATOR}}):
        cluster = LocalCluster(
            n_workers=count,
            threads_per_worker=1,
            processes=True,
            memory_limit=limit or "auto",
            resources={MEMORY: int(TASK_SHARE * limit)} if limit else {},
            env=WORKER_ENVIRONMENT,
            dashboard_address=None,
        )
    with cluster, Client(cluster) as client:
        yield client


def _workers(client: Any) -> list[dict[str, Any]]:
    """Return what the scheduler knows of each worker."""
    try:
        info = client.scheduler_info(n_workers=-1)  # newer versions tell of five unless asked for all
    except TypeError:
        info = client.scheduler_info()
    return list(info["workers"].values())


def _look_again(client: Any, before: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what the scheduler knows of each worker now, or what it knew before where it does not answer."""
    try:
        return _workers(client) if client.status == "running" else before
    except OSError:
        return before


def _limit(worker: dict[str, Any]) -> int:
    """Return how many bytes a worker allows for tasks; 0 where it does not say."""
    declared = worker.get("resources", {}).get(MEMORY)
    return int(declared if declared is not None else TASK_SHARE * (worker.get("memory_limit") or 0))

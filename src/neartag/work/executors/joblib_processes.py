"""Tasks in processes of this computer: joblib's own pool (loky), which keeps them between plans."""

from __future__ import annotations

from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import Any

from neartag.core.progress import Progress
from neartag.core.threads import available_cores
from neartag.work.executors.base import Course, Then, plan_no_more
from neartag.work.executors.pool import run_course
from neartag.work.folder import WorkFolder
from neartag.work.graph import Graph
from neartag.work.parts import run_task
from neartag.work.remote_folder import open_folder
from neartag.work.task import Task


@dataclass
class JoblibProcesses:
    """So many worker processes, which read and write the parts of a work folder."""

    workers: int
    parts: WorkFolder
    room: int | None = None

    @property
    def at_once(self) -> int:
        """Tasks at the same time: one for each process."""
        return self.workers

    @property
    def threads(self) -> int:
        """Threads of all processes together."""
        return max(self.workers, available_cores())

    def run(self, graph: Graph, progress: Progress, title: str, then: Then = plan_no_more) -> None:
        """Run all tasks of the graph that have no part yet, and those that are added meanwhile."""
        with progress:
            run_course(Course(graph, self.parts, progress, title, then), self)

    def submit(self, task: Task, threads: int, course: Course) -> Future[None]:
        """Send a task to a process: its description, and where its parts are."""
        try:
            return self._pool().submit(run_in_worker, self.parts.address, task.to_json(), threads)
        except BrokenProcessPool as error:  # another task's process was killed just now
            broken: Future[None] = Future()
            broken.set_exception(error)
            return broken

    def _pool(self) -> Any:
        from joblib.externals.loky import get_reusable_executor

        return get_reusable_executor(max_workers=self.workers)

    def close(self) -> None:
        """Remove what was kept on this computer only for the time of the work."""
        self.parts.forget_copies()

    def renew(self) -> None:
        """Begin anew: a pool of which a process was killed takes no more tasks, and joblib makes another."""


def run_in_worker(address: str, described: dict[str, Any], threads: int) -> None:
    """Run a task in a process that shares nothing but the work folder."""
    folder, task = open_folder(address), Task.from_json(described)
    if not folder.has(task.name):  # else another process was quicker
        run_task(task, folder, threads)

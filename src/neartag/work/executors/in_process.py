"""Tasks in this process, on threads: kernels and BLAS release Python's lock."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial

from neartag.core.progress import Progress
from neartag.work.executors.base import Course, Then, plan_no_more
from neartag.work.executors.pool import run_course
from neartag.work.graph import Graph
from neartag.work.parts import MemoryParts, Parts, run_task
from neartag.work.task import Task


@dataclass
class InProcess:
    """So many tasks at once, one for each thread, as long as there is memory for them."""

    threads: int = 1
    room: int | None = None
    parts: Parts = field(default_factory=MemoryParts)

    @property
    def at_once(self) -> int:
        """Tasks at the same time."""
        return self.threads

    def run(self, graph: Graph, progress: Progress, title: str, then: Then = plan_no_more) -> None:
        """Run all tasks of the graph that have no part yet, and those that are added meanwhile."""
        with progress:
            run_course(Course(graph, self.parts, progress, title, then), self)

    def submit(self, task: Task, threads: int, course: Course) -> Future[None]:
        """Run a task: beside others on a thread of its own, or at once where there is one thread only."""
        future: Future[None] = Future()

        def run() -> None:
            try:
                run_task(task, self.parts, threads, partial(course.report, task))
            except BaseException as error:
                if threading.current_thread() is threading.main_thread() and not isinstance(error, Exception):
                    raise  # Ctrl-C
                future.set_exception(error)
            else:
                future.set_result(None)

        if self.threads == 1:
            run()
        else:  # a daemon: an interrupted program must not wait for it
            threading.Thread(target=run, name=task.name, daemon=True).start()
        return future

    def close(self) -> None:
        """Remove what was kept on this computer only for the time of the work."""
        self.parts.forget_copies()

    def renew(self) -> None:
        """Do nothing: threads are not killed."""

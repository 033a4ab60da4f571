"""The loop that keeps a pool of threads or processes busy with the tasks of a graph."""

from __future__ import annotations

from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Protocol

from neartag.core.errors import WorkError
from neartag.work.executors.base import Course
from neartag.work.task import ALL_THREADS, Task

# Pools that may break, because a process of theirs was killed, before the work is given up.
MAX_BROKEN_POOLS = 3


class Pool(Protocol):
    """Where tasks run."""

    room: int | None  # bytes for all tasks together; None: no limit

    @property
    def at_once(self) -> int:
        """Tasks at the same time."""

    @property
    def threads(self) -> int:
        """Threads of all tasks together."""

    def submit(self, task: Task, threads: int, course: Course) -> Future[None]:
        """Start a task."""

    def renew(self) -> None:
        """Begin anew after the pool broke."""


def run_course(course: Course, pool: Pool) -> None:
    """Run the tasks of a course in a pool, each as soon as its parts, a place and memory are there."""
    running: dict[Future[None], Task] = {}
    broken = 0
    try:
        while course.waiting or running:
            _fill(course, pool, running)
            if not running:
                raise ValueError(f"{next(iter(course.waiting))} waits for a part that nobody writes")
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                task = running.pop(future)
                try:
                    future.result()
                except BrokenProcessPool as error:
                    course.give_back(task)
                    for other in running.values():
                        course.give_back(other)
                    running.clear()
                    broken += 1
                    if broken > MAX_BROKEN_POOLS:
                        raise WorkError(
                            f"processes were killed again and again, the last time at {task.name}: is there too little "
                            "memory? Use fewer workers, or more and smaller clusters (--n-clusters)"
                        ) from error
                    pool.renew()
                    break
                course.end(task)
    except Exception:
        wait(running)  # nobody may still write into the caller's arrays when this raises
        raise


def _fill(course: Course, pool: Pool, running: dict[Future[None], Task]) -> None:
    """Start as many tasks as there are places and memory for."""
    # Where one task runs at a time no order is quicker than another, and by urgency more parts are in memory at once.
    ready = course.ready(large_first=pool.at_once == 1 or pool.room is not None)
    busy = len(running)
    for task in ready:
        if len(running) >= pool.at_once:
            return
        # Within a limit, what does not say how much it needs has all the memory to itself.
        is_alone = pool.room is not None and not task.memory
        if pool.room is not None and running:
            used = sum(other.memory or pool.room for other in running.values())
            if used + (task.memory or pool.room) > pool.room:
                continue
        # Where fewer tasks can run than there are threads, each has several: what they compute does not depend on it.
        share = max(1, pool.threads // max(1, min(pool.at_once, len(ready) + busy)))
        course.begin(task)
        threads = pool.threads if is_alone or task.threads == ALL_THREADS else share
        running[pool.submit(task, threads, course)] = task

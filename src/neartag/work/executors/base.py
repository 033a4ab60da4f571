"""What executors have in common: which task comes next, and how far the work is."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Protocol

from neartag.core.progress import Progress
from neartag.work.graph import Graph
from neartag.work.parts import Parts
from neartag.work.task import Task

# Called when a task has ended, or was found done: returns the tasks that can be planned from then on.
Then = Callable[[Task], Iterable[Task]]


def plan_no_more(task: Task) -> Iterable[Task]:
    """Return no tasks: the plan was whole from the beginning."""
    return ()


class Executor(Protocol):
    """Who runs the tasks of a graph."""

    @property
    def parts(self) -> Parts:
        """Where the parts are."""

    def run(self, graph: Graph, progress: Progress, title: str, then: Then = plan_no_more) -> None:
        """Run all tasks of the graph that have no part yet, and those that are added meanwhile."""

    def close(self) -> None:
        """Remove what was kept on the computers of the workers only for the time of the work."""


class Course:
    """A graph on its way: what waits, what is done, and what that means for progress."""

    def __init__(self, graph: Graph, parts: Parts, progress: Progress, title: str, then: Then) -> None:
        self.graph, self.parts, self.then = graph, parts, then
        self.waiting: dict[str, Task] = {}
        self._ready: dict[str, Task] = {}  # those of them whose parts are all there
        self._missing: dict[str, set[str]] = {}  # parts that each of the others waits for
        self._places: dict[str, int] = {}  # in the order in which they were planned
        self.finished: set[str] = set()
        self._progress, self._title = progress, title
        self._total = self._done = self._found = 0  # steps: in all, done, and of these found done at the start
        self._begun = time.monotonic()
        self._reported: dict[str, int] = {}
        self.urgency: dict[str, float] = {}
        self.add(graph.tasks.values())

    def add(self, tasks: Iterable[Task]) -> None:
        """Take tasks of the graph in; those that have a part are done."""
        queue = list(tasks)
        before = self._total
        while queue:
            task = queue.pop(0)
            self._total += task.steps
            if self.parts.is_whole(task.name):
                self._done += task.steps
                self._found += task.steps
                self._finish(task)
                queue += self.graph.add(self.then(task))
            else:
                self.waiting[task.name] = task
                self._places[task.name] = len(self._places)
                missing = {part for part in task.inputs if part not in self.finished and part not in self.graph.given}
                if missing:
                    self._missing[task.name] = missing
                else:
                    self._ready[task.name] = task
        if self._total > before:
            self.urgency = self.graph.urgency()
            self._progress.start(self._total, self._title)
            self._progress.advance(self._done)

    def ready(self, *, large_first: bool = False) -> list[Task]:
        """Return the tasks that could run now, the most urgent first, or the largest; of equals the first planned."""
        first = (lambda task: -task.size) if large_first else (lambda task: -self.urgency[task.name])
        return sorted(self._ready.values(), key=lambda task: (first(task), self._places[task.name]))

    @property
    def can_begin(self) -> bool:
        """Whether there is a task that could run now."""
        return bool(self._ready)

    def begin(self, task: Task) -> None:
        """Let a task no longer wait."""
        del self.waiting[task.name], self._ready[task.name]

    def give_back(self, task: Task) -> None:
        """Let a task wait again, which did not end."""
        self.waiting[task.name] = self._ready[task.name] = task

    def _finish(self, task: Task) -> None:
        """Let those wait no longer that waited for nothing but this task."""
        self.finished.add(task.name)
        for name in self.graph.consumers.get(task.name, ()):
            missing = self._missing.get(name)
            if missing is not None:
                missing.discard(task.name)
                if not missing:
                    del self._missing[name]
                    self._ready[name] = self.waiting[name]

    def report(self, task: Task, steps: int) -> None:
        """Count steps of a task that still runs."""
        steps = min(steps, task.steps - self._reported.get(task.name, 0))
        self._reported[task.name] = self._reported.get(task.name, 0) + steps
        self._done += steps
        self._progress.advance(steps, self._note(task))

    def end(self, task: Task) -> None:
        """Count a task as done, let parts go that nobody needs any more, and plan what can be planned now."""
        self.report(task, task.steps)
        self._finish(task)
        self.add(self.graph.add(self.then(task)))
        for part in task.inputs:
            if not self.graph.is_needed(part, self.finished):
                self.parts.discard(part)

    def _note(self, task: Task) -> str:
        done, spent = self._done - self._found, time.monotonic() - self._begun
        left = spent * (self._total - self._done) / done if done else 0
        return f"{task.stage}, about {left:.0f} s left" if left >= 1 else task.stage

"""Tasks and what they wait for."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from neartag.work.task import Task


@dataclass
class Graph:
    """Tasks by name, each of which waits for the tasks whose parts it reads. It may grow while it runs.

    Attributes
    ----------
    given : set of str
        Parts that are there before the first task.
    results : set of str
        Parts that are wanted in the end; others may go when nobody needs them any more.
    openers : set of str
        Tasks after which more tasks are planned: what waits for them is not known yet.
    """

    given: set[str] = field(default_factory=set)
    results: set[str] = field(default_factory=set)
    openers: set[str] = field(default_factory=set)
    tasks: dict[str, Task] = field(default_factory=dict)
    consumers: dict[str, set[str]] = field(default_factory=dict)  # part: the tasks that read it

    def add(self, tasks: Iterable[Task]) -> list[Task]:
        """Add tasks, and return them; ValueError for a name that is taken, or a part that nobody writes."""
        more = list(tasks)
        for task in more:
            if task.name in self.tasks or task.name in self.given:
                raise ValueError(f"two tasks would write {task.name}")
            self.tasks[task.name] = task
        for task in more:
            for part in task.inputs:
                if part not in self.tasks and part not in self.given:
                    raise ValueError(f"{task.name} reads {part}, which nobody writes")
                self.consumers.setdefault(part, set()).add(task.name)
        return more

    def ready(self, waiting: Iterable[Task], finished: Collection[str]) -> Iterator[Task]:
        """Yield those of the waiting tasks whose parts are all there."""
        for task in waiting:
            if all(part in finished or part in self.given for part in task.inputs):
                yield task

    def is_needed(self, part: str, finished: Collection[str]) -> bool:
        """Say whether somebody may still read a part; the given ones are kept by whoever gave them."""
        if part in self.results or part in self.given:
            return True
        return any(consumer not in finished for consumer in self.consumers.get(part, ()))

    def urgency(self) -> dict[str, float]:
        """Return by task how urgent it is: how many tasks wait for it one behind the other, and less than 1 by size.

        So what the longest chain waits for comes first, and of tasks alike the large ones; what nobody waits for fills
        the gaps.
        """
        largest = 1.0 + max((task.size for task in self.tasks.values()), default=0)
        behind: dict[str, int] = {}
        for task in reversed(self.order()):
            waiting = [behind[name] + 1 for name in self.consumers.get(task.name, ())]
            behind[task.name] = max([*waiting, len(self.tasks) if task.name in self.openers else 0])
        return {name: count + self.tasks[name].size / largest for name, count in behind.items()}

    def order(self) -> list[Task]:
        """Return the tasks in an order in which each comes after those that it waits for; ValueError for a circle."""
        finished: set[str] = set()
        waiting, ordered = dict(self.tasks), []
        while waiting:
            free = list(self.ready(waiting.values(), finished))
            if not free:
                raise ValueError(f"{next(iter(waiting))} waits for itself")
            for task in free:
                del waiting[task.name]
            finished.update(task.name for task in free)
            ordered += free
        return ordered

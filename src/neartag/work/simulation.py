"""A discrete-event simulation of a plan of tasks on a cluster: how long it would take, and what failures cost.

The graph is the real one, of the real plan. What is made up is the cluster, and how long each task takes there. Nothing
is computed, so a plan of 30,000 tasks on 1,000 workers takes seconds. The same seed gives the same outcome.

A task waits until its parts are there, a worker has a free thread, and that worker's memory suffices; the most urgent
goes first, as with every executor. Then

    the scheduler sends it ──> its worker reads parts ──> computes ──────────> writes its part
    one after the other        from storage that all      slower while others  to the same storage
                               workers share              of its computer do

A worker that fails loses the tasks it was at, which wait again, and comes back later. Parts that were written stay:
they are in the work folder, not on the worker.
"""

from __future__ import annotations

import heapq
import math
import random
from bisect import insort
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial

from neartag.core.errors import ParameterError, WorkError
from neartag.core.memory import format_bytes
from neartag.work.executors.base import Then, plan_no_more
from neartag.work.graph import Graph
from neartag.work.task import Task

HOUR = 3600.0
# Times that one task may be lost before the simulation is given up: it would never end.
MAX_LOSSES = 1000


@dataclass(frozen=True)
class Need:
    """What a task needs: seconds of one thread, and bytes that it reads and writes."""

    seconds: float
    reads: float = 0.0
    writes: float = 0.0


@dataclass(frozen=True)
class Cluster:
    """The workers, their scheduler and their storage.

    Attributes
    ----------
    workers, threads : int
        So many workers, each with so many tasks at once.
    memory : int, optional
        Bytes that the tasks of one worker may use together; None: no limit.
    contention : float
        Workers that share a computer's memory slow each other down: while k others of it are at tasks, a task takes
        1 + k · contention times as long as alone.
    per_computer : int
        Workers of one computer.
    send : float
        Seconds that the scheduler is busy for each task; it sends one task after the other.
    start : float
        Seconds for which each task occupies its thread beside its own time: until it has arrived, and was told of.
    storage : float
        Bytes a second that all workers together read and write.
    failures : float
        How often a worker fails, per hour.
    restart : float
        Seconds until it is back.
    """

    workers: int
    threads: int = 1
    memory: int | None = None
    contention: float = 0.0
    per_computer: int = 1
    send: float = 0.0
    start: float = 0.0
    storage: float = math.inf
    failures: float = 0.0
    restart: float = 60.0


@dataclass(frozen=True)
class Outcome:
    """What the simulation showed.

    Attributes
    ----------
    seconds : float
        From the first task to the end of the last.
    busy, lost : float
        Seconds of all threads at tasks that ended, and at tasks that were lost with their worker.
    tasks, failures : int
        Tasks that ended, and workers that failed while there was work.
    most_losses : int
        How often the unluckiest task was lost. Dask gives a task up that was lost more than three times, and the same
        command goes on from there.
    stages : dict of str to (float, float, float)
        For each stage: when its first task began, when its last one ended, and its seconds of all threads.
    """

    seconds: float
    busy: float
    lost: float
    tasks: int
    failures: int
    most_losses: int
    stages: dict[str, tuple[float, float, float]]

    def utilisation(self, cluster: Cluster) -> float:
        """Return the share of all threads' time that went into tasks that ended."""
        return self.busy / (self.seconds * cluster.workers * cluster.threads) if self.seconds else 1.0


def simulate(
    graph: Graph, need: Callable[[Task], Need], cluster: Cluster, then: Then = plan_no_more, seed: int = 0
) -> Outcome:
    """Return how a plan would run on a cluster. The graph grows as it would in a real run, by `then`.

    Raises
    ------
    ParameterError
        If a task needs more memory than a worker has.
    WorkError
        If workers fail so often that a task never ends.
    """
    return _Run(graph, need, cluster, then, seed).run()


@dataclass
class _Worker:
    number: int
    threads: int
    memory: float
    random: random.Random
    running: dict[str, float] = field(default_factory=dict)  # task: when it was taken
    life: int = 0  # counts its failures: events of an earlier life do not count any more
    is_up: bool = True


@dataclass
class _Computing:
    """A task that computes: seconds that it would still need alone, and since when it goes how fast."""

    left: float
    ended: Callable[[], None]
    since: float = 0.0
    slowness: float = 1.0
    told: int = 0  # how often its end was told; only the last counts


@dataclass
class _Run:
    graph: Graph
    need: Callable[[Task], Need]
    cluster: Cluster
    then: Then
    seed: int

    def run(self) -> Outcome:
        cluster = self.cluster
        room = math.inf if cluster.memory is None else cluster.memory
        self.workers = [
            _Worker(number, cluster.threads, room, random.Random(f"{self.seed}/{number}"))
            for number in range(cluster.workers)
        ]
        self.now = self.scheduler_free = self.storage_free = self.busy = self.lost = 0.0
        self.failures, self.order = 0, 0
        self.events: list[tuple[float, int, Callable[[], None]]] = []
        self.ready: list[tuple[float, int, Task]] = []
        self.missing: dict[str, int] = {}  # task: parts that it still waits for
        self.planned: dict[str, int] = {}
        self.finished: set[str] = set()
        self.losses: dict[str, int] = defaultdict(int)
        self.stages: dict[str, tuple[float, float, float]] = {}
        self.computing: dict[int, dict[str, _Computing]] = defaultdict(dict)  # by computer and task
        self._add(self.graph.tasks.values())
        for worker in self.workers:
            self._let_fail(worker)
        self._assign()
        while len(self.finished) < len(self.graph.tasks):
            if not self.events:
                raise ValueError(f"{next(iter(set(self.graph.tasks) - self.finished))} waits for itself")
            self.now, _, happen = heapq.heappop(self.events)
            happen()
            if not self.events or self.events[0][0] > self.now:
                self._assign()
        losses = max(self.losses.values(), default=0)
        tasks = len(self.finished)
        return Outcome(self.now, self.busy, self.lost, tasks, self.failures, losses, self.stages)

    def _at(self, moment: float, happen: Callable[[], None]) -> None:
        self.order += 1
        heapq.heappush(self.events, (moment, self.order, happen))

    def _add(self, tasks: Iterable[Task]) -> None:
        more = list(tasks)
        if more:
            self.urgency = self.graph.urgency()
            self.ready = sorted((-self.urgency[task.name], place, task) for _, place, task in self.ready)
        for task in more:
            if self.cluster.memory is not None and task.memory > self.cluster.memory:
                raise ParameterError(
                    f"{task.name} needs about {format_bytes(task.memory)}, and a worker has "
                    f"{format_bytes(self.cluster.memory)}"
                )
            self.planned[task.name] = len(self.planned)
            waits = sum(part not in self.finished and part not in self.graph.given for part in set(task.inputs))
            self.missing[task.name] = waits
            if not waits:
                self._enqueue(task)

    def _enqueue(self, task: Task) -> None:
        insort(self.ready, (-self.urgency[task.name], self.planned[task.name], task))

    def _assign(self) -> None:
        """Start as many tasks as there are threads and memory for, those first that come first."""
        free = sum(worker.threads for worker in self.workers if worker.is_up)
        waiting, place = [], 0
        while place < len(self.ready) and free:
            entry = self.ready[place]
            place += 1
            able = [each for each in self.workers if each.is_up and each.threads and each.memory >= entry[2].memory]
            if able:
                self._start(entry[2], max(able, key=lambda each: (each.threads, each.memory, -each.number)))
                free -= 1
            else:
                waiting.append(entry)
        self.ready[:place] = waiting

    def _start(self, task: Task, worker: _Worker) -> None:
        worker.threads -= 1
        worker.memory -= task.memory
        worker.running[task.name] = self.now
        self.scheduler_free = max(self.now, self.scheduler_free) + self.cluster.send
        arrived = self.scheduler_free + self.cluster.start
        need, life = self.need(task), worker.life

        def compute() -> None:
            if worker.life == life:
                self._compute(worker, task, _Computing(need.seconds, write))

        def write() -> None:
            if worker.life == life:
                self._at(self._transfer(self.now, need.writes), end)

        def end() -> None:
            if worker.life == life:
                self._end(task, worker)

        ready = self._transfer(arrived, need.reads)
        if self.cluster.contention:
            self._at(ready, compute)
        else:
            self._at(ready + need.seconds, write)

    def _compute(self, worker: _Worker, task: Task, begun: _Computing) -> None:
        computer = worker.number // self.cluster.per_computer
        self.computing[computer][task.name] = begun
        begun.since = self.now
        self._share(computer)

    def _share(self, computer: int) -> None:
        """Tell anew when each task of a computer has computed, after one began or ended there."""
        tasks = self.computing[computer]
        slowness = 1 + self.cluster.contention * (len(tasks) - 1)
        for name, each in tasks.items():
            each.left -= (self.now - each.since) / each.slowness
            each.since, each.slowness, each.told = self.now, slowness, each.told + 1
            self._at(self.now + each.left * slowness, partial(self._compute_ended, computer, name, each, each.told))

    def _compute_ended(self, computer: int, name: str, each: _Computing, told: int) -> None:
        if self.computing[computer].get(name) is each and each.told == told:
            del self.computing[computer][name]
            self._share(computer)
            each.ended()

    def _transfer(self, begin: float, size: float) -> float:
        """Return when so many bytes are read or written; the storage serves one after the other."""
        if not size or math.isinf(self.cluster.storage):
            return begin
        self.storage_free = max(begin, self.storage_free) + size / self.cluster.storage
        return self.storage_free

    def _end(self, task: Task, worker: _Worker) -> None:
        begun = worker.running.pop(task.name)
        worker.threads += 1
        worker.memory += task.memory
        spent = self.now - begun
        self.busy += spent
        first, _, seconds = self.stages.get(task.stage, (begun, 0.0, 0.0))
        self.stages[task.stage] = (min(first, begun), self.now, seconds + spent)
        self.finished.add(task.name)
        for name in self.graph.consumers.get(task.name, ()):
            self.missing[name] -= 1
            if not self.missing[name]:
                self._enqueue(self.graph.tasks[name])
        self._add(self.graph.add(self.then(task)))

    def _let_fail(self, worker: _Worker) -> None:
        rate = self.cluster.failures / HOUR
        if rate > 0:  # which may be too small for a number, though failures are not
            gap = worker.random.expovariate(rate)
            self._at(self.now + gap, lambda: self._fail(worker))

    def _fail(self, worker: _Worker) -> None:
        self.failures += 1
        worker.life += 1
        worker.is_up = False
        computer = worker.number // self.cluster.per_computer
        for name, begun in worker.running.items():
            task = self.graph.tasks[name]
            self.computing[computer].pop(name, None)
            self.lost += self.now - begun
            self.losses[name] += 1
            if self.losses[name] > MAX_LOSSES:
                raise WorkError(f"workers fail too often: {name} was lost {MAX_LOSSES} times")
            worker.threads += 1
            worker.memory += task.memory
            self._enqueue(task)
        worker.running.clear()
        self._share(computer)

        def come_back() -> None:
            worker.is_up = True
            self._let_fail(worker)

        self._at(self.now + self.cluster.restart, come_back)

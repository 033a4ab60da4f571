"""Which tasks make an X1 model, and what each of them needs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from neartag.linalg import csr
from neartag.rerank.plan import RerankPlan
from neartag.work.data import HELD_OUT, LABELS, ROWS, VECTOR_WEIGHT
from neartag.work.parts import Arrays
from neartag.work.task import ALL_THREADS, Task
from neartag.x1.cluster_training import cluster_steps
from neartag.x1.kmeans_blocks import BLOCK_POINTS, sample_points
from neartag.x1.parts import INDEX, RUN, VECTORS, partition_name
from neartag.x1.schedule import cluster_bytes, kept_bytes, plan, row_bytes
from neartag.x1.selection import GRAPH_CHOICES
from neartag.x1.settings import SVPSettings, X1Settings

STEPS, PARTITION_STEPS = "neartag.x1.steps:", "neartag.x1.partition_steps:"
FINAL = "final"  # the learners that are trained again, on all points


@dataclass(frozen=True)
class Room:
    """What clusters at work may use: so many tasks at once, and bytes for all of them, of so many allowed in all."""

    jobs: int = 1
    bytes: int | None = None
    limit: int | None = None
    keeps_clusters: bool = True  # whether trained clusters stay in memory; otherwise they are in files


@dataclass(frozen=True)
class TrainingPlan:
    """What the tasks of a training depend on: the size of the data, and what was asked for."""

    settings: X1Settings  # nothing is "auto" but what held-out points choose
    points: int
    features: int
    entries: int  # numbers stored in the rows
    held_out: int
    reranker: RerankPlan | None = None
    is_hybrid: bool = False
    has_index: bool = False  # whether voters by features may be asked
    is_refitted: bool = False  # whether the learners are trained again on all points
    return_held_out: bool = False
    may_do_without: bool = False  # whether the votes alone may turn out to be better

    @property
    def data(self) -> tuple[str, ...]:
        """The parts that nearly every task reads."""
        return (RUN, ROWS, LABELS, HELD_OUT, *((VECTOR_WEIGHT,) if self.is_hybrid else ()))

    @property
    def model(self) -> tuple[str, ...]:
        """The parts of a model that votes, but for its learners."""
        return (*self.data, *((INDEX,) if self.has_index else ()), *((VECTORS,) if self.is_hybrid else ()))

    def attempts(self) -> list[tuple[str, dict[str, Any]]]:
        """Return what is tried, each with a name and the changed settings: numbers of label neighbours."""
        if self.settings.svp.neighbours != "auto":
            return [("0", {})]
        counts = GRAPH_CHOICES if self.held_out else GRAPH_CHOICES[:1]
        return [(str(number), {"svp_neighbours": count}) for number, count in enumerate(counts)]

    def start(self) -> Iterator[Task]:
        """Yield the tasks that can be planned from the size of the data alone."""
        given = (RUN, ROWS, LABELS, HELD_OUT)
        if self.is_hybrid:
            yield Task(VECTORS, VECTORS, STEPS + "index_vectors", given, size=self.points)
            yield Task(VECTOR_WEIGHT, VECTOR_WEIGHT, STEPS + "weigh_vectors", (*given, VECTORS), size=self.held_out)
        if self.has_index:
            yield Task(INDEX, INDEX, STEPS + "index_rows", given, size=self.points)
        yield from self.divide()
        if self.reranker is not None:
            yield from self.reranker.prepare()

    def all_tasks(self, sizes: list[np.ndarray], full_sizes: list[np.ndarray], room: Room) -> list[Task]:
        """Return every task, for those who want to know beforehand; where votes may suffice, as if they did not.

        `sizes` are those of each learner's clusters without the points held out, `full_sizes` with them.
        """
        tasks = [*self.start(), *self.fit_votes(sizes, room), *self.finish(0, sizes, full_sizes, room)]
        return [*tasks, *self.make_final(0, full_sizes, room)] if self.may_do_without else tasks

    def fit_votes(self, sizes: list[np.ndarray], room: Room) -> Iterator[Task]:
        """Yield the tasks of the learners and of their vote, given the sizes of each learner's clusters.

        Raises ParameterError where the largest cluster does not fit into the room.
        """
        attempts, votes = self.attempts(), []
        for name, changes in attempts:
            settings = self.settings.replace(**changes)
            learners = []
            for task in self._fit_learners(name, settings, sizes, room, changes, hold_out=True):
                learners += [task.name] if task.stage == "learner" else []
                yield task
            votes.append(f"vote/{name}")
            arguments = {"learners": learners, "changes": changes, "score": len(attempts) > 1}
            yield Task(votes[-1], "vote", STEPS + "choose_vote", (*self.model, *learners), arguments, self.held_out)
        if len(attempts) > 1:
            yield Task("graph", "vote", STEPS + "choose_graph", tuple(votes), {"attempts": votes})

    def finish(self, attempt: int, sizes: list[np.ndarray], full_sizes: list[np.ndarray], room: Room) -> Iterator[Task]:
        """Yield what follows when it is known which attempt is taken: the reranker, and the learners of the model."""
        name, _ = self.attempts()[attempt]
        vote, learners = f"vote/{name}", [learner_name(name, number) for number in range(len(sizes))]
        asked = {"vote": vote, "learners": learners}
        inputs = (*self.model, vote, *learners)
        if self.reranker is not None:
            options = {"options": asdict(self.reranker.options), "size": self.reranker.size}
            arguments = {**asked, **options, "keep_votes": self.may_do_without}
            function = STEPS + "find_candidates"
            yield Task("candidates", "candidates", function, (*inputs, "centroids/others"), arguments, self.held_out)
            yield from self.reranker.try_rankers()
            arguments = {"may_do_without": self.may_do_without, "return_held_out": self.return_held_out}
            decision = self.reranker.decision_inputs()
            yield Task("fusion", "fusion", STEPS + "fit_fusion", decision, arguments, self.held_out)
        elif self.return_held_out and self.held_out:
            yield Task("answers", "candidates", STEPS + "answer_by_votes", inputs, asked, self.held_out)
        if not (self.reranker is not None and self.may_do_without):
            yield from self.make_final(attempt, full_sizes, room)

    def make_final(self, attempt: int, full_sizes: list[np.ndarray], room: Room) -> Iterator[Task]:
        """Yield the tasks of the model's own learners and reranker, all choices made."""
        name, changes = self.attempts()[attempt]
        if self.reranker is not None:
            yield from self.reranker.finish()
        if self.is_refitted:
            settings = self.settings.replace(**changes)
            yield from self._fit_learners(FINAL, settings, full_sizes, room, changes, hold_out=False)
            return
        yield from self._join(name, range(len(full_sizes)))

    def divide(self, first: int = 0) -> Iterator[Task]:
        """Yield the tasks that divide the points, for each learner from the `first` on."""
        for learner in range(first, int(self.settings.learners)):
            yield from self._divide(learner)

    def _divide(self, learner: int) -> Iterator[Task]:
        """Yield the tasks that divide the points for a learner: one, or of many points some for each block of them."""
        name, clusters, given, asked = partition_name(learner), self.settings.clusters, self.data, {"learner": learner}
        sample = sample_points(int(clusters.count))
        if clusters.count == 1 or clusters.k_means == "plain" or self.points <= max(BLOCK_POINTS, 2 * sample):
            yield Task(name, "partition", PARTITION_STEPS + "divide_points", given, asked, self.points)
            return
        found, prefix = f"sample/{learner:03d}", f"assignment/{learner:03d}/"
        count = -(-self.points // BLOCK_POINTS)
        bounds = [self.points * block // count for block in range(count + 1)]
        yield Task(found, "sample", PARTITION_STEPS + "divide_sample", given, {**asked, "sample": sample}, sample)
        for number in ("first", "second"):
            blocks = [f"{prefix}{number}/{block:05d}" for block in range(count)]
            for block, (start, stop) in zip(blocks, pairwise(bounds), strict=True):
                arguments = {"first": start, "last": stop, "clusters": found}
                function, inputs = PARTITION_STEPS + "assign_points", (*given, found)
                yield Task(block, "assignment", function, inputs, arguments, stop - start)
            arguments = {**asked, "blocks": f"{prefix}{number}/"}
            if number == "first":
                found = f"means/{learner:03d}"
                function = PARTITION_STEPS + "average_blocks"
                yield Task(found, "assignment", function, (*given, *blocks), arguments, self.points)
        function = PARTITION_STEPS + "join_assignments"
        yield Task(name, "partition", function, (*given, *blocks), arguments, self.points)

    def fit_more(self, first: int, sizes: list[np.ndarray], full_sizes: list[np.ndarray], room: Room) -> Iterator[Task]:
        """Yield the tasks of the learners from the `first` on, which join a model that has those before."""
        if self.is_refitted:
            yield from self._fit_learners(FINAL, self.settings, full_sizes, room, {}, hold_out=False, first=first)
            return
        yield from self._fit_learners("0", self.settings, sizes, room, {}, hold_out=True, first=first)
        yield from self._join("0", range(first, first + len(sizes)))

    def _join(self, of: str, learners: Iterable[int]) -> Iterator[Task]:
        """Yield the tasks that give learners the points held out."""
        for number in learners:
            before = learner_name(of, number)
            function, inputs = STEPS + "join_held_out", (*self.data, before)
            yield Task(learner_name(FINAL, number), "join", function, inputs, {"learner": before}, self.held_out)

    def _fit_learners(
        self,
        of: str,
        settings: X1Settings,
        sizes: list[np.ndarray],
        room: Room,
        changes: dict[str, Any],
        *,
        hold_out: bool,
        first: int = 0,
    ) -> Iterator[Task]:
        """Yield a task for each cluster of each learner from the `first` on, and one to put each learner together."""
        shapes = self._shapes(sizes, settings)
        flat, needs = [shape[0] for shape in shapes], [cluster_bytes(*shape) for shape in shapes]
        if not room.keeps_clusters:  # nor rows
            needs = [need + row_bytes(shape[1]) for need, shape in zip(needs, shapes, strict=True)]
        kept = sum(kept_bytes(*shape) for shape in shapes) if room.keeps_clusters else 0
        left = None if room.bytes is None else room.bytes - kept
        waves = plan(flat, needs, room.jobs, left, room.limit)
        alone = {place for wave in waves if wave.threads > 1 and wave.at_once == 1 for place in wave.tasks}
        places = iter(range(len(flat)))
        for learner, each in enumerate(sizes, first):
            clusters = []
            for cluster, size in enumerate(each):
                place = next(places)
                clusters.append(f"cluster/{of}/{learner:03d}/{cluster:05d}")
                arguments = {"learner": learner, "cluster": cluster, "hold_out": hold_out, "changes": changes}
                yield Task(
                    clusters[-1],
                    "cluster",
                    STEPS + "fit_cluster",
                    (*self.data, partition_name(learner)),
                    arguments,
                    int(size),
                    needs[place],
                    ALL_THREADS if place in alone else 1,
                    cluster_steps(settings),
                )
            yield Task(
                learner_name(of, learner),
                "learner",
                STEPS + "join_clusters",
                (*self.data, partition_name(learner), *clusters),
                {"learner": learner, "of": of, "final": of == FINAL},
                self.points,
            )

    def bytes_kept(self, sizes: list[np.ndarray]) -> int:
        """Return how many bytes the trained clusters of these sizes take."""
        return sum(kept_bytes(*shape) for shape in self._shapes(sizes, self.settings))

    def _shapes(self, sizes: list[np.ndarray], settings: X1Settings) -> list[tuple[int, int, int, SVPSettings]]:
        """Return points, entries, features and settings of each cluster of each learner."""
        entries = self.entries / self.points
        flat = [int(size) for each in sizes for size in each]
        return [(size, int(entries * size), self.features, settings.svp) for size in flat]


def learner_name(of: str, learner: int) -> str:
    """Return the name of a learner's part."""
    return f"learner/{of}/{learner:03d}"


def cluster_sizes(partition: Arrays, held_out: np.ndarray) -> np.ndarray:
    """Return how many members each cluster of a partition has; held-out points only where there is nobody else."""
    order, bounds = partition["order"], partition["bounds"]
    kept = np.ones(len(order), bool)
    kept[held_out] = False
    others = np.diff(csr.pointer(kept[order])[bounds])
    return np.where(others > 0, others, np.diff(bounds))

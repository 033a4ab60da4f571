"""Which tasks make a reranker."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import pairwise

import numpy as np

from neartag.rerank.label_centroids import LABELS_AT_ONCE
from neartag.rerank.preparation import (
    MAX_POINTS_TO_REFIT_RANKERS,
    RerankOptions,
    count_labels_per_tried,
)
from neartag.work.data import HELD_OUT, LABELS, OTHERS, ROWS, VECTOR_WEIGHT
from neartag.work.task import Task

# Points of one block whose neighbours and hard negatives are found.
BLOCK_ROWS = 8192
# Pairs of a point and a label of one block of rankers, about.
PAIRS_PER_BLOCK = 20_000
MAX_BLOCKS = 2000
STEPS = "neartag.rerank.steps:"


@dataclass(frozen=True)
class RerankPlan:
    """What the tasks of a reranker depend on: the size of the data, and what was asked for.

    `max_points_to_refit`: up to so many points the rankers are trained again on all of them.
    """

    points: int
    held_out: int
    label_counts: np.ndarray  # (L,) points that have each label
    options: RerankOptions
    size: int  # candidates from each source
    is_hybrid: bool = False
    block_rows: int = BLOCK_ROWS
    max_points_to_refit: int = MAX_POINTS_TO_REFIT_RANKERS

    @property
    def is_refitted(self) -> bool:
        """Whether the rankers are trained again on all points."""
        return self.points <= self.max_points_to_refit

    @property
    def of(self) -> str:
        """Whose rankers the model gets: those of all points, or of the others."""
        return "all" if self.is_refitted else "others"

    @property
    def labels_per_tried(self) -> int:
        """On one of how many labels the costs are tried, about: the task that chooses them knows the others' points."""
        return count_labels_per_tried(self.label_counts)

    def _data(self, of: str) -> tuple[str, ...]:
        """Return the parts that tasks read the rows and labels from."""
        names = (ROWS, LABELS) if of == "all" else (f"{OTHERS}/{ROWS}", f"{OTHERS}/{LABELS}")
        return (*names, VECTOR_WEIGHT) if self.is_hybrid else names

    def _count(self, of: str) -> int:
        return self.points if of == "all" else self.points - self.held_out

    def prepare(self) -> Iterator[Task]:
        """Yield the tasks that need no votes: hard negatives, and the rankers of some labels at each cost."""
        given = (ROWS, LABELS, HELD_OUT)
        yield Task(f"{OTHERS}/{ROWS}", "others", STEPS + "take_other_rows", given, size=self.points)
        yield Task(f"{OTHERS}/{LABELS}", "others", STEPS + "take_other_labels", given, size=self.points)
        seed = self.options.seed
        searched = "all" if self.is_refitted else "others"
        yield Task(
            f"search/{searched}",
            "neighbours",
            STEPS + "make_search",
            self._data(searched),
            {"of": searched, "seed": seed},
            self._count(searched),
        )
        if self.is_refitted:
            for number, (first, last) in enumerate(self._row_blocks("all")):
                yield Task(
                    f"neighbours/{number:05d}",
                    "neighbours",
                    STEPS + "find_neighbours",
                    (*self._data("all"), "search/all"),
                    {"first": first, "last": last},
                    last - first,
                )
        yield from self._prepare("others")
        if self.options.cost is None:
            step = self.labels_per_tried
            for place in range(2):
                for number, (first, last) in enumerate(self._tried_blocks()):
                    yield Task(
                        f"trial-rankers/{place}/{number:05d}",
                        "trial-rankers",
                        STEPS + "fit_trial_rankers",
                        (*self._data("others"), "problems/others"),
                        {"place": place, "first": first, "last": last, "options": asdict(self.options)},
                        self._pairs(first, last) // step,
                    )

    def _prepare(self, of: str) -> Iterator[Task]:
        """Yield the tasks from label centroids to what rankers are trained on."""
        blocks = []
        labels = len(self.label_counts)
        for number, first in enumerate(range(0, labels, LABELS_AT_ONCE)):
            last = min(first + LABELS_AT_ONCE, labels)
            blocks.append(f"centroids/{of}/{number:05d}")
            arguments = {"of": of, "first": first, "last": last}
            function = STEPS + "make_centroid_block"
            yield Task(blocks[-1], "centroids", function, self._data(of), arguments, self._pairs(first, last))
        yield Task(
            f"centroids/{of}",
            "centroids",
            STEPS + "join_centroids",
            (*self._data(of), *blocks),
            {"of": of},
            labels,
        )
        near: tuple[str, ...] = (f"search/{of}",)
        if self.is_refitted:
            near = tuple(f"neighbours/{number:05d}" for number in range(len(self._row_blocks("all"))))
        blocks = []
        for number, (first, last) in enumerate(self._row_blocks(of)):
            blocks.append(f"hard-negatives/{of}/{number:05d}")
            yield Task(
                blocks[-1],
                "hard-negatives",
                STEPS + "find_hard_negatives",
                (*self._data(of), f"centroids/{of}", HELD_OUT, *near),
                {"of": of, "first": first, "last": last, "size": self.size},
                last - first,
            )
        function, inputs = STEPS + "make_problems", (*self._data(of), *blocks)
        yield Task(f"problems/{of}", "problems", function, inputs, {"of": of}, self._count(of))

    def try_rankers(self) -> Iterator[Task]:
        """Yield the tasks that choose the cost, once the candidates of held-out points are known, and what follows."""
        trial = (*self._data("all"), HELD_OUT, "candidates", "problems/others")
        tried = self._tried()
        arguments = {"options": asdict(self.options)}
        yield Task("cost", "cost", STEPS + "choose_cost_of_errors", (*trial, *tried), arguments, self.held_out)
        yield from self._fit_rankers("others")

    def decision_inputs(self) -> tuple[str, ...]:
        """Return the parts from which the fusion is fitted."""
        ranked = tuple(f"rankers/others/{number:05d}" for number in range(len(self.label_blocks())))
        return (*self._data("all"), HELD_OUT, "candidates", "cost", "problems/others", *ranked, *self._tried())

    def finish(self) -> Iterator[Task]:
        """Yield the tasks that make the reranker, all choices made."""
        if self.is_refitted:
            yield from self._prepare("all")
            yield from self._fit_rankers("all")
        ranked = tuple(f"rankers/{self.of}/{number:05d}" for number in range(len(self.label_blocks())))
        inputs = (*self.decision_inputs(), f"centroids/{self.of}")
        inputs = (*inputs, *ranked) if self.is_refitted else inputs
        arguments = {"of": self.of, "size": self.size}
        yield Task("reranker", "reranker", STEPS + "join_reranker", inputs, arguments, len(self.label_counts))

    def _fit_rankers(self, of: str) -> Iterator[Task]:
        for number, (first, last) in enumerate(self.label_blocks()):
            yield Task(
                f"rankers/{of}/{number:05d}",
                "rankers",
                STEPS + "fit_rankers",
                (*self._data(of), f"problems/{of}", "cost"),
                {"of": of, "first": first, "last": last, "min_weight": self.options.min_weight},
                self._pairs(first, last),
            )

    def _tried(self) -> tuple[str, ...]:
        if self.options.cost is not None:
            return ()
        blocks = range(len(self._tried_blocks()))
        return tuple(f"trial-rankers/{place}/{number:05d}" for place in range(2) for number in blocks)

    def _tried_blocks(self) -> list[tuple[int, int]]:
        """Return ranges of labels of which the tried ones make up one block of rankers, about."""
        return self.label_blocks(PAIRS_PER_BLOCK * self.labels_per_tried)

    def _pairs(self, first: int, last: int) -> int:
        return int(self.label_counts[first:last].sum())

    def _row_blocks(self, of: str) -> list[tuple[int, int]]:
        count = self._count(of)
        return [(first, min(first + self.block_rows, count)) for first in range(0, count, self.block_rows)]

    def label_blocks(self, pairs: int = PAIRS_PER_BLOCK) -> list[tuple[int, int]]:
        """Return ranges of labels that have about so many pairs of point and label each, in their order."""
        running = np.cumsum(self.label_counts)
        count = int(min(MAX_BLOCKS, len(running), max(1, running[-1] // pairs)))
        ends = np.searchsorted(running, running[-1] * np.arange(1, count) / count, side="left") + 1
        bounds = np.unique([0, *ends, len(running)])
        return [(int(first), int(last)) for first, last in pairwise(bounds)]

"""Readings: what the paper leaves open about X1, tried one point at a time; the choice is by validation only.

For each reading k, n̄ and λ are chosen on a held-out fifth of a split's training part. The learner is then trained on
the whole part, and the test part is looked at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from neartag.core.threads import resolve_jobs
from neartag.experiments import datasets, methods, trials
from neartag.experiments.datasets import Parts
from neartag.experiments.learners import small_sets
from neartag.experiments.plan import Cell, Plan
from neartag.experiments.printed import TABLE_3, TABLE_3_DEVIATIONS
from neartag.experiments.report.blocks import Block, Entry, Number, Table, Text
from neartag.experiments.results import Results
from neartag.experiments.runner import Experiment, Work
from neartag.experiments.splits import Split, embed_split, load
from neartag.x1.resolve import DataFacts, resolve
from neartag.x1.settings import X1Settings

SPLITS = 3
NEIGHBOURS = (50, 100, 200, 400)  # n̄
VOTERS = (5, 10, 20, 40, 80)  # k
PENALTIES = (1e-4, 1e-3, 1e-2, 0.1, 1.0, 3.0, 10.0, 30.0)  # λ
# On samples.
QUICK_NEIGHBOURS, QUICK_VOTERS, QUICK_PENALTIES = (50,), (10, 20), (1.0,)


class Reading(NamedTuple):
    """One way to read an open point of the paper."""

    title: str
    words: str  # what the paper says, and how it is read here
    changes: dict[str, Any] = {}  # noqa: RUF012 - of X1 (paper)'s settings; never changed
    rows: str = "unit"  # or "ball": features as they are, divided by the longest row's length
    ties: str = "frequent"
    itself: bool = True  # whether a point is its own label neighbour
    penalties: Sequence[float] = PENALTIES
    same_count: bool = False  # k = n̄


PRINTED = "printed"
# Those that share an embedding follow each other: it is learned once for all of them.
READINGS = {
    PRINTED: Reading(
        "X1 (paper)",
        "The reading of the column “X1 (paper)”: unit feature rows, inner products of label vectors, Euclidean "
        "distance, SVP until its objective changes by less than 1% in a step, ties to the more frequent label, λ "
        "chosen with k and n̄.",
    ),
    "fixed-penalty": Reading(
        "λ = 1 everywhere",
        "Section 2.1 takes one λ for everything and does not print its value. Here 1 on every set.",
        penalties=(1.0,),
    ),
    "cosine-distance": Reading(
        "kNN by cosine",
        "Algorithm 2 looks for the nearest points of Z and names no distance. Here the cosine.",
        {"vote_distance": "cosine"},
    ),
    "ties-nearest": Reading(
        "ties to the nearest neighbour's label",
        "Top_p of the label distribution does not say who wins a tie. Here the label of the nearer neighbour.",
        ties="nearest",
    ),
    "ties-id": Reading(
        "ties to the lower label number",
        "The same, as a sort that keeps the order of equals would have it.",
        ties="id",
    ),
    "one-cluster": Reading(
        "one cluster",
        "Section 2.2 introduces clusters for large data, yet section 3 fixes ⌊n/6000⌋, which is 2 on Delicious and 5 "
        "on MediaMill. Here one cluster on every small set.",
        {"n_clusters": 1},
    ),
    "one-cluster-ties-nearest": Reading(
        "one cluster, ties to the nearest neighbour's label",
        "The readings together that validation prefers on MediaMill and on EUR-Lex, each by itself.",
        {"n_clusters": 1},
        ties="nearest",
    ),
    "ten-steps": Reading(
        "SVP stopped early",
        "Sub-routine SVP ends at convergence and names no test for it, and the authors' program often stops before. "
        "Here ten steps.",
        {"svp_max_iter": 10},
    ),
    "raw-rows": Reading(
        "features as they are",
        "Normalisation is not mentioned; the appendix assumes ‖x‖ ≤ 1. Here all rows are divided by the longest "
        "one's length, and keep their lengths otherwise.",
        rows="ball",
    ),
    "cosine-labels": Reading(
        "label vectors of unit length",
        "The text has inner products of label vectors; the authors' program makes them unit vectors first, so that "
        "Ω and the target are cosines.",
        {"label_similarity": "cosine"},
    ),
    "cosine-labels-one-cluster": Reading(
        "label vectors of unit length, one cluster",
        "The two readings together that came nearest to the printed numbers on MediaMill, each by itself.",
        {"label_similarity": "cosine", "n_clusters": 1},
    ),
    "not-itself": Reading(
        "a point is not its own neighbour",
        "The text does not say whether i ∈ N_i; the appendix sums over j ≠ i. Here without (i, i).",
        itself=False,
    ),
    "same-count": Reading(
        "k = n̄",
        "Both algorithms call the number of neighbours n̄; section 3 has two hyper-parameters. Here one number for "
        "both.",
        same_count=True,
    ),
}


class Choice(NamedTuple):
    """What validation chose."""

    neighbours: int  # n̄
    penalty: float  # λ
    voters: int  # k


class Readings(Experiment):
    """A cell is a reading on a split of a data set: its choice, its validation and its test."""

    name = "readings"
    title = "Readings of what the paper leaves open"

    def cells(self, plan: Plan) -> list[Cell]:
        """Return one cell per data set, split and reading."""
        if not plan.wants(methods.STRICT):
            return []
        return [
            plan.cell(self.name, data, methods.STRICT, seed, reading=reading)
            for data in small_sets(plan)
            for seed in plan.runs(SPLITS, quick=1)
            for reading in READINGS
        ]

    def settings(self, cell: Cell) -> dict[str, Any]:
        """Return X1's settings as the reading has them, and what is tried."""
        reading = READINGS[cell.option("reading")]
        paper = methods.paper_settings(cell.data, quick=cell.quick)
        for name in ("svp_neighbours", "l2", "vote_neighbours"):  # which validation chooses
            paper.pop(name, None)
        neighbours, voters, penalties = grids(reading, cell.quick)
        tried = {"svp_neighbours": neighbours, "l2": penalties, "vote_neighbours": voters}
        other = {"rows": reading.rows, "ties": reading.ties, "itself": reading.itself, "k is n̄": reading.same_count}
        return {"x1": {**paper, **reading.changes}, "tried": tried, **other}

    def probe(self, cell: Cell) -> str:
        """Return the paper's X1, of which a reading changes little."""
        return "x1-paper"

    def run(self, cell: Cell, work: Work) -> dict[str, Any]:
        """Return what was chosen, its precision on the held-out part, and that on the test part."""
        reading, threads = READINGS[cell.option("reading")], resolve_jobs(work.jobs)
        settings = {**self.settings(cell)["x1"], "random_state": cell.seed}

        def measure(
            held_out: bool, neighbours: Sequence[int], penalties: Sequence[float], voters: Sequence[int]
        ) -> Iterator[tuple[Choice, dict[str, float], trials.Embedded]]:
            split = Split(cell.data, cell.seed, cell.quick, reading.rows, held_out)
            learn = partial(embed_split, split, itself=reading.itself, threads=threads)
            return measure_choices(
                load(split), reading, settings, neighbours, penalties, voters, threads, work, learn=learn
            )

        tried: dict[Choice, dict[str, float]] = {}
        neighbours, voters, penalties = grids(reading, cell.quick)
        with work.start(len(neighbours) * len(penalties), "validating"):
            for choice, scores, _ in measure(True, neighbours, penalties, voters):
                tried[choice] = scores
        best = max(tried, key=lambda choice: trials.mean_of(tried[choice]))
        work.start(None, "testing")
        ((_, tested, embedded),) = measure(False, (best.neighbours,), (best.penalty,), (best.voters,))
        return {
            **tested,
            "chosen": best._asdict(),
            "validation": tried[best],
            "tried": [[*choice, *scores.values()] for choice, scores in tried.items()],
            "svp_steps": embedded.steps,
            "unexplained": round(embedded.unexplained, 6),
            "cluster_sizes": [len(each) for each in embedded.members],
        }

    def report(self, results: Results) -> list[Block]:
        """Return a table of each data set, and what each reading is."""
        own = results.select(self.name)
        blocks: list[Block] = []
        for data in datasets.in_table_order(own.names("data")):
            blocks.append(_table(own.select(data=data), data))
        if blocks:
            words = [f"{reading.title}. {reading.words}" for reading in READINGS.values()]
            blocks.insert(0, Text(words, "What the paper leaves open, and how it is read", as_list=True))
        return blocks


def grids(reading: Reading, quick: bool) -> tuple[Sequence[int], Sequence[int], Sequence[float]]:
    """Return the n̄, k and λ that are tried."""
    neighbours: Sequence[int] = QUICK_NEIGHBOURS if quick else NEIGHBOURS
    voters: Sequence[int] = QUICK_VOTERS if quick else VOTERS
    if reading.same_count:
        neighbours = voters
    return neighbours, voters, QUICK_PENALTIES if quick else reading.penalties


def measure_choices(
    parts: Parts,
    reading: Reading,
    settings: dict[str, Any],
    neighbours: Sequence[int],
    penalties: Sequence[float],
    voters: Sequence[int],
    threads: int,
    work: Work | None = None,
    learn: Callable[[X1Settings], trials.Embedded] | None = None,
) -> Iterator[tuple[Choice, dict[str, float], trials.Embedded]]:
    """Yield every choice with its precision on the test part, and its embedding, learned here unless `learn` does."""
    learn = learn or (lambda asked: trials.embed_labels(parts.X, parts.Y, asked, threads, itself=reading.itself))
    facts = DataFacts.of(parts.X, parts.Y.shape[1])
    for count in neighbours:
        given = {**settings, "svp_neighbours": count, "vote_neighbours": max(voters), "l2": penalties[0]}
        asked = resolve(X1Settings.from_parameters(given), facts)
        embedded = learn(asked)
        for penalty in penalties:
            learner = trials.regress(embedded, asked.replace(l2=penalty), threads)
            answers = trials.Answers.find(learner, parts.X_test, parts.Y, asked, max(voters), threads)
            for k in voters:
                if not reading.same_count or k == count:
                    scores = trials.precisions(answers.top(k, reading.ties), parts.Y_test)
                    yield Choice(count, penalty, k), scores, embedded
            if work is not None:
                work.advance()


def _table(own: Results, data: str) -> Table:
    name = datasets.paper_name(data)
    printed = TABLE_3[methods.STRICT].get(name)
    deviations = TABLE_3_DEVIATIONS[methods.STRICT].get(name)
    rows: list[list[Entry]] = []
    means = validation_means(own)
    for key, validation in means.items():
        reading, cells = READINGS[key], own.select(reading=key)
        chosen = [Choice(**measured["chosen"]) for measured in cells.values()]
        numbers = []
        for place, precision in enumerate(methods.PRECISIONS):
            summary = cells.summary(precision)
            assert summary is not None
            numbers.append(
                Number(
                    *summary,
                    printed=printed[place] if printed else None,
                    printed_deviation=deviations[place] if deviations else None,
                )
            )
        steps = max(measured["svp_steps"] for measured in cells.values())
        rows.append(
            [
                reading.title,
                Number(validation, runs=len(cells), note="best" if validation == max(means.values()) else ""),
                *numbers,
                *(_listed(getattr(choice, field) for choice in chosen) for field in Choice._fields),
                steps,
            ]
        )
    note = (
        "k, n̄ and λ of each reading were chosen on a held-out fifth of each split's training part, by the mean of "
        "P@1, P@3 and P@5; the best mean there is the best reading. The test part was then looked at once. The "
        "paper's numbers are of Table 3."
    )
    columns = ["reading", "validation", *methods.PRECISIONS, "n̄", "λ", "k", "steps of SVP"]
    return Table(datasets.title(data), columns, rows, note)


def validation_means(own: Results) -> dict[str, float]:
    """Return the mean of P@1, P@3 and P@5 on held-out points of each reading; all results are of one data set."""
    measured = {key: list(own.select(reading=key).values()) for key in READINGS}
    return {
        key: float(np.mean([trials.mean_of(each["validation"]) for each in cells]))
        for key, cells in measured.items()
        if cells
    }


def _listed(values: Iterator[float]) -> str:
    return ", ".join(f"{value:g}" for value in dict.fromkeys(values))


EXPERIMENT = Readings()

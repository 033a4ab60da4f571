"""Readings: what the paper leaves open about X1, tried one point at a time; the choice is by validation only.

For each reading k, n̄ and λ are chosen on a held-out fifth of a split's training part. The learners are then trained on
the whole part, and the test part is looked at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from neartag.core.threads import resolve_jobs
from neartag.experiments import datasets, methods, trials
from neartag.experiments.plan import Cell, Plan
from neartag.experiments.readings.open_points import PRINTED, READINGS, SHIPPED, Reading
from neartag.experiments.readings.report import tell_readings
from neartag.experiments.readings.validation import (
    LARGE_LEARNERS,
    QUICK_LEARNERS,
    Choice,
    Grid,
    Trained,
    find_grid,
    measure_choices,
)
from neartag.experiments.report.blocks import Block
from neartag.experiments.results import Results
from neartag.experiments.runner import Experiment, Work
from neartag.experiments.splits import Split, embed_split, load
from neartag.methods import presets
from neartag.x1.settings import X1Settings


class Readings(Experiment):
    """A cell is a reading on a split of a data set: its choice, its validation and its test."""

    name = "readings"
    title = "Readings of what the paper leaves open"

    def cells(self, plan: Plan) -> list[Cell]:
        """Return one cell per data set, split and reading; of a large set X1 (paper), and what tests a cause there."""
        if not plan.wants(methods.STRICT):
            return []
        sets = datasets.choose_all(plan.data)
        small, large = ([data for data in sets if datasets.is_large(data) == is_large] for is_large in (False, True))
        cells = [
            plan.cell(self.name, data, methods.STRICT, seed, reading=key)
            for data in small[: 1 if plan.quick else None]
            for key, reading in READINGS.items()
            for seed in plan.runs(reading.splits, quick=1)
            if not reading.for_large and (plan.quick or _is_about(reading, data))
        ]
        if plan.quick:
            return cells
        on_large = [PRINTED, *(key for key, reading in READINGS.items() if reading.for_large)]
        return cells + [
            plan.cell(self.name, data, methods.STRICT, reading=reading) for data in large for reading in on_large
        ]

    def settings(self, cell: Cell) -> dict[str, Any]:
        """Return X1's settings as the reading has them, and what is tried."""
        reading = READINGS[cell.option("reading")]
        large = datasets.is_large(cell.data)
        paper = methods.paper_settings(cell.data, large=large, quick=cell.quick)
        for name in ("svp_neighbours", "l2", "vote_neighbours"):  # which validation chooses
            paper.pop(name, None)
        if large:
            paper["n_learners"] = LARGE_LEARNERS
        shipped = SHIPPED[presets.preset_name(cell.data)].changes if reading.shipped else {}
        grid = find_grid(reading, cell.data, cell.quick)
        tried = {"svp_neighbours": grid.neighbours, "l2": grid.penalties, "vote_neighbours": grid.voters}
        other = {"rows": reading.rows, "ties": reading.ties, "itself": reading.itself, "k is n̄": reading.same_count}
        if reading.k_means != "plain":
            other["k-means"] = {"products": "by inner products", "short": "seven rounds"}[reading.k_means]
        x1 = {**paper, **shipped, **reading.changes}
        if cell.quick:
            x1["n_learners"] = min(x1["n_learners"], QUICK_LEARNERS)
        return {"x1": x1, "tried": tried, **other}

    def probe(self, cell: Cell) -> str:
        """Return what is between the paper's X1 and neartag's votes: a reading takes one or two things from there."""
        return "x1-ladder"

    def run(self, cell: Cell, work: Work) -> dict[str, Any]:
        """Return what was chosen, its precision on the held-out part, and that on the test part."""
        reading, threads = READINGS[cell.option("reading")], resolve_jobs(work.jobs)
        settings = {**self.settings(cell)["x1"], "random_state": cell.seed}

        def measure(held_out: bool, grid: Grid) -> Iterator[Trained]:
            split = Split(cell.data, cell.seed, cell.quick, reading.rows, held_out)

            def learn(asked: X1Settings, number: int) -> trials.Embedded:
                itself, k_means = reading.itself, reading.k_means
                return embed_split(split, asked, itself=itself, k_means=k_means, threads=threads, learner=number)

            return measure_choices(load(split), reading, settings, grid, threads, work, learn)

        tried: dict[Choice, dict[str, float]] = {}
        grid = find_grid(reading, cell.data, cell.quick)
        with work.start(len(grid.neighbours) * len(grid.penalties), "validating"):
            for trained in measure(True, grid):
                tried[trained.choice] = trained.scores
        best = max(tried, key=lambda choice: trials.mean_of(tried[choice]))
        work.start(None, "testing")
        (tested,) = measure(False, Grid((best.neighbours,), (best.penalty,), (best.voters,)))
        return {
            **tested.scores,
            "chosen": best._asdict(),
            "validation": tried[best],
            "tried": [[*choice, *scores.values()] for choice, scores in tried.items()],
            "svp_steps": max(each.steps for each in tested.embedded),
            "unexplained": round(float(np.mean([each.unexplained for each in tested.embedded])), 6),
            "cluster_sizes": [len(each) for each in tested.embedded[0].members],
            "clusters_alike": _likeness(tested.embedded),
        }

    def report(self, results: Results) -> list[Block]:
        """Return a table of each data set, and what each reading is."""
        return tell_readings(results)


def _is_about(reading: Reading, data: str) -> bool:
    """Return whether a reading says something of a set that no other reading says."""
    name = presets.preset_name(data)
    if (reading.only_on and name not in reading.only_on) or (reading.shipped and name not in SHIPPED):
        return False
    printed = None if data in datasets.SUBSTITUTES else datasets.printed_sizes(data)
    if printed is not None and printed.train >= 2 * methods.POINTS_PER_CLUSTER:
        return True
    # The paper's rule gives this set one cluster: k-means has no part then, and one cluster is no change.
    clusters = reading.changes.get("n_clusters")
    return clusters != 1 and (clusters == methods.PAPER_CLUSTERS or reading.k_means == "plain")


def _likeness(learners: Sequence[trials.Embedded]) -> float | None:
    """Return how alike the clusters of two learners are, on average: 1 if they are the same; None for one learner.

    It is the adjusted Rand index, which is 0 for clusters that have nothing to do with each other.
    """
    pairs = combinations((each.partition.assignment for each in learners), 2)
    found = [adjusted_rand_score(one, other) for one, other in pairs]
    return round(float(np.mean(found)), 4) if found else None


EXPERIMENT = Readings()

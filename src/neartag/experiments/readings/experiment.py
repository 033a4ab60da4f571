"""Readings: what the paper leaves open about X1, tried one point at a time; the choice is by validation only.

For each reading k, n̄ and λ are chosen on a held-out fifth of a split's training part. The learners are then trained on
the whole part, and the test part is looked at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from neartag.core.threads import resolve_jobs
from neartag.experiments import datasets, methods, trials
from neartag.experiments.differences import lead_between
from neartag.experiments.plan import Cell, Plan
from neartag.experiments.printed import TABLE_3, TABLE_3_DEVIATIONS
from neartag.experiments.readings.open_points import PRINTED, READINGS, SHIPPED, Reading
from neartag.experiments.readings.validation import (
    LARGE_LEARNERS,
    QUICK_LEARNERS,
    Choice,
    Grid,
    Trained,
    find_grid,
    measure_choices,
)
from neartag.experiments.report.blocks import Block, Entry, Number, Table, Text
from neartag.experiments.results import Results
from neartag.experiments.runner import Experiment, Work
from neartag.experiments.splits import Split, embed_split, load
from neartag.methods import presets
from neartag.x1.settings import X1Settings

SPLITS = 1  # the first, on which all settings of X1 (paper) were chosen


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
        own = results.select(self.name)
        blocks: list[Block] = []
        for data in datasets.in_table_order(own.names("data")):
            blocks.append(_table(_on_first_split(own.select(data=data)), data, _distance_to_print(results, data)))
            blocks.extend(_over_splits(results, data))
        if blocks:
            measured = {cell.option("reading") for cell in own.records}
            words = [f"{reading.title}. {reading.words}" for key, reading in READINGS.items() if key in measured]
            blocks.insert(0, Text(words, "What the paper leaves open, and how it is read", as_list=True))
        return blocks


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


def _on_first_split(own: Results) -> Results:
    return Results({cell: record for cell, record in own.records.items() if cell.seed < SPLITS}, own.plan)


def _over_splits(results: Results, data: str) -> list[Table]:
    """Return a table of the readings that were measured on all splits of Table 3, beside X1 (paper) and print."""
    paper = datasets.paper_name(data)
    printed, deviations = TABLE_3[methods.STRICT].get(paper), TABLE_3_DEVIATIONS[methods.STRICT].get(paper)
    rows: list[list[Entry]] = []
    for key in (key for key, reading in READINGS.items() if reading.splits > SPLITS):
        own = results.select("readings", data, reading=key)
        x1 = results.select("table3", data, methods.STRICT)
        for place, precision in enumerate(methods.PRECISIONS):
            found, beside, lead = own.summary(precision), x1.summary(precision), lead_between(own, x1, precision)
            if found is None or beside is None or lead is None or found.runs <= SPLITS:
                continue
            row: list[Entry] = [READINGS[key].title, precision, Number(*found), Number(*beside), f"{lead.mean:+.2f}"]
            if printed and deviations and data not in datasets.SUBSTITUTES:
                row += [f"{printed[place]:.2f} ± {deviations[place]:.2f}"]
                row += [f"{(found.mean - printed[place]) / deviations[place]:+.1f}"]
            rows.append(row)
    if not rows:
        return []
    columns = ["reading", "", "measured", methods.title(methods.STRICT), "against it", "printed", "in deviations"]
    note = (
        "The splits of Table 3. What the reading leaves open was chosen on a held-out fifth of each split's training "
        "part. “In deviations”: how far it is from the printed number, in the paper's own standard deviations."
    )
    return [Table(f"{datasets.title(data)}: a reading on all splits", columns[: len(rows[0])], rows, note)]


def _table(own: Results, data: str, distance: str) -> Table:
    """Return the readings of one data set; `distance`: from X1 (paper) to the printed numbers, for people."""
    rows: list[list[Entry]] = []
    means = validation_means(own)
    compared = comparable(means)
    best = best_reading(means)
    paper = own.select(reading=PRINTED)
    ensembles = bool(own.numbers("clusters_alike"))
    for key, validation in means.items():
        cells = own.select(reading=key)
        chosen = [Choice(**measured["chosen"]) for measured in cells.values()]
        summaries = [summary for name in methods.PRECISIONS if (summary := cells.summary(name)) is not None]
        left = 100 * float(np.mean([measured["unexplained"] for measured in cells.values()]))
        rows.append(
            [
                READINGS[key].title,
                Number(validation, runs=len(cells), note="best" if key == best else ""),
                *(Number(*summary) for summary in summaries),
                "–" if key == PRINTED else _difference(cells, paper),
                *(_listed(getattr(choice, field) for choice in chosen) for field in Choice._fields),
                max(measured["svp_steps"] for measured in cells.values()),
                Number(left, digits=3),
                *([_alike(cells)] if ensembles else []),
            ]
        )
    note = (
        "k, n̄ and λ of each reading were chosen on a held-out fifth of each split's training part, by the mean of "
        "P@1, P@3 and P@5, unless the list above says which are fixed; the best mean there is the best of "
        f"{len(compared)} readings, X1 (paper) among them. Readings put together of others after these had been tested "
        "are left out of that. The test part was looked at once for each. “Against X1 "
        f"(paper)”: P@1 / P@3 / P@5 on the same splits.{distance} Left: the share of YᵀY on Ω that SVP leaves "
        "unexplained."
    )
    if datasets.is_large(data):
        whole = methods.paper_settings(data, large=True)["n_learners"]
        note += f" There are {LARGE_LEARNERS} learners here, {whole} in Table 1 (a)."
    columns = ["reading", "validation", *methods.PRECISIONS, "against X1 (paper)", "n̄", "λ", "k", "steps of SVP"]
    columns.append("left, percent")
    if ensembles:
        columns.append("clusters alike")
        note += (
            " Clusters alike: the mean adjusted Rand index of two learners' clusters, 1 if they are the same, 0 if "
            "they have nothing to do with each other; “–” where there is one learner, or that was not measured."
        )
    return Table(datasets.title(data), columns, rows, note)


def _alike(cells: Results) -> str:
    found = cells.summary("clusters_alike")
    return "–" if found is None else f"{found.mean:.2f}"


def _difference(cells: Results, paper: Results) -> str:
    """Return how much a reading is ahead of X1 (paper) on the splits that both have, for people."""
    leads = [lead_between(cells, paper, name) for name in methods.PRECISIONS]
    return " / ".join("–" if lead is None else f"{lead.mean:+.2f}" for lead in leads)


def _distance_to_print(results: Results, data: str) -> str:
    """Say how far X1 (paper) is from the printed numbers over all splits of Table 3; "" where that is not known."""
    printed = TABLE_3[methods.STRICT].get(datasets.paper_name(data))
    summaries = [results.select("table3", data, methods.STRICT).summary(name) for name in methods.PRECISIONS]
    measured = [summary for summary in summaries if summary is not None]
    if not printed or data in datasets.SUBSTITUTES or len(measured) < len(summaries):
        return ""
    apart = " / ".join(f"{summary.mean - value:+.2f}" for summary, value in zip(measured, printed, strict=True))
    return (
        f" Over {measured[0].runs} splits X1 (paper) is {apart} from the printed numbers: a reading that is as much "
        "ahead of it would explain that."
    )


def validation_means(own: Results) -> dict[str, float]:
    """Return the mean of P@1, P@3 and P@5 on held-out points of each reading; all results are of one data set."""
    first = _on_first_split(own)
    measured = {key: list(first.select(reading=key).values()) for key in READINGS}
    return {
        key: float(np.mean([trials.mean_of(each["validation"]) for each in cells]))
        for key, cells in measured.items()
        if cells
    }


def comparable(means: Mapping[str, float]) -> list[str]:
    """Return the readings of which one is the best: not those put together of others after these had been tested."""
    return [key for key in means if not READINGS[key].for_large and not READINGS[key].after_test]


def best_reading(means: Mapping[str, float]) -> str:
    """Return the reading that is best on held-out points; "" if there are no two to choose from."""
    compared = comparable(means)
    return max(compared, key=means.__getitem__) if len(compared) > 1 else ""


def _listed(values: Iterator[float]) -> str:
    return ", ".join(f"{value:g}" for value in dict.fromkeys(values))


EXPERIMENT = Readings()

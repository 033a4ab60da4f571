"""Table 1 (a): X1, LEML, FastXML and LPSR over naive Bayes on large data sets, on each set's own parts.

A made-up set of the same shape takes the place of a missing one, and other real large sets are added. X1 has 15
learners of dimension 50, as in the paper; a second column has its preset or defaults.
"""

from __future__ import annotations

from typing import Any

from neartag.experiments import datasets, methods
from neartag.experiments.learners import load_parts
from neartag.experiments.plan import Cell, Plan
from neartag.experiments.printed import TABLE_1
from neartag.experiments.report.blocks import Block, Number, Table
from neartag.experiments.results import Results
from neartag.experiments.runner import Experiment, Work

METHODS = (*methods.X1_COLUMNS, "leml", "fastxml", "lpsr-nb")


class LargeSets(Experiment):
    """A cell is a method on a data set."""

    name = "table1"
    title = "Table 1 (a): large data sets"

    def cells(self, plan: Plan) -> list[Cell]:
        """Return one cell per method and data set."""
        wanted = [*datasets.choose_large(plan.data), *datasets.synthetic_sets(plan.data)]
        if not datasets.choose_large(plan.data) and datasets.EMBEDDED in plan.data:
            wanted.append(datasets.EMBEDDED)  # the largest real set that is always there
        return [plan.cell(self.name, data, method) for data in wanted for method in METHODS if plan.wants(method)]

    def settings(self, cell: Cell) -> dict[str, Any]:
        """Return the paper's settings for X1, the presets of the others."""
        return methods.settings_for(cell.method, cell.data, large=True, quick=cell.quick)

    def run(self, cell: Cell, work: Work) -> dict[str, Any]:
        """Return precision, times and size of the method."""
        return methods.measure(cell.method, self.settings(cell), load_parts(cell), cell.seed, work)

    def report(self, results: Results) -> list[Block]:
        """Return the table."""
        own = results.select(self.name)
        shown = [method for method in METHODS if any(cell.method == method for cell in own.records)]
        rows: list[list[str | Number]] = []
        for data in datasets.in_table_order(cell.data for cell in own.records):
            for place, precision in enumerate(methods.PRECISIONS):
                numbers = [_number(own.select(data=data, method=method), data, method, place) for method in shown]
                rows.append([datasets.title(data), precision, *numbers])
        if not rows:
            return []
        note = (
            "Each set's own training and test part, one run. “X1” has 15 learners, dimension 50 and one cluster per "
            "6,000 points, as in the paper; “X1, preset” has the settings chosen for the set, or the defaults, "
            "which may use what the paper does not have. The paper could not run LEML on Ads1M."
        )
        headings = ["data set", "", *map(methods.title, shown)]
        return [Table("", headings, rows, note, compared=range(2, len(headings)))]


def _number(results: Results, data: str, method: str, place: int) -> Number:
    paper = TABLE_1.get(method, {}).get(datasets.paper_name(data))
    printed = paper[place] if paper else None
    summary = results.summary(methods.PRECISIONS[place])
    if summary is None:
        return Number(None, printed=printed, note="failed" if results.failed else "")
    return Number(summary.mean, printed=printed)


EXPERIMENT = LargeSets()

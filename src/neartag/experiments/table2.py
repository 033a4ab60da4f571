"""Table 2: the sizes of every data set that is present."""

from __future__ import annotations

from typing import Any

from neartag.experiments import datasets
from neartag.experiments.plan import Cell, Plan
from neartag.experiments.report.blocks import Block, Entry, Number, Table
from neartag.experiments.results import Results
from neartag.experiments.runner import Experiment, Work

# What is counted: its heading in the table, and its decimals.
COLUMNS = {
    "features": ("d, features", 0),
    "labels": ("L, labels", 0),
    "train": ("n, training points", 0),
    "test": ("m, test points", 0),
    "features_per_point": ("features per point", 2),
    "labels_per_point": ("labels per point", 2),
}


class Sizes(Experiment):
    """A cell is a data set."""

    name = "table2"
    title = "Table 2: the data sets"

    def cells(self, plan: Plan) -> list[Cell]:
        """Return one cell per data set."""
        made_up = datasets.synthetic_sets(plan.data)  # which have the sizes that are asked for
        return [plan.cell(self.name, data) for data in plan.data if data not in made_up]

    def run(self, cell: Cell, work: Work) -> dict[str, Any]:
        """Return the counts of the data set's own parts: the whole set even in a quick run."""
        parts = datasets.load_official(cell.data)
        points = parts.X.shape[0]
        return {
            "features": parts.X.shape[1],
            "labels": parts.Y.shape[1],
            "train": points,
            "test": parts.X_test.shape[0],
            "features_per_point": round(parts.X.nnz / points, 4),
            "labels_per_point": round(parts.Y.nnz / points, 4),
        }

    def report(self, results: Results) -> list[Block]:
        """Return the table."""
        own = results.select(self.name)
        rows: list[list[Entry]] = []
        for data in datasets.in_table_order(own.names("data")):
            (counted,) = own.select(data=data).values()
            printed = datasets.printed_sizes(data)
            numbers = [
                Number(counted[name], printed=getattr(printed, name, None), digits=digits)
                for name, (_, digits) in COLUMNS.items()
            ]
            rows.append([datasets.title(data), *numbers])
        if not rows:
            return []
        headings = ["data set", *(heading for heading, _ in COLUMNS.values())]
        note = "Averages per point are those of the training part."
        return [Table("", headings, rows, note)]


EXPERIMENT = Sizes()

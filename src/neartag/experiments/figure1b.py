"""Figure 1 (b): how many documents have each label, from the most frequent label to the rarest."""

from __future__ import annotations

from typing import Any

import numpy as np

from neartag.experiments import datasets
from neartag.experiments.plan import Cell, Plan
from neartag.experiments.report.blocks import Block, Entry, Figure, Number, Series, Table
from neartag.experiments.results import Results
from neartag.experiments.runner import Experiment, Work

RARE_BELOW = 5  # documents; the paper calls labels with fewer tail labels
# Points of a curve, evenly spaced on the logarithmic axis: a million labels would make a plot of megabytes.
MAX_CURVE_POINTS = 200


class Frequencies(Experiment):
    """A cell is a data set."""

    name = "figure1b"
    title = "Figure 1 (b): documents per label"

    def cells(self, plan: Plan) -> list[Cell]:
        """Return one cell per data set."""
        return [plan.cell(self.name, data) for data in datasets.choose_all(plan.data)]

    def run(self, cell: Cell, work: Work) -> dict[str, Any]:
        """Return the curve of the training documents, and how many labels are rare."""
        return frequencies(datasets.load_official(cell.data).Y)  # the whole set: a sample would have a longer tail

    def report(self, results: Results) -> list[Block]:
        """Return one plot of all data sets, and the shares of rare labels."""
        own = results.select(self.name)
        if not own:
            return []
        series, rows = [], []
        for data in datasets.in_table_order(own.names("data")):
            (measured,) = own.select(data=data).values()
            series.append(Series(datasets.title(data), measured["ranks"], measured["documents"]))
            rows.append(_row(datasets.title(data), measured))
        note = (
            "Labels from the most frequent to the rarest of those that training documents have, both axes logarithmic."
        )
        plot = Figure(
            "Figure 1 (b)", "figure1b", series, "label, by frequency", "documents", note, x_log=True, y_log=True
        )
        columns = [
            "data set",
            "labels",
            "in no training document",
            f"in 1 to {RARE_BELOW - 1}",
            f"share in fewer than {RARE_BELOW}, %",
        ]
        paper: list[Entry] = ["WikiLSHTC, as printed", "325,056", "", "about 300,000", "about 92"]
        return [plot, Table("Rare labels", columns, [*rows, paper], "The share counts labels in no document.")]


def frequencies(Y: Any) -> dict[str, Any]:
    """Return some ranks with the documents of the label at each, and how many labels are rare."""
    counts = np.sort(np.bincount(Y.indices, minlength=Y.shape[1]))[::-1]
    present = counts[counts > 0]
    ranks = np.unique(np.geomspace(1, max(1, len(present)), MAX_CURVE_POINTS).round().astype(np.int64))[: len(present)]
    return {
        "labels": len(counts),
        "documents_in_all": int(Y.shape[0]),
        "unseen": int((counts == 0).sum()),
        "rare": int(((counts > 0) & (counts < RARE_BELOW)).sum()),
        "ranks": ranks.tolist(),
        "documents": present[ranks - 1].tolist(),
    }


def _row(title: str, measured: dict[str, Any]) -> list[Entry]:
    labels, rare, unseen = measured["labels"], measured["rare"], measured["unseen"]
    share = Number(100 * (rare + unseen) / max(1, labels), digits=1)
    return [title, f"{labels:,}", f"{unseen:,}", f"{rare:,}", share]


EXPERIMENT = Frequencies()

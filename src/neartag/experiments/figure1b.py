"""Figure 1 (b): in how many documents each label is, from the most frequent to the rarest."""

from __future__ import annotations

from typing import Any

import numpy as np

from neartag.experiments import datasets
from neartag.experiments.blocks import Block, Entry, Figure, Number, Series, Table
from neartag.experiments.plan import Cell, Plan
from neartag.experiments.results import Results
from neartag.experiments.runner import Experiment, Work

FEW = 5  # documents; a label in fewer is a tail label to the paper
# Points of a curve, evenly spaced on its logarithmic axis: a million labels would make a plot of megabytes.
DRAWN = 200


class Frequencies(Experiment):
    """A cell is a data set."""

    name = "figure1b"
    title = "Figure 1 (b): documents a label"

    def cells(self, plan: Plan) -> list[Cell]:
        """Return a cell for each data set."""
        return [plan.cell(self.name, data) for data in [*datasets.small(plan.data), *datasets.large(plan.data)]]

    def run(self, cell: Cell, work: Work) -> dict[str, Any]:
        """Return the curve and how many labels are rare, in the training documents."""
        return frequencies(datasets.official(cell.data).Y)  # all of it: a sample would have a longer tail

    def report(self, results: Results) -> list[Block]:
        """Return one plot of all data sets and the shares of rare labels."""
        mine = results.select(self.name)
        if not mine:
            return []
        series, rows = [], []
        for data in datasets.ordered(mine.names("data")):
            (found,) = mine.select(data=data).values()
            series.append(Series(datasets.title(data), found["ranks"], found["documents"]))
            rows.append(_row(datasets.title(data), found))
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
            f"in 1 to {FEW - 1}",
            f"share in fewer than {FEW}, %",
        ]
        paper: list[Entry] = ["WikiLSHTC, as printed", "325,056", "", "about 300,000", "about 92"]
        return [plot, Table("Rare labels", columns, [*rows, paper], "The share counts labels in no document.")]


def frequencies(Y: Any) -> dict[str, Any]:
    """Return ranks and the documents of the label at each, thinned out, and how many labels are rare."""
    counts = np.sort(np.bincount(Y.indices, minlength=Y.shape[1]))[::-1]
    there = counts[counts > 0]
    ranks = np.unique(np.geomspace(1, max(1, len(there)), DRAWN).round().astype(np.int64))[: len(there)]
    return {
        "labels": len(counts),
        "documents_in_all": int(Y.shape[0]),
        "unseen": int((counts == 0).sum()),
        "rare": int(((counts > 0) & (counts < FEW)).sum()),
        "ranks": ranks.tolist(),
        "documents": there[ranks - 1].tolist(),
    }


def _row(title: str, found: dict[str, Any]) -> list[Entry]:
    rare, unseen = found["rare"], found["unseen"]
    share = Number(100 * (rare + unseen) / max(1, found["labels"]), digits=1)
    return [title, f"{found['labels']:,}", f"{unseen:,}", f"{rare:,}", share]


EXPERIMENT = Frequencies()

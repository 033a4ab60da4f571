"""Figure 2 and the appendix's figures: precision against the number of learners, and against the size of the model.

An ensemble is trained once; its first learners or trees are the smaller ensembles, as training these alone would give.
LocalLEML has the same clusters as X1, learner by learner.
"""

from __future__ import annotations

from typing import Any

from neartag.evaluation.metrics import precision_at
from neartag.experiments import datasets, methods
from neartag.experiments.blocks import Block, Entry, Figure, Number, Series, Table
from neartag.experiments.learners import CLUSTERS, clusters_for, first, parts_of, size_of, summary_of
from neartag.experiments.plan import Cell, Plan
from neartag.experiments.results import Results, Summary
from neartag.experiments.runner import Experiment, Work

# Learners or trees of the ensembles that are measured, inside the largest of each method.
COUNTS = {
    "x1": tuple(range(1, 11)),
    "local_leml": tuple(range(1, 11)),
    "fastxml": (1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 40, 50),
}
RUNS = 3
SIZE = "bytes"


class Ensembles(Experiment):
    """A cell is an ensemble of a method."""

    name = "figure2"
    title = "Figure 2: learners, and the size of the model"

    def cells(self, plan: Plan) -> list[Cell]:
        """Return a cell for each data set, method and run."""
        sets = [*datasets.small(plan.data), *datasets.large(plan.data)][: 1 if plan.quick else None]
        return [
            plan.cell(self.name, data, method, seed)
            for data in sets
            for method in COUNTS
            if plan.wants(method)
            for seed in plan.runs(RUNS, quick=1)
        ]

    def settings(self, cell: Cell) -> dict[str, Any]:
        """Return the paper's settings for X1 and the preset's for the others, with as many learners as are measured."""
        most = max(COUNTS[cell.method])
        if cell.method == "fastxml":
            return {**methods.preset("fastxml", cell.data), "trees": most}
        known = methods.paper_settings(cell.data) if cell.method == "x1" else methods.preset(cell.method, cell.data)
        return {**known, "n_learners": most, "n_clusters": CLUSTERS}

    def run(self, cell: Cell, work: Work) -> dict[str, Any]:
        """Return precision and bytes by the number of learners."""
        parts, settings = parts_of(cell), self.settings(cell)
        if cell.method != "fastxml":
            settings["n_clusters"] = clusters_for(parts.X.shape[0])
        classifier, cost = methods.train(cell.method, settings, parts, cell.seed, work)
        found: dict[str, Any] = {name: [] for name in (*methods.PRECISIONS, SIZE)}
        counts = COUNTS[cell.method]
        with work.start(len(counts), "predicting"):
            for count in counts:
                model = first(classifier.model_, count)
                labels, _ = model.predict_topk(parts.X_test, max(methods.CUTS), n_jobs=work.jobs)
                for k in methods.CUTS:
                    found[f"P@{k}"].append(round(precision_at(labels, parts.Y_test, k), 4))
                found[SIZE].append(size_of(model))
                work.advance()
        return {"learners": list(counts), **found, **cost, "n_clusters": settings.get("n_clusters")}

    def report(self, results: Results) -> list[Block]:
        """Return plots of each data set against learners and against size, and P@1 in numbers."""
        mine = results.select(self.name)
        found: list[Block] = []
        for data in datasets.ordered(mine.names("data")):
            found += _of_data(mine.select(data=data), data)
        return found


def curve(found: Results, method: str, name: str) -> dict[int, Summary]:
    """Return a measured number by the count of learners; all results are of one data set."""
    own = found.select(method=method)
    by_count: dict[int, list[float]] = {}
    for measured in own.values():
        for count, value in zip(measured["learners"], measured[name], strict=True):
            by_count.setdefault(count, []).append(value)
    return {count: summary_of(values) for count, values in sorted(by_count.items())}


def _of_data(found: Results, data: str) -> list[Block]:
    shown = [method for method in COUNTS if method in found.names("method")]
    title = datasets.title(data)
    clusters = max((measured["n_clusters"] or 0 for measured in found.values()), default=0)
    note = "The first learners of an ensemble of ten, or trees of fifty; the band is one standard deviation over runs."
    if clusters:
        note += f" X1 and LocalLEML have the same {clusters} clusters a learner."
    blocks: list[Block] = []
    for precision in methods.PRECISIONS:
        of_learners, of_size = [], []
        for method in shown:
            points, sizes = curve(found, method, precision), curve(found, method, SIZE)
            means = [summary.mean for summary in points.values()]
            spread = [summary.deviation or 0.0 for summary in points.values()]
            name = methods.title(method)
            label = f"{name} (trees)" if method == "fastxml" else name
            of_learners.append(Series(label, list(points), means, spread))
            of_size.append(Series(name, [size.mean / 1e6 for size in sizes.values()], means, spread))
        stem, y_label = f"figure2-{data}-{precision.replace('@', '').lower()}", f"{precision}, percent"
        heading = f"Figure 2, {title}: {precision}"
        blocks.append(Figure(f"{heading} by learners", stem, of_learners, "learners", y_label, note, x_log=True))
        blocks.append(
            Figure(f"{heading} by model size", f"{stem}-size", of_size, "model, MB", y_label, note, x_log=True)
        )
    return [*blocks, _table(found, shown, title)]


def _table(found: Results, shown: list[str], title: str) -> Table:
    """Return P@1 and size by the count of learners."""
    curves = {method: (curve(found, method, "P@1"), curve(found, method, SIZE)) for method in shown}
    rows: list[list[Entry]] = []
    for count in sorted({count for points, _ in curves.values() for count in points}):
        row: list[Entry] = [count]
        for points, sizes in curves.values():
            known = count in points
            row.append(Number(*points[count]) if known else Number(None))
            row.append(Number(sizes[count].mean / 1e6) if known else Number(None))
        rows.append(row)
    columns = ["learners"]
    for method in shown:
        columns += [f"{methods.title(method)}, P@1", "MB"]
    return Table(f"P@1 and size by learners, {title}", columns, rows, compared=range(1, len(columns), 2))


EXPERIMENT = Ensembles()

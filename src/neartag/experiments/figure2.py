"""Figure 2 and the appendix's figures: precision against the number of learners, and against the size of the model.

An ensemble is trained once. Its first learners or trees are the smaller ensembles: the same as if only these had been
trained. LocalLEML has the same clusters as X1, learner by learner.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from neartag.evaluation.metrics import precision_at
from neartag.experiments import datasets, methods
from neartag.experiments.figure1c import LARGE_RANK, local_leml_settings
from neartag.experiments.learners import (
    CLUSTERS,
    ENSEMBLES,
    MIN_CLUSTERS,
    clusters_for,
    first_learners,
    load_parts,
    model_size,
)
from neartag.experiments.plan import Cell, Plan
from neartag.experiments.report.blocks import Block, Entry, Figure, Number, Series, Table
from neartag.experiments.results import Results, Summary, summarise
from neartag.experiments.runner import Experiment, Work

# Numbers of learners or trees that are measured, within the largest ensemble of each method.
COUNTS = {
    methods.STRICT: tuple(range(1, 11)),
    methods.OWN: tuple(range(1, 11)),
    "local_leml": tuple(range(1, 11)),
    "fastxml": (1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 40, 50),
}
RUNS = 3
SIZE = "bytes"


class Ensembles(Experiment):
    """A cell is an ensemble of a method."""

    name = "figure2"
    title = "Figure 2: learners, and the size of the model"

    def __init__(self, counts: Mapping[str, Sequence[int]] = COUNTS) -> None:
        self.counts = counts

    def cells(self, plan: Plan) -> list[Cell]:
        """Return one cell per data set, method and run."""
        sets = datasets.choose_all(plan.data)[: 1 if plan.quick else None]
        return [
            plan.cell(self.name, data, method, seed)
            for data in sets
            for method in self.counts
            if plan.wants(method)
            for seed in plan.runs(RUNS, quick=1)
        ]

    def settings(self, cell: Cell) -> dict[str, Any]:
        """Return the paper's settings for X1 and the presets of the others, with the largest number of learners."""
        most = max(self.counts.get(cell.method, (0,)))
        if cell.method == "fastxml":
            return {**methods.preset("fastxml", cell.data), "trees": most}
        large = datasets.is_large(cell.data)
        own = (
            local_leml_settings(cell.data)
            if cell.method == "local_leml"
            else methods.settings_for(cell.method, cell.data, large=large, quick=cell.quick)
        )
        return {**own, "n_learners": most, "n_clusters": CLUSTERS}

    def run(self, cell: Cell, work: Work) -> dict[str, Any]:
        """Return precision and bytes by the number of learners."""
        parts, settings = load_parts(cell), self.settings(cell)
        if cell.method != "fastxml":
            settings["n_clusters"] = clusters_for(parts.X.shape[0])
        if cell.method in methods.X1_COLUMNS:
            whole, cost = ENSEMBLES.train(cell, settings, parts, work)
        else:
            classifier, cost = methods.train(cell.method, settings, parts, cell.seed, work)
            whole = classifier.model_
        measured: dict[str, Any] = {name: [] for name in (*methods.PRECISIONS, SIZE)}
        counts = self.counts[cell.method]
        with work.start(len(counts), "predicting"):
            for count in counts:
                model = first_learners(whole, count)
                labels, _ = model.predict_topk(parts.X_test, max(methods.CUTS), n_jobs=work.jobs)
                for k in methods.CUTS:
                    measured[f"P@{k}"].append(round(precision_at(labels, parts.Y_test, k), 4))
                measured[SIZE].append(model_size(model))
                work.advance()
        return {"learners": list(counts), **measured, **cost, "n_clusters": settings.get("n_clusters")}

    def report(self, results: Results) -> list[Block]:
        """Return plots of each data set against learners and against size, and P@1 in numbers."""
        own = results.select(self.name)
        blocks: list[Block] = []
        for data in datasets.in_table_order(own.names("data")):
            blocks += _report_data(own.select(data=data), data)
        return blocks


def curve(results: Results, method: str, name: str) -> dict[int, Summary]:
    """Return a measured number by the number of learners; all results are of one data set."""
    by_count: dict[int, list[float]] = {}
    for measured in results.select(method=method).values():
        for count, value in zip(measured["learners"], measured[name], strict=True):
            by_count.setdefault(count, []).append(value)
    return {count: summarise(values) for count, values in sorted(by_count.items())}


def _report_data(own: Results, data: str) -> list[Block]:
    shown = [method for method in COUNTS if method in own.names("method")]
    title = datasets.title(data)
    clusters = max((measured["n_clusters"] or 0 for measured in own.values()), default=0)
    note = (
        "The first learners of an ensemble of ten, or trees of fifty; a band is one standard deviation over runs, "
        "where there are several."
    )
    if clusters:
        note += f" {clusters} clusters per learner; neartag's variant begins with as many, and splits those too large."
        if not datasets.is_large(data):
            note += f" At least {MIN_CLUSTERS}, where the paper's rule gives fewer; it has one learner on small sets."
        if {methods.STRICT, "local_leml"} <= set(shown):
            note += " LocalLEML has those of X1 (paper)."
            if datasets.is_large(data):
                note += f" Its rank is {LARGE_RANK}, as that of the paper's LEML on WikiLSHTC: more would not fit."
                note += " neartag's variant chooses k on held-out points in each run; in Table 4 its k is fixed."
    missing = [methods.title(method) for method in COUNTS if method not in shown]
    if missing:
        note += f" Not measured on this set: {', '.join(missing)}."
    blocks: list[Block] = []
    for precision in methods.PRECISIONS:
        of_learners, of_size = [], []
        for method in shown:
            points, sizes = curve(own, method, precision), curve(own, method, SIZE)
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
    return [*blocks, _table(own, shown, title)]


def _table(own: Results, shown: list[str], title: str) -> Table:
    """Return P@1 and size by the number of learners."""
    curves = {method: (curve(own, method, "P@1"), curve(own, method, SIZE)) for method in shown}
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

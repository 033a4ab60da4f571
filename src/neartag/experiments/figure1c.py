"""Figure 1 (c): P@1 of X1 and of LocalLEML with more and more clusters; one learner each, in the same clusters."""

from __future__ import annotations

from typing import Any

from neartag.evaluation.metrics import precision_at
from neartag.experiments import datasets, methods
from neartag.experiments.learners import load_parts, small_sets
from neartag.experiments.plan import Cell, Plan
from neartag.experiments.report.blocks import Block, Entry, Figure, Number, Series, Table
from neartag.experiments.results import Results, Summary
from neartag.experiments.runner import Experiment, Work

METHODS = ("x1", "local_leml")
CLUSTERS, QUICK_CLUSTERS = (1, 2, 4, 8, 16, 32, 64), (1, 2, 4, 8, 16, 32)
RUNS = 3


class Clusters(Experiment):
    """A cell is a method with so many clusters."""

    name = "figure1c"
    title = "Figure 1 (c): more clusters"

    def __init__(self, quick_clusters: tuple[int, ...] = QUICK_CLUSTERS) -> None:
        self.quick_clusters = quick_clusters

    def cells(self, plan: Plan) -> list[Cell]:
        """Return one cell per data set, method, number of clusters and run."""
        return [
            plan.cell(self.name, data, method, seed, clusters=clusters)
            for data in small_sets(plan)
            for method in METHODS
            if plan.wants(method)
            for clusters in (self.quick_clusters if plan.quick else CLUSTERS)
            for seed in plan.runs(RUNS, quick=1)
        ]

    def settings(self, cell: Cell) -> dict[str, Any]:
        """Return the paper's settings for X1 and LocalLEML's preset, with one learner and so many clusters."""
        return {
            **methods.settings_for(cell.method, cell.data, quick=cell.quick),
            "n_learners": 1,
            "n_clusters": cell.option("clusters"),
        }

    def run(self, cell: Cell, work: Work) -> dict[str, Any]:
        """Return precision on the test part."""
        parts = load_parts(cell)
        classifier, cost = methods.train(cell.method, self.settings(cell), parts, cell.seed, work)
        labels, _ = classifier.predict_topk(parts.X_test, max(methods.CUTS))
        precisions = {f"P@{k}": precision_at(labels, parts.Y_test, k) for k in methods.CUTS}
        return {**methods.round_all(precisions), **cost}

    def report(self, results: Results) -> list[Block]:
        """Return a plot and a table of each data set."""
        own = results.select(self.name)
        blocks: list[Block] = []
        for data in datasets.in_table_order(own.names("data")):
            blocks += _report_data(own.select(data=data), data)
        return blocks


def curve(results: Results, method: str) -> dict[int, Summary]:
    """Return P@1 by the number of clusters; all results are of one data set."""
    own = results.select(method=method)
    summaries = {clusters: own.select(clusters=clusters).summary("P@1") for clusters in sorted(own.names("clusters"))}
    return {clusters: summary for clusters, summary in summaries.items() if summary is not None}


def _report_data(own: Results, data: str) -> list[Block]:
    curves = {method: curve(own, method) for method in METHODS if method in own.names("method")}
    title = datasets.title(data)
    series = [
        Series(
            methods.title(method),
            list(points),
            [summary.mean for summary in points.values()],
            [summary.deviation or 0.0 for summary in points.values()],
        )
        for method, points in curves.items()
    ]
    note = (
        "One learner each, the same clusters for both. With one cluster LocalLEML is LEML. The band is one standard "
        "deviation over the starts of k-means. The paper's figure is for Wiki10."
    )
    plot = Figure(f"Figure 1 (c), {title}", f"figure1c-{data}", series, "clusters", "P@1, percent", note, x_log=True)
    counts = sorted({clusters for points in curves.values() for clusters in points})
    rows: list[list[Entry]] = [
        [count, *(Number(*points[count]) if count in points else Number(None) for points in curves.values())]
        for count in counts
    ]
    columns = ["clusters", *map(methods.title, curves)]
    return [plot, Table(f"P@1 by clusters, {title}", columns, rows, compared=range(1, len(columns)))]


EXPERIMENT = Clusters()

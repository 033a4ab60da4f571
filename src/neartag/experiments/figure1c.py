"""Figure 1 (c): P@1 of X1 and of LocalLEML with more and more clusters; one learner each, in the same clusters."""

from __future__ import annotations

from typing import Any

from neartag.evaluation.metrics import precision_at
from neartag.experiments import datasets, methods
from neartag.experiments.learners import load_parts
from neartag.experiments.plan import Cell, Plan
from neartag.experiments.report.blocks import Block, Entry, Figure, Number, Series, Table
from neartag.experiments.results import Results, Summary
from neartag.experiments.runner import Experiment, Work

METHODS = (methods.STRICT, methods.OWN, "local_leml")
# LocalLEML has the clusters of X1 (paper), learner by learner, so that only the embeddings differ.
LARGE_RANK = 500  # of LocalLEML
SAME_CLUSTERS = ("max_cluster_size", "cluster_start", "k_means")
CLUSTERS, QUICK_CLUSTERS = (1, 2, 4, 8, 16, 32, 64), (1, 2, 4, 8, 16, 32)
RUNS, LARGE_RUNS = 3, 1


class Clusters(Experiment):
    """A cell is a method with so many clusters."""

    name = "figure1c"
    title = "Figure 1 (c): more clusters"

    def __init__(self, quick_clusters: tuple[int, ...] = QUICK_CLUSTERS) -> None:
        self.quick_clusters = quick_clusters

    def cells(self, plan: Plan) -> list[Cell]:
        """Return one cell per data set, method, number of clusters and run."""
        sets = datasets.choose_all(plan.data)[: 1 if plan.quick else None]
        return [
            plan.cell(self.name, data, method, seed, clusters=clusters)
            for data in sets
            for method in METHODS
            if plan.wants(method)
            for clusters in (self.quick_clusters if plan.quick else CLUSTERS)
            for seed in plan.runs(LARGE_RUNS if datasets.is_large(data) else RUNS, quick=1)
        ]

    def settings(self, cell: Cell) -> dict[str, Any]:
        """Return the settings of X1's columns, or LEML's with the clusters of X1 (paper); one learner."""
        own = (
            local_leml_settings(cell.data)
            if cell.method == "local_leml"
            else methods.settings_for(cell.method, cell.data, large=datasets.is_large(cell.data), quick=cell.quick)
        )
        return {**own, "n_learners": 1, "n_clusters": cell.option("clusters")}

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


def local_leml_settings(data: str) -> dict[str, Any]:
    """Return LEML's settings on a data set, its rank too, for clusters made as X1 (paper) makes them.

    On a large set the rank is that of the paper's LEML on WikiLSHTC: an ensemble of a larger one would not fit.
    """
    clusters = {name: methods.paper_settings(data)[name] for name in SAME_CLUSTERS}
    rank = {"rank": LARGE_RANK} if datasets.is_large(data) else {}
    return {**methods.preset("leml", data), **clusters, **rank}


def describe_rank(data: str) -> str:
    """Say that LocalLEML's rank is not that of LEML in Table 1 (a); "" where it is the same."""
    if not datasets.is_large(data):
        return ""
    whole = methods.settings_for("leml", data, large=True).get("rank")
    return "" if whole in (None, LARGE_RANK) else f"LocalLEML's rank is {LARGE_RANK}, LEML's in Table 1 (a) {whole:,}"


def curve(results: Results, method: str, name: str = "P@1") -> dict[int, Summary]:
    """Return a precision by the number of clusters; all results are of one data set."""
    own = results.select(method=method)
    summaries = {clusters: own.select(clusters=clusters).summary(name) for clusters in sorted(own.names("clusters"))}
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
        "One learner each. LocalLEML has the same clusters as X1 (paper), and LEML's settings in each: with one "
        "cluster it is LEML. Neartag's variant makes its clusters in its own way. A band is one standard "
        "deviation over the starts of k-means, where there are several. The paper's figure is for Wiki10."
    )
    if rank := describe_rank(data):
        note += f" {rank}: so with one cluster it is not that LEML. {LARGE_RANK} is the paper's LEML's on WikiLSHTC."
    plot = Figure(f"Figure 1 (c), {title}", f"figure1c-{data}", series, "clusters", "P@1, percent", note, x_log=True)
    counts = sorted({clusters for points in curves.values() for clusters in points})
    rows: list[list[Entry]] = [
        [count, *(Number(*points[count]) if count in points else Number(None) for points in curves.values())]
        for count in counts
    ]
    columns = ["clusters", *map(methods.title, curves)]
    return [plot, Table(f"P@1 by clusters, {title}", columns, rows, compared=range(1, len(columns)))]


EXPERIMENT = Clusters()

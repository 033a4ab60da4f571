"""Section 3's timings: training a learner and predicting a point, on one core, for X1, LEML and FastXML.

Each is measured after a warm-up on a few points, so that no kernel is compiled or loaded meanwhile. X1 is also timed
with more and more clusters: its prediction time should be linear in the number of points that it searches.
"""

from __future__ import annotations

import statistics
import time
from typing import Any

import numpy as np

from neartag.experiments import datasets, methods
from neartag.experiments.datasets import Parts
from neartag.experiments.learners import load_parts
from neartag.experiments.plan import Cell, Plan
from neartag.experiments.printed import PREDICT_MILLISECONDS, TRAIN_HOURS
from neartag.experiments.report.blocks import Block, Entry, Figure, Number, Series, Table, Text
from neartag.experiments.results import Results
from neartag.experiments.runner import Experiment, Work
from neartag.linalg.rows import as_rows, normalise
from neartag.x1.kmeans import route

METHODS = ("x1", "leml", "fastxml")
CLUSTERS = (1, 2, 4, 8, 16, 32)
RUNS, REPEATS = 3, 3
WARM_UP_POINTS = 200
SINGLE_POINTS = 300  # predicted one at a time
PAPER_SET = "WikiLSHTC"
QUANTITIES = {
    "train_seconds": ("training a learner, s", 2),
    "predict_ms_a_point": ("predicting a point, all at once, ms", 4),
    "predict_ms_alone": ("predicting a point, one at a time, ms", 3),
}


class Timings(Experiment):
    """A cell is a method on a data set; those with the option `clusters` are X1's with so many."""

    name = "timings"
    title = "Section 3: timings"

    def cells(self, plan: Plan) -> list[Cell]:
        """Return one cell per method and run, and one per number of clusters."""
        sets = [*datasets.choose_small(plan.data), *datasets.choose_large(plan.data)]
        cells = [
            plan.cell(self.name, data, method, seed)
            for data in sets
            for method in METHODS
            if plan.wants(method)
            for seed in plan.runs(RUNS, quick=1)
        ]
        if plan.wants("x1"):
            cells += [plan.cell(self.name, sets[-1], "x1", clusters=count) for count in CLUSTERS]
        return cells

    def settings(self, cell: Cell) -> dict[str, Any]:
        """Return the paper's settings for X1 with one learner, and the presets of the others."""
        if not methods.find_variant(cell.method).as_paper:
            return methods.preset(cell.method, cell.data)
        large = cell.data in datasets.choose_large([cell.data])
        clusters = cell.option("clusters")
        settings = {**methods.paper_settings(cell.data, large=large, quick=cell.quick), "n_learners": 1}
        return settings if clusters is None else {**settings, "n_clusters": clusters}

    def run(self, cell: Cell, work: Work) -> dict[str, Any]:
        """Return seconds to train one learner and milliseconds to predict a point, on one core."""
        parts = load_parts(cell)
        settings, one_core = self.settings(cell), Work(1)
        few = slice(0, WARM_UP_POINTS)
        warm_up = Parts(parts.X[few], parts.Y[few], parts.X_test[few], parts.Y_test[few])
        simple = {**settings, "n_clusters": 2} if "n_clusters" in settings else settings
        _time_prediction(methods.train(cell.method, simple, warm_up, cell.seed, one_core)[0], warm_up)
        work.start(None, "training")
        classifier, cost = methods.train(cell.method, settings, parts, cell.seed, one_core)
        learners = classifier.get_params().get("trees", 1)
        work.start(None, "predicting")
        measured: dict[str, Any] = {
            "train_seconds": round(cost["train_seconds"] / learners, 5),
            "learners": learners,
            **_time_prediction(classifier, parts),
        }
        if methods.find_variant(cell.method).as_paper:
            measured["points_searched"] = round(_points_searched(classifier.model_, parts.X_test), 1)
        return measured

    def report(self, results: Results) -> list[Block]:
        """Return the table, and how X1's time grows with the points that it searches."""
        own = results.select(self.name)
        if not own:
            return []
        return [_table(own.select(clusters=None)), *_report_growth(own)]


def _time_prediction(classifier: Any, parts: Parts) -> dict[str, float]:
    """Return milliseconds per point, all at once and one at a time: the median of a few repeats."""
    batches, single = [], []
    points = min(SINGLE_POINTS, parts.X_test.shape[0])
    rows = [parts.X_test[row] for row in range(points)]
    for _ in range(REPEATS):
        start = time.perf_counter()
        classifier.predict_topk(parts.X_test, max(methods.CUTS))
        batches.append(1000 * (time.perf_counter() - start) / parts.X_test.shape[0])
        start = time.perf_counter()
        for row in rows:
            classifier.predict_topk(row, max(methods.CUTS))
        single.append(1000 * (time.perf_counter() - start) / points)
    return {
        "predict_ms_a_point": round(statistics.median(batches), 6),
        "predict_ms_alone": round(statistics.median(single), 6),
    }


def _points_searched(model: Any, X: Any) -> float:
    """Return with how many training points a test point is compared on average: the size of its cluster."""
    (learner,) = model.learners
    sizes = np.array([len(cluster.members) for cluster in learner.clusters])
    return float(sizes[route(normalise(as_rows(X)), learner.centroids)[:, 0]].mean())


def _table(own: Results) -> Table:
    shown = [method for method in METHODS if method in own.names("method")]
    rows: list[list[Entry]] = []
    for data in datasets.in_table_order(own.names("data")):
        for name, (quantity, digits) in QUANTITIES.items():
            numbers = []
            for method in shown:
                summary = own.select(data=data, method=method).summary(name)
                numbers.append(Number(*summary, digits=digits) if summary else Number(None))
            rows.append([datasets.title(data), quantity, *numbers])
    printed = f"{PAPER_SET}, the paper's machine"
    hours = [TRAIN_HOURS[method] / (50 if method == "fastxml" else 1) for method in shown]
    rows.append([printed, "training a learner, hours", *(Number(None, printed=value) for value in hours)])
    waits = [PREDICT_MILLISECONDS[method] for method in shown]
    rows.append([printed, "predicting a point, ms", *(Number(None, printed=value) for value in waits)])
    headings = ["data set", "", *map(methods.title, shown)]
    note = (
        "On one core. A learner is one clustering of X1, all of LEML, and one tree of FastXML, which predicts with "
        "all its trees; the paper's 13 hours are for 50 trees."
    )
    return Table("Time per learner and per point", headings, rows, note, range(2, len(headings)), best="smallest")


def _report_growth(own: Results) -> list[Block]:
    measurements = sorted(
        (measured["points_searched"], measured["predict_ms_alone"], measured["predict_ms_a_point"], cell.data)
        for cell, measured in own.items()
        if cell.option("clusters") is not None
    )
    if len(measurements) < 3:
        return []
    sizes, alone, batch = (np.array(column, dtype=float) for column in list(zip(*measurements, strict=True))[:3])
    slope, start = np.polyfit(sizes, alone, 1)
    fit = float(np.corrcoef(sizes, alone)[0, 1] ** 2)
    ends = np.array([sizes.min(), sizes.max()])
    data = datasets.title(measurements[0][3])
    series = [
        Series("one at a time", sizes, alone),
        Series("all at once", sizes, batch),
        Series("straight line through the first", ends, start + slope * ends, style="dashed"),
    ]
    return [
        Figure(
            f"X1's prediction time against the points that it searches, {data}",
            "timings-clusters",
            series,
            "training points in the test point's cluster, on average",
            "ms per point",
        ),
        Text(
            [
                f"One learner with {', '.join(map(str, CLUSTERS))} clusters: a straight line explains "
                f"{100 * fit:.1f}% of the variance of the time of single points: {start:.3f} ms, and "
                f"{1000 * slope:.3f} ms for each thousand points searched."
            ]
        ),
    ]


EXPERIMENT = Timings()

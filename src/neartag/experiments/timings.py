"""Section 3's timings: training a learner and predicting a point, on one core, for X1, LEML and FastXML.

Each is measured after a rehearsal on a few points, so that no kernel is compiled or loaded meanwhile. X1 is also timed
with more and more clusters: its prediction should take a time linear in the points that it searches.
"""

from __future__ import annotations

import statistics
import time
from typing import Any

import numpy as np

from neartag.experiments import datasets, methods
from neartag.experiments.blocks import Block, Entry, Figure, Number, Series, Table, Text
from neartag.experiments.datasets import Parts
from neartag.experiments.printed import PREDICT_MILLISECONDS, TRAIN_HOURS
from neartag.experiments.runner import Cell, Experiment, Plan, Results, Work
from neartag.linalg.rows import as_rows, normalise
from neartag.x1.kmeans import route

METHODS = ("x1", "leml", "fastxml")
CLUSTERS = (1, 2, 4, 8, 16, 32)
RUNS, REPEATS = 3, 3
REHEARSED = 200  # points
ALONE = 300  # points predicted one at a time
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
        """Return a cell a method and run, and one for each number of clusters."""
        sets = [*datasets.small(plan.data), *datasets.large(plan.data)]
        found = [
            plan.cell(self.name, data, method, seed)
            for data in sets
            for method in METHODS
            if plan.wants(method)
            for seed in plan.runs(RUNS, quick=1)
        ]
        if plan.wants("x1"):
            found += [plan.cell(self.name, sets[-1], "x1", clusters=count) for count in CLUSTERS]
        return found

    def settings(self, cell: Cell) -> dict[str, Any]:
        """Return the paper's settings for X1 with one learner, the preset's for the others."""
        if cell.method != "x1":
            return methods.preset(cell.method, cell.data)
        large = cell.data in datasets.large([cell.data])
        clusters = cell.option("clusters")
        settings = {**methods.paper_settings(cell.data, large=large), "n_learners": 1}
        return settings if clusters is None else {**settings, "n_clusters": clusters}

    def run(self, cell: Cell, work: Work) -> dict[str, Any]:
        """Return seconds to train one learner and milliseconds to predict a point, on one core."""
        parts = datasets.split(cell.data, 0, quick=True) if cell.quick else datasets.official(cell.data)
        settings, alone = self.settings(cell), Work(1)
        few = slice(0, REHEARSED)
        rehearsal = Parts(parts.X[few], parts.Y[few], parts.X_test[few], parts.Y_test[few])
        simple = {**settings, "n_clusters": 2} if cell.method == "x1" else settings
        _predict(methods.train(cell.method, simple, rehearsal, cell.seed, alone)[0], rehearsal)
        work.start(None, "training")
        classifier, cost = methods.train(cell.method, settings, parts, cell.seed, alone)
        learners = {"x1": 1, "leml": 1, "fastxml": classifier.get_params().get("trees", 1)}[cell.method]
        work.start(None, "predicting")
        found: dict[str, Any] = {
            "train_seconds": round(cost["train_seconds"] / learners, 5),
            "learners": learners,
            **_predict(classifier, parts),
        }
        if cell.method == "x1":
            found["points_searched"] = round(_points_searched(classifier.model_, parts.X_test), 1)
        return found

    def report(self, results: Results) -> list[Block]:
        """Return the table, and how X1's time grows with the points that it searches."""
        found = results.select(self.name)
        if not found:
            return []
        return [_table(found.select(clusters=None)), *_growth(found)]


def _predict(classifier: Any, parts: Parts) -> dict[str, float]:
    """Return milliseconds a point, all at once and one at a time: the median of some tries."""
    batches, single = [], []
    points = min(ALONE, parts.X_test.shape[0])
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
    """Return how many training points a test point is compared with on average: the size of its cluster."""
    (learner,) = model.learners
    sizes = np.array([len(cluster.members) for cluster in learner.clusters])
    return float(sizes[route(normalise(as_rows(X)), learner.centroids)[:, 0]].mean())


def _table(found: Results) -> Table:
    shown = [method for method in METHODS if method in found.names("method")]
    rows: list[list[Entry]] = []
    for data in datasets.ordered(found.names("data")):
        for name, (words, digits) in QUANTITIES.items():
            numbers = []
            for method in shown:
                summary = found.select(data=data, method=method).summary(name)
                numbers.append(Number(*summary, digits=digits) if summary else Number(None))
            rows.append([datasets.title(data), words, *numbers])
    printed = f"{PAPER_SET}, the paper's machine"
    hours = [TRAIN_HOURS[method] / (50 if method == "fastxml" else 1) for method in shown]
    rows.append([printed, "training a learner, hours", *(Number(None, printed=value) for value in hours)])
    waits = [PREDICT_MILLISECONDS[method] for method in shown]
    rows.append([printed, "predicting a point, ms", *(Number(None, printed=value) for value in waits)])
    headings = ["data set", "", *map(methods.title, shown)]
    note = (
        "On one core. A learner is one clustering of X1, the whole of LEML, and one tree of FastXML, which answers "
        "with all its trees; the paper's 13 hours are for 50 trees."
    )
    return Table("Time a learner, and a point", headings, rows, note, range(2, len(headings)), best="smallest")


def _growth(found: Results) -> list[Block]:
    counted = sorted(
        (measured["points_searched"], measured["predict_ms_alone"], measured["predict_ms_a_point"], cell.data)
        for cell, measured in found.items()
        if cell.option("clusters") is not None
    )
    if len(counted) < 3:
        return []
    sizes, alone, batch = (np.array(column, dtype=float) for column in list(zip(*counted, strict=True))[:3])
    slope, start = np.polyfit(sizes, alone, 1)
    fit = float(np.corrcoef(sizes, alone)[0, 1] ** 2)
    ends = np.array([sizes.min(), sizes.max()])
    data = datasets.title(counted[0][3])
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
            "ms a point",
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

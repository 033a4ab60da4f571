"""Section 3's timings: training a learner and predicting a point, on one core, for X1, LEML and FastXML.

Each is measured after a warm-up on a few points, so that no kernel is compiled or loaded meanwhile. X1 is also timed
with more and more clusters: its prediction time should be linear in the number of points that it searches.
"""

from __future__ import annotations

import statistics
import time
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import linregress

from neartag.experiments import datasets, methods
from neartag.experiments.datasets import Parts
from neartag.experiments.learners import load_parts
from neartag.experiments.plan import Cell, Plan
from neartag.experiments.printed import PREDICT_MILLISECONDS, TRAIN_HOURS
from neartag.experiments.report.blocks import Block, Entry, Figure, Number, Series, Table, Text
from neartag.experiments.results import Results, warn_of_machines
from neartag.experiments.runner import Experiment, Work
from neartag.linalg.rows import as_rows, normalise
from neartag.x1.centroids import route

METHODS = (*methods.X1_COLUMNS, "leml", "fastxml")
CLUSTERS = (1, 2, 4, 8, 16, 32)
RUNS, REPEATS = 3, 3
WARM_UP_POINTS = 200
# Where only the clusters matter SVP makes few steps: to convergence one cluster of a large set would take hours.
FEW_SVP_STEPS = 3
SINGLE_POINTS = 300  # predicted one at a time
PAPER_SET = "WikiLSHTC"
MAX_CHANCE = 0.05  # that a slope is chance
PREDICTION_TIMES = {"predict_ms_alone": "one at a time", "predict_ms_a_point": "all at once"}
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
        sets = datasets.choose_all(plan.data)
        cells = [
            plan.cell(self.name, data, method, seed)
            for data in sets
            for method in METHODS
            if plan.wants(method)
            for seed in plan.runs(RUNS, quick=1)
        ]
        if plan.wants(methods.STRICT):
            # The last of the small sets, which has the most labels, and each of the large ones.
            small = [data for data in sets if not datasets.is_large(data)]
            for data in [*small[-1:], *sets[len(small) :]]:
                cells += [plan.cell(self.name, data, methods.STRICT, clusters=count) for count in CLUSTERS]
        return cells

    def settings(self, cell: Cell) -> dict[str, Any]:
        """Return the settings of each column; X1 (paper) and neartag's variant have one learner."""
        settings = methods.settings_for(cell.method, cell.data, large=datasets.is_large(cell.data), quick=cell.quick)
        if cell.method not in (methods.STRICT, methods.OWN):
            return settings
        clusters = cell.option("clusters")
        grown = {} if clusters is None else {"n_clusters": clusters, "svp_max_iter": FEW_SVP_STEPS}
        return {**settings, "n_learners": 1, **grown}

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
        if cell.method == methods.STRICT:
            measured["points_searched"] = round(_points_searched(classifier.model_, parts.X_test), 1)
        return measured

    def report(self, results: Results) -> list[Block]:
        """Return the table, and how X1's time grows with the points that it searches."""
        own = results.select(self.name)
        if not own:
            return []
        blocks: list[Block] = [_table(own.select(clusters=None))]
        for data in datasets.in_table_order(own.names("data")):
            blocks += _report_growth(own.select(data=data), data)
        return blocks


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
    training = "training a learner, or all trees of FastXML, hours"
    for quantity, values in ((training, TRAIN_HOURS), ("predicting a point, ms", PREDICT_MILLISECONDS)):
        rows.append([printed, quantity, *(Number(None, printed=values.get(method)) for method in shown)])
    headings = ["data set", "", *map(methods.title, shown)]
    note = (
        "On one core. A learner is one clustering of X1 (paper) and of neartag's variant, all of refined and of LEML, "
        "and one tree of FastXML. X1 (paper) and the variant predict with that one learner here, FastXML with all its "
        "50 trees: Table 1 (a) has the times of whole ensembles. The paper's 8 ms are, by its Section 1, of a "
        "precision that only the ensemble has. Its LEML has L̂ = 500, and was stopped early."
    )
    note += warn_of_machines(own)
    return Table("Time per learner and per point", headings, rows, note)  # unlike things: none of them is the best


class Growth(NamedTuple):
    """How the time of a point grows with the points that are searched: a straight line, and how well it fits."""

    sizes: np.ndarray
    times: np.ndarray  # ms per point
    start: float  # ms
    slope: float  # ms for each point searched
    explained: float  # share of the variance
    rises: bool  # whether the slope is above zero beyond chance

    def describe(self) -> str:
        """Return the line for people."""
        return (
            f"a straight line explains {100 * self.explained:.1f}% of the variance: {self.start:.3f} ms, and "
            f"{1000 * self.slope:.3f} ms for each thousand points searched"
        )


def growth(own: Results, quantity: str) -> Growth | None:
    """Return the line through the measurements of one data set with more and more clusters; None if they are few."""
    measurements = sorted(
        (measured["points_searched"], measured[quantity])
        for cell, measured in own.items()
        if cell.option("clusters") is not None and cell.method == methods.STRICT
    )
    if len(measurements) < 3:
        return None
    sizes, times = np.array(measurements, dtype=float).T
    line = linregress(sizes, times)
    rises = bool(line.slope > 0 and line.pvalue < MAX_CHANCE)
    return Growth(sizes, times, float(line.intercept), float(line.slope), float(line.rvalue**2), rises)


def _report_growth(own: Results, data: str) -> list[Block]:
    series, words = [], []
    for quantity, kind in PREDICTION_TIMES.items():
        line = growth(own, quantity)
        if line is None:
            return []
        ends = np.array([line.sizes.min(), line.sizes.max()])
        series += [
            Series(kind, line.sizes, line.times),
            Series(f"straight line, {kind}", ends, line.start + line.slope * ends, style="dashed"),
        ]
        words.append(f"{kind}, {line.describe()}")
    measured = {cell.option("clusters") for cell in own if cell.method == methods.STRICT}
    counts = ", ".join(str(count) for count in CLUSTERS if count in measured)
    return [
        Figure(
            f"X1's prediction time against the points that it searches, {datasets.title(data)}",
            f"timings-clusters-{data}",
            series,
            "training points in the test point's cluster, on average",
            "ms per point",
            f"One learner of X1 (paper) with {counts} clusters. SVP makes {FEW_SVP_STEPS} steps here: how many does "
            "not change the time of a prediction.",
        ),
        Text([f"{datasets.title(data)}, {counts} clusters: {'; '.join(words)}."]),
    ]


EXPERIMENT = Timings()

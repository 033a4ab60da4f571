"""Figure 1 (a): how well labels are approximated in few dimensions, by a global SVD, an SVD per cluster, and X1.

The paper compares, at equal L̂, the share of ‖Y‖² that a global SVD and an SVD in each cluster leave, and X1's own
‖P_Ω(YᵀY − M)‖²/‖P_Ω(YᵀY)‖². Two comparisons are fairer. C clusters of rank L̂ store more numbers than one matrix of that
rank, because a label in several clusters has a vector in each: so there is a curve at equal stored numbers. And X1's
target is another one: so there is the error that an SVD in each cluster leaves of the same YᵀY on the same Ω.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from neartag.core.threads import resolve_jobs, single_threaded_blas
from neartag.experiments import datasets, methods
from neartag.experiments.approximation import error_of_svd, error_of_target_svd, error_of_x1
from neartag.experiments.learners import clusters_for, load_parts
from neartag.experiments.plan import Cell, Plan
from neartag.experiments.report.blocks import Block, Entry, Figure, Number, Series, Table
from neartag.experiments.results import Results
from neartag.experiments.runner import Experiment, Work
from neartag.linalg.rows import as_rows, normalise
from neartag.x1.cluster_training import make_partition
from neartag.x1.settings import X1Settings

# From so many labels on the paper's dimensions; else these shares of the labels.
DIMENSIONS, MIN_LABELS_FOR_DIMENSIONS = (100, 200, 300, 400, 500), 600
SHARES, QUICK_SHARES = (0.1, 0.2, 0.4, 0.6, 0.8), (0.1, 0.3, 0.5, 0.8)
# SVP ends when a step lowers the error by less than this share of it, ten times less than in X1 (paper): here the error
# itself is shown. Or after so many steps; fewer on large sets, where they take hours, and on a sample.
SVP_TOL, SVP_STEPS, LARGE_SVP_STEPS, QUICK_SVP_STEPS = 1e-3, 1000, 100, 20
MAX_LINEAR_RATIO = 100  # of the values of a plot; from here on its axis is logarithmic
CURVES = {
    "svd": ("global", "global SVD"),
    "svd-local": ("equal_rank", "SVD in each cluster, equal L̂"),
    "svd-stored": ("equal_stored", "SVD in each cluster, equal stored numbers"),
    "svd-target": ("same_target", "SVD in each cluster, of YᵀY on Ω"),
    "x1": ("x1", "X1's objective, YᵀY on Ω"),
}
METHODS = ("svd", "svd-target", "x1")
# What all curves share with X1 (paper).
SHARED_SETTINGS = ("cluster_start", "k_means", "max_cluster_size", "svp_neighbours", "label_similarity")


class Approximation(Experiment):
    """A cell is the SVDs of a data set's labels, those of X1's target, or X1 on it."""

    name = "figure1a"
    title = "Figure 1 (a): approximating the labels"

    def cells(self, plan: Plan) -> list[Cell]:
        """Return one cell for each data set and kind of approximation."""
        sets = datasets.choose_all(plan.data)[: 1 if plan.quick else None]
        wanted = METHODS if plan.wants("x1") else ("svd",)
        return [plan.cell(self.name, data, method) for data in sets for method in wanted]

    def settings(self, cell: Cell) -> dict[str, Any]:
        """Return the settings of X1 (paper) that define clusters and Ω, and how long SVP runs."""
        own = methods.paper_settings(cell.data)
        shared = {name: own[name] for name in SHARED_SETTINGS}
        if cell.method == "svd":
            del shared["svp_neighbours"], shared["label_similarity"]
        if cell.method != "x1":
            return shared
        steps = LARGE_SVP_STEPS if datasets.is_large(cell.data) else SVP_STEPS
        svp_settings = {"svp_max_iter": QUICK_SVP_STEPS if cell.quick else steps, "svp_tol": SVP_TOL}
        # Steps along the tangent end at the same error in half the time; where they diverge, whole ones are made.
        return {**shared, "svp_step": own["svp_step"], "svp_projection": "tangent", **svp_settings}

    def probe(self, cell: Cell) -> str:
        """Return X1 with the paper's settings and with steps along the tangent; both are in what is measured."""
        return "x1-ladder"

    def run(self, cell: Cell, work: Work) -> dict[str, Any]:
        """Return what the SVDs leave of the labels at each dimension, or what X1 leaves of its graph."""
        parts = load_parts(cell)
        given = {**methods.VOTES_ALONE, **self.settings(cell), "n_clusters": clusters_for(parts.X.shape[0])}
        settings = X1Settings.from_parameters(given)
        threads = resolve_jobs(work.jobs)
        dims = dimensions(parts.Y.shape[1], QUICK_SHARES if cell.quick else SHARES)
        assignment = make_partition(normalise(as_rows(parts.X)), settings.clusters, cell.seed, threads).assignment
        clusters = [np.flatnonzero(assignment == cluster) for cluster in range(int(assignment.max()) + 1)]
        facts = {"dimensions": dims, "clusters": len(clusters)}
        with single_threaded_blas():
            if cell.method == "svd":
                return {**facts, **error_of_svd(parts.Y, clusters, dims, work)}
            if cell.method == "svd-target":
                return {**facts, "same_target": error_of_target_svd(parts.Y, clusters, dims, settings.svp, work)}
            return {**facts, **error_of_x1(parts.Y, clusters, dims, settings.svp, work)}

    def report(self, results: Results) -> list[Block]:
        """Return a plot and a table of each data set."""
        own = results.select(self.name)
        return [
            block
            for data in datasets.in_table_order(own.names("data"))
            for block in _report_data(own.select(data=data), data)
        ]


def dimensions(labels: int, shares: tuple[float, ...]) -> list[int]:
    """Return the values of L̂ for so many labels."""
    if labels >= MIN_LABELS_FOR_DIMENSIONS:
        return list(DIMENSIONS)
    return [max(1, round(share * labels)) for share in shares]


def _report_data(own: Results, data: str) -> list[Block]:
    """Return the plot of a data set, and the same as a table."""
    curves: dict[str, list[float]] = {}
    steps: dict[int, tuple[int, float]] = {}
    for measured in own.values():
        dims, clusters = measured["dimensions"], measured["clusters"]
        curves |= {curve: measured[name] for curve, (name, _) in CURVES.items() if name in measured}
        if "steps" in measured:
            steps = dict(zip(dims, zip(measured["steps"], measured["last_falls"], strict=True), strict=True))
    if not curves:
        return []
    shown = [curve for curve in CURVES if curve in curves]
    series = [Series(CURVES[curve][1], dims, [100 * value for value in curves[curve]]) for curve in shown]
    rows: list[list[Entry]] = []
    for place, dim in enumerate(dims):
        numbers = [Number(100 * curves[curve][place], digits=4) for curve in shown]
        ended = [f"{steps[dim][0]} ({100 * steps[dim][1]:.2f}%)"] if steps else []
        rows.append([dim, *numbers, *ended])
    note = (
        f"Percent left unexplained, {clusters} clusters by the k-means of X1 (paper). The first three curves are of Y, "
        "the others of YᵀY on the pairs of label neighbours Ω: another and easier target, since the other pairs need "
        "not be kept. Equal stored numbers: as many in all clusters together as the global SVD has, spent where "
        "they explain most. The SVD of YᵀY is the best matrix of its rank for all pairs, not only for those in Ω. A "
        "matrix of that rank that is at least as good on Ω exists therefore; where X1's curve is higher, SVP has not "
        "found it."
    )
    if "x1" not in curves:
        note += " X1 (paper) is not measured on this set."
    title = datasets.title(data)
    plot = Figure(
        f"Figure 1 (a), {title}", f"figure1a-{data}", series, "dimension L̂", "percent left", note, y_log=_spans(series)
    )
    headings = ["L̂", *(CURVES[curve][1] for curve in shown), *(["steps of SVP (last fall)"] if steps else [])]
    table_note = (
        "Steps: the most in any cluster; beside it, by what share of itself the last step lowered the error. SVP goes "
        f"along the tangent here, until a step lowers the error by less than {SVP_TOL:.1%} (X1 (paper): 1%), for at "
        f"most {SVP_STEPS:,} steps, {LARGE_SVP_STEPS} on a large set."
    )
    return [plot, Table(f"Figure 1 (a) in numbers, {title}", headings, rows, table_note if steps else "")]


def _spans(series: list[Series]) -> bool:
    """Return whether the values are so far apart, and all positive, that only a logarithmic axis shows them."""
    values = np.concatenate([np.asarray(each.y, dtype=float) for each in series])
    return bool(values.min() > 0 and values.max() / values.min() > MAX_LINEAR_RATIO)


EXPERIMENT = Approximation()

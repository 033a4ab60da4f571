"""Figure 1 (a): how well labels are approximated in few dimensions, by a global SVD, an SVD per cluster, and X1.

The paper compares, at equal L̂, the share of ‖Y‖² that a global SVD and an SVD in each cluster leave, and X1's own
‖P_Ω(YᵀY − M)‖²/‖P_Ω(YᵀY)‖². But C clusters of rank L̂ store more numbers than one matrix of that rank, because a label
in several clusters has a vector in each. The fair comparison is at equal stored numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import eigvalsh
from scipy.sparse import csr_matrix
from scipy.sparse.linalg import svds

from neartag.core.threads import resolve_jobs, single_threaded_blas
from neartag.experiments import datasets, methods
from neartag.experiments.learners import clusters_for, load_parts
from neartag.experiments.plan import Cell, Plan
from neartag.experiments.report.blocks import Block, Entry, Figure, Number, Series, Table
from neartag.experiments.results import Results
from neartag.experiments.runner import Experiment, Work
from neartag.linalg.rows import as_rows, normalise
from neartag.x1.cluster_training import make_partition
from neartag.x1.label_graph import neighbour_graph
from neartag.x1.settings import SVPSettings, X1Settings
from neartag.x1.svp import svp

# From so many labels on the paper's dimensions; else these shares of the labels.
DIMENSIONS, MIN_LABELS_FOR_DIMENSIONS = (100, 200, 300, 400, 500), 600
SHARES, QUICK_SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8), (0.1, 0.3, 0.5, 0.8)
SVP_STEPS, QUICK_SVP_STEPS = 30, 10  # until it hardly changes; fewer on a sample
# Up to this number of rows or columns the whole spectrum is computed; above it only as much as is asked for.
MAX_DENSE_SIDE = 4000
CURVES = {
    "svd": ("global", "global SVD"),
    "svd-local": ("equal_rank", "SVD in each cluster, equal L̂"),
    "svd-stored": ("equal_stored", "SVD in each cluster, equal stored numbers"),
    "x1": ("x1", "X1: ‖P_Ω(YᵀY − M)‖²/‖P_Ω(YᵀY)‖²"),
}


class Approximation(Experiment):
    """A cell is the SVDs of a data set, or X1 on it."""

    name = "figure1a"
    title = "Figure 1 (a): approximating the labels"

    def cells(self, plan: Plan) -> list[Cell]:
        """Return one cell for the SVDs of each data set and one for X1."""
        sets = [*datasets.choose_small(plan.data), *datasets.choose_large(plan.data)][: 1 if plan.quick else None]
        wanted = ("svd", "x1") if plan.wants("x1") else ("svd",)
        return [plan.cell(self.name, data, method) for data in sets for method in wanted]

    def settings(self, cell: Cell) -> dict[str, Any]:
        """Return X1's settings with the paper's inner products; they also define the clusters of the SVDs."""
        fixed = {"label_similarity": "inner", "svp_max_iter": QUICK_SVP_STEPS if cell.quick else SVP_STEPS}
        return {**methods.paper_settings(cell.data), **fixed}

    def probe(self, cell: Cell) -> str:
        """Return the paper's X1, whose steps are measured."""
        return "x1-paper"

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
            return {**facts, "x1": error_of_x1(parts.Y, clusters, dims, settings.svp, work)}

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


def squared_singular_values(Y: csr_matrix, count: int, max_dense_side: int = MAX_DENSE_SIDE) -> np.ndarray:
    """Return the largest squared singular values of Y, largest first: `count` of them, or as many as there are."""
    Y = csr_matrix(Y, dtype=np.float64)
    Y = Y[np.diff(Y.indptr) > 0][:, np.unique(Y.indices)]
    side = min(Y.shape)
    if side == 0:
        return np.zeros(0)
    if side > max_dense_side and count < side - 1:
        start = np.random.default_rng(0).standard_normal(side)
        return np.sort(svds(Y, count, v0=start, return_singular_vectors=False))[::-1] ** 2
    gram = (Y.T @ Y if Y.shape[1] == side else Y @ Y.T).toarray()  # (side, side)
    return np.maximum(eigvalsh(gram)[::-1], 0)[:count]


def error_of_svd(Y: csr_matrix, clusters: list[np.ndarray], dims: list[int], work: Work) -> dict[str, list[float]]:
    """Return the share of ‖Y‖² left at each L̂: globally, with rank L̂ in each cluster, and at equal stored numbers.

    A direction of a cluster stores one number for each of its points and labels. Among the directions of all clusters
    those that explain most per number are taken, until they store as many numbers as the global SVD.
    """
    whole, largest = float(Y.nnz), max(dims)
    labels = len(np.unique(Y.indices))
    with work.start(len(clusters) + 1, "spectra"):
        global_spectrum = squared_singular_values(Y, largest)
        work.advance()
        spectra, prices = [], []
        for members in clusters:
            inside = Y[members]
            count = Y.shape[1] if min(inside.shape) <= MAX_DENSE_SIDE else largest
            spectra.append(squared_singular_values(inside, count))
            prices.append(np.full(len(spectra[-1]), len(members) + len(np.unique(inside.indices))))
            work.advance()
    gains, costs = np.concatenate(spectra), np.concatenate(prices)
    order = np.argsort(-gains / costs, kind="stable")
    explained, stored = np.cumsum(gains[order]), np.cumsum(costs[order])
    kept: dict[str, list[float]] = {"global": [], "equal_rank": [], "equal_stored": []}
    for dim in dims:
        affordable = int(np.searchsorted(stored, dim * (Y.shape[0] + labels), side="right"))
        kept["global"].append(global_spectrum[:dim].sum())
        kept["equal_rank"].append(sum(spectrum[:dim].sum() for spectrum in spectra))
        kept["equal_stored"].append(explained[affordable - 1] if affordable else 0.0)
    return {name: [max(0.0, 1 - float(value) / whole) for value in values] for name, values in kept.items()}


def error_of_x1(
    Y: csr_matrix, clusters: list[np.ndarray], dims: list[int], settings: SVPSettings, work: Work
) -> list[float]:
    """Return ‖P_Ω(YᵀY − M)‖²/‖P_Ω(YᵀY)‖² over all clusters at each L̂, M of that rank in each cluster."""
    threads = resolve_jobs(work.jobs)
    left, whole = np.zeros(len(dims)), 0.0
    with work.start(len(clusters) * len(dims), "SVP"):
        for members in clusters:
            graph = neighbour_graph(Y[members], settings.neighbours, similarity=settings.similarity, threads=threads)
            own = float(np.dot(graph.data, graph.data.astype(np.float64)))
            whole += own
            for place, dim in enumerate(dims):
                steps = int(settings.max_iter)
                solution = svp(graph, dim, step=settings.step, max_iter=steps, tol=settings.tol, threads=threads)
                left[place] += solution.objective[-1] if solution.objective else own
                work.advance()
    return [float(value) for value in left / max(whole, 1e-300)]


def _report_data(own: Results, data: str) -> list[Block]:
    """Return the plot of a data set, and the same as a table."""
    curves: dict[str, list[float]] = {}
    for measured in own.values():
        dims, clusters = measured["dimensions"], measured["clusters"]
        curves |= {curve: measured[name] for curve, (name, _) in CURVES.items() if name in measured}
    if not curves:
        return []
    shown = [curve for curve in CURVES if curve in curves]
    series = [Series(CURVES[curve][1], dims, [100 * value for value in curves[curve]]) for curve in shown]
    rows: list[list[Entry]] = [
        [dim, *(Number(100 * curves[curve][place]) for curve in shown)] for place, dim in enumerate(dims)
    ]
    note = (
        f"Percent left unexplained, {clusters} clusters by X1's k-means. The SVDs are of Y, X1's error is of YᵀY on "
        "the pairs of label neighbours: a different and easier target, as X1 need not keep the others. Equal stored "
        "numbers: as many in all clusters together as the global SVD has, spent where they explain most."
    )
    title = datasets.title(data)
    plot = Figure(f"Figure 1 (a), {title}", f"figure1a-{data}", series, "dimension L̂", "percent left", note)
    return [plot, Table(f"Figure 1 (a) in numbers, {title}", ["L̂", *(CURVES[curve][1] for curve in shown)], rows)]


EXPERIMENT = Approximation()

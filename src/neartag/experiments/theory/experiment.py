"""Section 2's theory: the bounds of both theorems beside measured losses, of X1's A = VᵀV and of eq. 3's minimiser.

A draw is a random order of a data set's points. The first are held out; the next n are learned from, for each n of a
grid; more than the largest n give the reference A*, which stands for the best matrix there is.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from neartag.core.threads import resolve_jobs
from neartag.experiments import datasets, methods
from neartag.experiments.plan import Cell, Plan
from neartag.experiments.report.blocks import Block, Text
from neartag.experiments.results import Results
from neartag.experiments.runner import Experiment, Work
from neartag.experiments.theory import bounds
from neartag.experiments.theory.pairs import (
    Pairs,
    joint_minimiser,
    largest_inner,
    norms,
    pairs_between,
    pairs_within,
    threshold_for,
)
from neartag.experiments.theory.report import introduction, report_data
from neartag.linalg.products import matmul
from neartag.linalg.rows import Rows, normalise, select_columns
from neartag.x1.cluster_training import train_cluster
from neartag.x1.resolve import DataFacts, resolve
from neartag.x1.settings import X1Settings

METHODS = ("x1", "x1-joint")
DRAWS = 10
# Points learned from; points held out, a quarter of a small set.
SIZES, QUICK_SIZES = (50, 100, 200, 400, 800, 1600, 3200), (25, 50, 100, 200, 400, 800)
HELD_OUT = 2000
# A* is learned from twice the largest number of points, or at least 1.5 times as many.
REFERENCE_FACTOR, MIN_REFERENCE_FACTOR = 2, 1.5
# Share of the pairs that count as neighbours, at most: X1 keeps as many neighbours per point, and τ follows from it.
NEIGHBOUR_SHARE = 1 / 16
# The bound does not depend on the dimension; this one makes the descent on eq. 3 quick.
DIMENSION = 50
# λ of eq. 3 divided by n(n − 1), as a share of the loss of A = 0: about where the held-out loss is smallest on BibTeX
# and the embedded corpus.
PENALTY_SHARE = 1e-4
DESCENT_STEPS, QUICK_DESCENT_STEPS = 100, 30  # on eq. 3, at most
POPULATION_POINTS = 3000  # on which τ and the loss of A = 0 are measured


class Sample(NamedTuple):
    """Feature rows and label rows of some points."""

    X: Rows
    Y: csr_matrix

    def take_unit(self, rows: np.ndarray) -> Sample:
        """Return some of the points, with feature rows of unit length."""
        return Sample(normalise(self.X[rows]), self.Y[rows])


class Theory(Experiment):
    """Bounds beside measured losses."""

    name = "theory"
    title = "Section 2: the excess-risk bounds"

    def cells(self, plan: Plan) -> list[Cell]:
        """Return one cell per data set, way to learn A, and draw."""
        data = datasets.choose_small(plan.data)[: 1 if plan.quick else None]
        wanted = [method for method in METHODS if plan.wants(method)]
        return [
            plan.cell(self.name, name, method, seed)
            for name in data
            for method in wanted
            for seed in plan.runs(DRAWS, DRAWS)
        ]

    def settings(self, cell: Cell) -> dict[str, Any]:
        """Return X1's settings, and those of the losses."""
        x1 = {**methods.variant_settings(cell.data), "n_clusters": 1, "embedding_dim": DIMENSION}
        x1 |= {"label_similarity": "inner", "l1": 0.0, "keep_weights": 1.0}
        sizes, steps = (QUICK_SIZES, QUICK_DESCENT_STEPS) if cell.quick else (SIZES, DESCENT_STEPS)
        joint = {"penalty_share": PENALTY_SHARE, "steps": steps} if cell.method == "x1-joint" else {}
        return {"x1": x1, "sizes": list(sizes), "held_out": HELD_OUT, "neighbour_share": NEIGHBOUR_SHARE, **joint}

    def probe(self, cell: Cell) -> str:
        """Return X1 with the paper's settings and with neartag's, of which the theory's X1 has some of each."""
        return "x1-ladder"

    def run(self, cell: Cell, work: Work) -> dict[str, Any]:
        """Return the losses, norms and traces of A at each size, and of A*."""
        points = Sample(*datasets.load(cell.data))
        return measure(points, _population(cell.data), self.settings(cell), cell.seed, work)

    def report(self, results: Results) -> list[Block]:
        """Return tables and figures of each data set, and what had to be corrected."""
        own = results.select(self.name)
        if not own:
            return []
        blocks: list[Block] = [Text(introduction())]
        for data in own.names("data"):
            blocks += report_data(own.select(data=data), datasets.title(data), data)
        return [*blocks, Text(bounds.SLIPS, "What was corrected in the paper's proofs", as_list=True)]


def measure(points: Sample, population: Population, settings: dict[str, Any], seed: int, work: Work) -> dict[str, Any]:
    """Return the losses of one draw."""
    threshold, penalty = population.threshold, population.empty_loss * settings.get("penalty_share", 0.0)
    order = np.random.default_rng([1, seed]).permutation(points.Y.shape[0])
    count = min(settings["held_out"], len(order) // 4)
    held, rest = points.take_unit(order[:count]), order[count:]
    sizes = [size for size in settings["sizes"] if MIN_REFERENCE_FACTOR * size <= len(rest)]
    most = min(REFERENCE_FACTOR * sizes[-1], len(rest))
    new = pairs_within(held.Y, threshold)
    threads = resolve_jobs(work.jobs)
    work.start(len(sizes) + 1, "learning A")
    best = _Matrix.learn(points.take_unit(rest[:most]), threshold, penalty, settings, seed, threads)
    work.advance()
    rows = []
    for size in sizes:
        drawn = points.take_unit(rest[:size])
        within, between = pairs_within(drawn.Y, threshold), pairs_between(drawn.Y, held.Y, threshold)
        matrix = _Matrix.learn(drawn, threshold, penalty, settings, seed, threads)
        losses = matrix.losses(drawn, held, within, new, between)
        best_losses = best.losses(drawn, held, within, new, between)
        rows.append({"n": size, **losses, "empty_train": within.empty_loss, "reference": best_losses})
        work.advance()
    return {
        "threshold": threshold,
        "largest": population.largest,
        "share": new.products.nnz / new.count,
        "empty_loss": new.empty_loss,  # L(0)
        "penalty": penalty,
        "held_out_points": count,
        "reference_points": most,
        "sizes": rows,
    }


class Population(NamedTuple):
    """What is fixed for a data set before any points are drawn."""

    threshold: int  # τ
    largest: float  # B
    empty_loss: float  # of A = 0

    @classmethod
    def of(cls, Y: csr_matrix, share: float) -> Population:
        """Return the population of label rows; at most this share of the pairs counts."""
        some = Y[np.random.default_rng(0).permutation(Y.shape[0])[:POPULATION_POINTS]]
        threshold = threshold_for(some, share)
        return cls(threshold, largest_inner(Y), pairs_within(some, threshold).empty_loss)


@lru_cache(maxsize=8)
def _population(data: str) -> Population:
    return Population.of(datasets.load(data)[1], NEIGHBOUR_SHARE)


class _Matrix(NamedTuple):
    """A = VᵀV of one cluster, for the features that its points have."""

    weights: np.ndarray  # Vᵀ (features, dim)
    features: np.ndarray | None  # None: all

    @classmethod
    def learn(
        cls, drawn: Sample, threshold: int, penalty: float, settings: dict[str, Any], seed: int, threads: int
    ) -> _Matrix:
        """Return X1's matrix of some points; with a penalty, the minimiser of eq. 3, by descent from there."""
        n = drawn.Y.shape[0]
        neighbours = max(1, round(settings["neighbour_share"] * n))
        given = X1Settings.from_parameters({**methods.VOTES_ALONE, **settings["x1"], "svp_neighbours": neighbours})
        x1 = resolve(given, DataFacts.of(drawn.X))
        cluster = train_cluster(drawn.X, drawn.Y, np.arange(n), x1, seed, threads)
        matrix = cls(cluster.weights, cluster.features)
        if penalty == 0:
            return matrix
        X = select_columns(drawn.X, matrix.features)
        within = pairs_within(drawn.Y, threshold)
        steps = settings["steps"]
        joint = joint_minimiser(X, within, penalty, matrix.weights, max_iter=steps, threads=threads)
        return cls(joint, matrix.features)

    def embed(self, rows: Rows) -> np.ndarray:
        """Return V·x of each row: (·, dim)."""
        return matmul(select_columns(rows, self.features), self.weights)

    def losses(self, drawn: Sample, held: Sample, within: Pairs, new: Pairs, between: Pairs) -> dict[str, float]:
        """Return L̂(A; D), L(A), L̃(A; D), without λ Tr(A), and the norm and trace of A."""
        own, others = self.embed(drawn.X), self.embed(held.X)  # (n, dim) each
        norm, trace = norms(self.weights)
        return {
            "train": within.loss(own, own),
            "held_out": new.loss(others, others),
            "to_train": between.loss(own, others),
            "norm": norm,
            "trace": trace,
        }


EXPERIMENT = Theory()

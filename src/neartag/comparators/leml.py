"""LEML: one low-rank linear regression of all labels.

Yu, Jain, Kar, Dhillon, "Large-scale multi-label learning with missing labels", ICML 2014; squared loss, all labels
known.

Objective:

    min over W (d, r), H (L, r) of ½ ‖Y − X W Hᵀ‖² + ½ λ (‖W‖² + ‖H‖²)

The paper alternates from a random start, conjugate gradients on each factor. Here, too, with differences that change
the way and not the objective:
- Given W all labels share one small system, (AᵀA + λ) Hᵀ = AᵀY with A = X W: H is solved for exactly.
- Of all factors with the same product those of equal, diagonal Gram matrices have the smallest penalty (λ times the
  product's nuclear norm). The factors are brought to that form after each step. The objective falls by it, what would
  be slow to grow or shrink is at once at its size, and the W-step falls apart into r ridge regressions of its own
  shift each, (σⱼ XᵀX + λ) wⱼ = XᵀY hⱼ. Directions that the penalty has shrunk to nothing are left out of the model.
- Where X has few features or points (`leml_steps.Spectral`), these are solved exactly, in float64.
- H starts from the labels' own main directions, found by random projection. Few alternations are then enough. On
  Bibtex and EUR-Lex a single one predicts better than the minimum that many lead to: `max_iter` is chosen as λ is.

Cost, for nnz entries of X and Y together: an alternation takes nnz · r · cg_max_iter + (n + d + L) · r², memory
(n + d + L) · r; an array of n · L is never made. With few features an alternation takes d · L · r, whatever n, and
memory d · (d + L), which is bounded.
Predicting a point takes d̄ · r + L · r; the model has (d + L) · r numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from neartag.comparators.base import Comparator, Shape, from_table
from neartag.comparators.leml_steps import Factors, Problem, balanced, label_step, problem_bytes, problem_of, start
from neartag.comparators.model import Facts, ScoringModel, State, check_array, dimension, to_unit_interval
from neartag.core.progress import Progress
from neartag.linalg.packing import require
from neartag.linalg.products import matmul, matmul_rows
from neartag.linalg.rows import Rows, transpose

# A label that is there is regressed on as 1, one that is not as 0.
MIDDLE = 0.5


def leml(
    rows: Rows,
    Y: csr_matrix,
    rank: int,
    l2: float,
    *,
    max_iter: int = 2,
    cg_max_iter: int = 20,
    seed: int | np.random.SeedSequence | None = 0,
    threads: int = 1,
    progress: Progress | None = None,
) -> Factors:
    """Return the factors, float32, of rank at most `rank`, and the objective after each alternation."""
    rank = min(rank, *rows.shape, Y.shape[1])
    problem: Problem = problem_of(rows, Y, threads)
    H = start(Y, transpose(Y), rank, np.random.default_rng(seed), threads)  # (L, r), orthonormal
    found = Factors(problem.zeros(H.shape[1]), H, np.ones(H.shape[1]))
    history: list[float] = []
    for _ in range(max_iter):
        W = problem.solve(found.H, found.sizes, l2, found.W, cg_max_iter)
        found = balanced(W, found.H, threads)
        H, objective = label_step(problem, found.W, l2, threads)
        found = balanced(found.W, H, threads)
        history.append(objective)
        if progress is not None:
            progress.advance(1, f"objective {objective:.4g}")
    W = problem.weights(found.W)
    return Factors(np.ascontiguousarray(W, np.float32), np.ascontiguousarray(found.H, np.float32), found.sizes, history)


@dataclass(repr=False)
class LEMLModel(ScoringModel):
    """The two factors."""

    kind = "leml"

    W: np.ndarray  # (columns, r)
    H: np.ndarray  # (seen, r)

    def scores(self, rows: Rows, threads: int) -> np.ndarray:
        """Return what the regression gives for each label, 0.5 where it is undecided."""
        return to_unit_interval(matmul_rows(matmul(rows, self.W, threads), self.H.T, threads), MIDDLE)

    def state(self) -> State:
        """Return the factors."""
        return {"factors": {"W": self.W, "H": self.H}}

    @classmethod
    def rebuilt(cls, facts: Facts, state: State) -> LEMLModel:
        """Return the model of a state."""
        given = state["factors"]["W"]
        require(isinstance(given, np.ndarray) and given.ndim == 2, "W is no matrix")
        W = check_array(state, "factors", "W", (facts.columns, given.shape[1]))
        H = check_array(state, "factors", "H", (facts.width, given.shape[1]))
        require(isinstance(H, np.ndarray), "H is no dense matrix")
        return cls(facts, W, H)


@from_table
class LEMLClassifier(Comparator):
    """Low-rank linear regression of all labels: X W Hᵀ, both factors penalised."""

    method = "leml"

    def _train(self, rows: Rows, Y: csr_matrix, facts: Facts, threads: int, progress: Progress) -> LEMLModel:
        settings = facts.settings
        with progress.start(settings["max_iter"], "alternating"):
            found = leml(
                rows,
                Y,
                dimension(settings["rank"], facts.width),
                settings["l2"],
                max_iter=settings["max_iter"],
                cg_max_iter=settings["cg_max_iter"],
                seed=settings["random_state"],
                threads=threads,
                progress=progress,
            )
        return LEMLModel(facts, found.W, found.H)

    def _memory(self, shape: Shape, settings: dict[str, Any], threads: int) -> int:
        return problem_bytes(shape, dimension(settings["rank"], shape.labels), threads)

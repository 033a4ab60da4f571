"""LEML's alternation: each factor in turn is the best for the other, and both are brought into balance after a step."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix

from neartag.comparators.leml.steps import (
    MAX_SPECTRAL_SIDE,
    Factors,
    Problem,
    balance,
    label_step,
    make_problem,
    start_labels,
)
from neartag.core.progress import Progress
from neartag.linalg.rows import Rows, transpose


def factorise(
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
    max_spectral_side: int = MAX_SPECTRAL_SIDE,
) -> Factors:
    """Return the factors, float32, of rank at most `rank`, and the objective after each alternation.

    X is decomposed where its smaller side is at most `max_spectral_side`.
    """
    rank = min(rank, *rows.shape, Y.shape[1])
    problem: Problem = make_problem(rows, Y, threads, max_spectral_side)
    H = start_labels(Y, transpose(Y), rank, np.random.default_rng(seed), threads)  # (L, r), orthonormal
    factors = Factors(problem.zeros(H.shape[1]), H, np.ones(H.shape[1]))
    history: list[float] = []
    for _ in range(max_iter):
        W = problem.solve(factors.H, factors.sizes, l2, factors.W, cg_max_iter)
        factors = balance(W, factors.H, threads)
        H, objective = label_step(problem, factors.W, l2, threads)
        factors = balance(factors.W, H, threads)
        history.append(objective)
        if progress is not None:
            progress.advance(1, f"objective {objective:.4g}")
    W, H = (np.ascontiguousarray(each, np.float32) for each in (problem.weights(factors.W), factors.H))
    return Factors(W, H, factors.sizes, history)

"""How much of a label matrix, or of X1's target, is left by matrices of a low rank; for Figure 1 (a)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from scipy.linalg import eigh, eigvalsh
from scipy.sparse import csr_matrix
from scipy.sparse.linalg import svds

from neartag.core.errors import ParameterError
from neartag.core.threads import resolve_jobs
from neartag.experiments.runner import Work
from neartag.x1.cluster_training import EXACT_SWEEPS, EXACT_TOL
from neartag.x1.label_graph import neighbour_graph
from neartag.x1.settings import SVPSettings
from neartag.x1.svp import svp

# Up to this number of rows or columns the whole spectrum is computed; above it only as much as is asked for.
MAX_DENSE_SIDE = 4000
PAIRS_AT_ONCE = 50_000  # of Ω, whose products are made together


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


def error_of_target_svd(
    Y: csr_matrix, clusters: list[np.ndarray], dims: list[int], settings: SVPSettings, work: Work
) -> list[float]:
    """Return ‖P_Ω(YᵀY − M)‖²/‖P_Ω(YᵀY)‖² over all clusters, M the best matrix of rank L̂ for YᵀY in each cluster.

    It is best for all pairs, not for those in Ω: SVP may do better there, and has all it needs to.
    """
    threads = resolve_jobs(work.jobs)
    left, whole = np.zeros(len(dims)), 0.0
    with work.start(len(clusters), "SVD of the target"):
        for members in clusters:
            graph = _label_graph(Y[members], settings, threads)
            whole += float(np.dot(graph.data, graph.data.astype(np.float64)))
            left += target_svd_left(graph, left_factors(Y[members], max(dims)), dims)
            work.advance()
    return [float(value) for value in left / max(whole, 1e-300)]


def left_factors(Y: csr_matrix, count: int, max_dense_side: int = MAX_DENSE_SIDE) -> np.ndarray:
    """Return U·diag(σ) of the largest singular values of Y (n, ≤ count): M = U σ² Uᵀ is the best of that rank."""
    Y = csr_matrix(Y, dtype=np.float64)
    used = Y[:, np.unique(Y.indices)]
    n, side = used.shape[0], min(used.shape)
    count = min(count, side)
    if count == 0:
        return np.zeros((n, 0))
    if side > max_dense_side and count < side - 1:
        start = np.random.default_rng(0).standard_normal(side)
        vectors, values, _ = svds(used, count, v0=start)
        return (vectors * values)[:, np.argsort(-values)]
    few = (side - count, side - 1)
    if used.shape[1] == side:
        _, turn = eigh((used.T @ used).toarray(), subset_by_index=few)
        return np.asarray(used @ turn)[:, ::-1]  # (n, count)
    values, vectors = eigh((used @ used.T).toarray(), subset_by_index=few)
    return (vectors * np.sqrt(np.maximum(values, 0)))[:, ::-1]


def target_svd_left(graph: csr_matrix, factors: np.ndarray, dims: list[int]) -> np.ndarray:
    """Return ‖P_Ω(G − Z Zᵀ)‖² for Z the first columns of the factors, at each number of them."""
    left = np.zeros(len(dims))
    rows = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
    for start in range(0, graph.nnz, PAIRS_AT_ONCE):
        pairs = slice(start, start + PAIRS_AT_ONCE)
        rest, before = graph.data[pairs].astype(np.float64), 0
        for place, dim in enumerate(dims):  # which rise
            one, other = factors[rows[pairs], before:dim], factors[graph.indices[pairs], before:dim]
            rest -= np.einsum("ij,ij->i", one, other)
            left[place] += float(np.dot(rest, rest))
            before = dim
    return left


def error_of_x1(
    Y: csr_matrix, clusters: list[np.ndarray], dims: list[int], settings: SVPSettings, work: Work
) -> dict[str, Sequence[float]]:
    """Return ‖P_Ω(YᵀY − M)‖²/‖P_Ω(YᵀY)‖² over all clusters at each L̂, M of that rank in each cluster by SVP.

    Also how many steps SVP made, at most, and by what share of the error the last one lowered it, at most.
    """
    threads = resolve_jobs(work.jobs)
    left, whole = np.zeros(len(dims)), 0.0
    steps, falls = [0] * len(dims), [0.0] * len(dims)
    with work.start(len(clusters) * len(dims), "SVP"):
        for members in clusters:
            graph = _label_graph(Y[members], settings, threads)
            own = float(np.dot(graph.data, graph.data.astype(np.float64)))
            whole += own
            for place, dim in enumerate(dims):
                objective = [own, *_run_svp(graph, dim, settings, threads)]
                left[place] += objective[-1]
                steps[place] = max(steps[place], len(objective) - 1)
                if len(objective) > 1 and objective[-2] > 0:
                    falls[place] = max(falls[place], 1 - objective[-1] / objective[-2])
                work.advance()
    return {"x1": [float(value) for value in left / max(whole, 1e-300)], "steps": steps, "last_falls": falls}


def _run_svp(graph: csr_matrix, dim: int, settings: SVPSettings, threads: int) -> list[float]:
    """Return the objective after each step; of whole steps where those along the tangent diverge."""
    options: dict[str, Any] = {"step": settings.step, "max_iter": int(settings.max_iter), "tol": settings.tol}
    if settings.projection != "exact":
        with suppress(ParameterError):
            return svp(graph, dim, **options, threads=threads).objective
    return svp(graph, dim, **options, sweeps=EXACT_SWEEPS, sweep_tol=EXACT_TOL, threads=threads).objective


def _label_graph(Y: csr_matrix, settings: SVPSettings, threads: int) -> csr_matrix:
    return neighbour_graph(Y, int(settings.neighbours), similarity=settings.similarity, threads=threads)

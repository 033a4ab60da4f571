"""WSABIE's training: the joint embedding by stochastic gradients on the WARP loss, pair after pair."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import csr_matrix

from neartag.comparators.shared.model import BATCH_ROWS
from neartag.comparators.wsabie.kernels import warp_steps
from neartag.core.errors import ParameterError
from neartag.core.progress import Progress
from neartag.linalg.products import matmul, matmul_rows
from neartag.linalg.rows import Rows, csr_arrays

MAX_DRAWS = 1000  # of "auto": on 2,800 labels, 200 lose nothing by the vote and 1 to 3 points by dot products
PAIRS_AT_ONCE = 2**16  # learned in one call, so that progress is shown and a keyboard's interrupt is heard
MAX_FEATURE_VALUE = 1e12  # no step can then leave what float32 holds, whatever the rate and the norm
SAMPLE_SCORES = 2**22  # scores of training points by which the middle of dot products is chosen


def rank_weights(labels: int) -> np.ndarray:
    """Return Φ(r) = 1 + 1/2 + … + 1/r for the ranks 0 … labels − 1: float32 (labels,)."""
    return np.concatenate([[0.0], np.cumsum(1 / np.arange(1, labels))]).astype(np.float32)


def shorten_rows(matrix: np.ndarray, max_norm: float) -> np.ndarray:
    """Return the matrix, each row longer than `max_norm` shortened to it in place."""
    lengths = np.sqrt(np.einsum("ij,ij->i", matrix, matrix))[:, None]  # norm() would hold the matrix twice
    matrix *= (max_norm / np.maximum(lengths, max_norm)).astype(np.float32)
    return matrix


def kernel_rows(rows: Rows) -> tuple[np.ndarray, np.ndarray, np.ndarray, bool]:
    """Return rows as the kernel wants them: a CSR matrix's three arrays, dense rows sharing one row of indices."""
    if sparse.issparse(rows):
        return (*csr_arrays(rows), False)
    n, d = rows.shape
    return np.arange(n + 1, dtype=np.int64) * d, np.arange(d, dtype=np.int32), rows.reshape(-1), True


def start_embedding(
    features: int, labels: int, settings: dict[str, Any], random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return V (d, D) and W (L, D) before anything is learned.

    As the paper: rows of about unit length, so that V is a random projection of the points.
    """
    dim = settings["dim"]
    V, W = (random.standard_normal((count, dim), np.float32) for count in (features, labels))
    for matrix in (V, W):
        matrix /= np.float32(np.sqrt(dim))
        shorten_rows(matrix, settings["max_norm"])
    return V, W


def fit_embedding(
    rows: Rows,
    Y: csr_matrix,
    settings: dict[str, Any],
    progress: Progress | None = None,
    *,
    pairs_at_once: int = PAIRS_AT_ONCE,
) -> tuple[np.ndarray, np.ndarray, list[float]]:
    """Return V (d, D), W (L, D), and each epoch's mean loss a pair."""
    progress = progress or Progress()
    _refuse_large_features(rows)
    d, labels = rows.shape[1], Y.shape[1]
    random = np.random.default_rng(settings["random_state"])
    V, W = start_embedding(d, labels, settings, random)
    summed = settings["steps"] == "adagrad"
    squares = tuple(np.zeros(count if summed else 0, np.float32) for count in (d, labels))
    most = settings["max_draws"]
    draws = max(1, min(labels - 1, MAX_DRAWS if most == "auto" else most))
    bounds = draws, np.float32(settings["margin"]), np.float32(settings["max_norm"])
    y_indptr, y_indices, _ = csr_arrays(Y)
    owners = np.repeat(np.arange(rows.shape[0], dtype=np.int32), np.diff(y_indptr))  # the point of each pair
    points, weights = kernel_rows(rows), rank_weights(labels)
    marked, words = np.full(labels, -1, np.int32), random.integers(2**63, size=1).astype(np.uint64)
    pairs, total = len(owners), max(1, len(owners) * settings["epochs"])
    losses = []
    with progress.start(total, "pairs of WSABIE"):
        for epoch in range(settings["epochs"]):
            order = random.permutation(pairs)
            lost = 0.0
            for first in range(0, pairs, pairs_at_once):
                part = order[first : first + pairs_at_once]
                done = epoch * pairs + first
                first_rate, last_rate = (
                    np.float32(settings["learning_rate"] * (1 - at / total)) for at in (done, done + len(part))
                )
                state = (first_rate, last_rate), (V, W), squares, marked, words
                loss, _ = warp_steps(points, (owners, y_indptr, y_indices), part, weights, bounds, *state)
                lost += loss * len(part)
                progress.advance(len(part), f"loss {loss:.3g}")
            losses.append(lost / max(1, pairs))
    return V, W, losses


def choose_middle(rows: Rows, Y: csr_matrix, V: np.ndarray, W: np.ndarray, threads: int) -> float:
    """Return the dot product above which some training points have as many labels as they really have.

    The loss compares a point's labels with each other, and leaves open which dot product means yes.
    """
    count = max(1, min(rows.shape[0], BATCH_ROWS, SAMPLE_SCORES // len(W)))
    sample = np.arange(count) * rows.shape[0] // count  # evenly over the points
    products = matmul_rows(matmul(rows[sample], V, threads), W.T, threads).ravel()  # (count · L,)
    last = products.size - int(Y[sample].nnz)
    around = np.clip([last - 1, last], 0, products.size - 1)
    return float(np.partition(products, around)[around].mean())


def _refuse_large_features(rows: Rows) -> None:
    values = rows.data if sparse.issparse(rows) else rows
    largest = max(values.max(initial=0), -values.min(initial=0))
    if largest > MAX_FEATURE_VALUE:
        raise ParameterError(f"wsabie cannot learn from a feature of {largest:.3g}: give row_scale='unit'")

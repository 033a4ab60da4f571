"""WSABIE: points and labels in one space, learned by the WARP loss, then a vote of the nearest points in that space.

Weston, Bengio, Usunier, "WSABIE: scaling up to large vocabulary image annotation", IJCAI 2011. The paper whose tables
we repeat (Bhatia et al. 2015) ranks labels by a vote of the nearest training points in the learned space instead.

Objective, over V (D, d), W (D, L) with columns no longer than C, and f_y(x) = ⟨V x, W_y⟩:

    Σ_i Σ_{y of point i} Φ(rank_y(x_i)),  Φ(r) = Σ_{s ≤ r} 1/s,
    rank_y(x) = |{wrong u: f_u(x) > f_y(x) − margin}|

by stochastic gradients: for a pair (x, y), wrong labels u are drawn until one has f_u(x) > f_y(x) − margin; after N
draws the rank is taken as ⌊(L − 1) / N⌋, and the step is that of Φ(rank) · (margin − f_y(x) + f_u(x)). What a step
changed is put back onto the ball of radius C.

Cost: training takes, a pair and an epoch, D for each feature of the point and for each draw; prediction D for each
feature and each of the n training points, or each of the L labels where `ranking` is "dot". Memory: D · (d + L + n).

Where we differ: pairs come in a random order each epoch instead of with replacement; γ falls evenly to 0; "adagrad"
divides it by the root of the summed mean squares of a row's gradients (one sum a feature or label), which makes γ
matter less: from 0.05 to 0.2 held-out P@1 by the vote moved by less than a point, but on bibtex by 2.5. "plain" takes
steps as the paper does; with a γ chosen for the data it is as good on Delicious and MediaMill, better on EUR-Lex, and
worse on bibtex. Draws are bounded for very many labels, so that pairs learned well enough cost little.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import csr_matrix

from neartag.comparators.base import Comparator, Shape, from_table
from neartag.comparators.knn import voted
from neartag.comparators.model import BATCH_ROWS, Facts, ScoringModel, State, check_array, check_dense, to_unit_interval
from neartag.comparators.wsabie_kernels import warp_steps
from neartag.core.errors import ParameterError
from neartag.core.progress import Progress
from neartag.linalg.products import matmul, matmul_rows
from neartag.linalg.rows import Rows, csr_arrays, normalise
from neartag.search.exact import nearest
from neartag.search.weights import voter_weights

MOST_DRAWS = 1000  # of "auto": on 2,800 labels, 200 lose nothing by the vote and 1 to 3 points by dot products
PAIRS = 2**16  # learned in one call, so that progress is shown and a keyboard's interrupt is heard
LARGEST = 1e12  # feature: no step can then leave what float32 holds, whatever the rate and the norm
SAMPLE = 2**22  # scores of training points by which the middle of dot products is chosen


@dataclass(repr=False)
class WSABIEModel(ScoringModel):
    """The embedding of features and labels, and the training points in it."""

    kind = "wsabie"

    V: np.ndarray  # (d, D)
    W: np.ndarray  # (seen, D)
    middle: np.ndarray  # (1,) the dot product that scores 0.5
    Z: np.ndarray  # (n, D) the training points at unit length
    Y: csr_matrix  # (n, seen)

    def scores(self, rows: Rows, threads: int) -> Rows:
        """Return each label's share of the votes, or its dot product brought between 0 and 1."""
        embedded = matmul(rows, self.V, threads)  # (m, D)
        if self.settings["ranking"] == "dot":
            return to_unit_interval(matmul_rows(embedded, self.W.T, threads), float(self.middle[0]))  # (m, seen)
        near = min(self.settings["neighbours"], self.n_points)
        ids, cosines = nearest(normalise(embedded), self.Z, near, threads)  # (m, k)
        cosines[~embedded.any(axis=1)] = -np.inf  # who has no direction is near nobody
        weights = voter_weights(cosines, self.settings["vote_weight"], self.settings["vote_sharpness"])
        return voted(self.Y, ids, weights)

    def state(self) -> State:
        """Return the embedding, and the points with their labels."""
        weights = {"V": self.V, "W": self.W, "middle": self.middle}
        return {"weights": weights, "points": {"Z": self.Z, "Y": self.Y}}

    @classmethod
    def rebuilt(cls, facts: Facts, state: State) -> WSABIEModel:
        """Return the model of a state."""
        dim = facts.settings["dim"]
        return cls(
            facts,
            check_dense(state, "weights", "V", (facts.columns, dim)),
            check_dense(state, "weights", "W", (facts.width, dim)),
            check_array(state, "weights", "middle", (1,)),
            check_dense(state, "points", "Z", (facts.n_points, dim)),
            check_array(state, "points", "Y", (facts.n_points, facts.width)),
        )


def rank_weights(labels: int) -> np.ndarray:
    """Return Φ(r) = 1 + 1/2 + … + 1/r for the ranks 0 … labels − 1: float32 (labels,)."""
    return np.concatenate([[0.0], np.cumsum(1 / np.arange(1, labels))]).astype(np.float32)


def within(matrix: np.ndarray, max_norm: float) -> np.ndarray:
    """Return the matrix, each row longer than `max_norm` shortened to it in place."""
    lengths = np.sqrt(np.einsum("ij,ij->i", matrix, matrix))[:, None]  # norm() would hold the matrix twice
    matrix *= (max_norm / np.maximum(lengths, max_norm)).astype(np.float32)
    return matrix


def pointers(rows: Rows) -> tuple[np.ndarray, np.ndarray, np.ndarray, bool]:
    """Return rows as the kernel wants them: a CSR matrix's three arrays, dense rows sharing one row of indices."""
    if sparse.issparse(rows):
        return (*csr_arrays(rows), False)
    n, d = rows.shape
    return np.arange(n + 1, dtype=np.int64) * d, np.arange(d, dtype=np.int32), rows.reshape(-1), True


def learn(
    rows: Rows, Y: csr_matrix, settings: dict[str, Any], progress: Progress | None = None
) -> tuple[np.ndarray, np.ndarray, list[float]]:
    """Return V (d, D), W (L, D), and each epoch's mean loss a pair."""
    progress = progress or Progress()
    values = rows.data if sparse.issparse(rows) else rows
    largest = max(values.max(initial=0), -values.min(initial=0))
    if largest > LARGEST:
        raise ParameterError(f"wsabie cannot learn from a feature of {largest:.3g}: give row_scale='unit'")
    d, labels, dim = rows.shape[1], Y.shape[1], settings["dim"]
    random = np.random.default_rng(settings["random_state"])
    # As the paper: rows of about unit length, which are a random projection of the points before anything is learned.
    V, W = (random.standard_normal((count, dim), np.float32) for count in (d, labels))
    for matrix in (V, W):
        matrix /= np.float32(np.sqrt(dim))
        within(matrix, settings["max_norm"])
    summed = settings["steps"] == "adagrad"
    squares = [np.zeros(count if summed else 0, np.float32) for count in (d, labels)]
    most = settings["max_draws"]
    draws = max(1, min(labels - 1, MOST_DRAWS if most == "auto" else most))
    y_indptr, y_indices, _ = csr_arrays(Y)
    owners = np.repeat(np.arange(rows.shape[0], dtype=np.int32), np.diff(y_indptr))  # the point of each pair
    features, weights = pointers(rows), rank_weights(labels)
    marked, words = np.full(labels, -1, np.int32), random.integers(2**63, size=1).astype(np.uint64)
    pairs, total = len(owners), max(1, len(owners) * settings["epochs"])
    losses = []
    with progress.start(total, "pairs of WSABIE"):
        for epoch in range(settings["epochs"]):
            order = random.permutation(pairs)
            lost = 0.0
            for first in range(0, pairs, PAIRS):
                part = order[first : first + PAIRS]
                done = epoch * pairs + first
                rate, last = (settings["learning_rate"] * (1 - at / total) for at in (done, done + len(part)))
                bounds = draws, settings["margin"], settings["max_norm"], rate, last
                loss, _ = warp_steps(
                    *features, owners, y_indptr, y_indices, part, weights, *bounds, V, W, *squares, marked, words
                )
                lost += loss * len(part)
                progress.advance(len(part), f"loss {loss:.3g}")
            losses.append(lost / max(1, pairs))
    return V, W, losses


def chosen_middle(rows: Rows, Y: csr_matrix, V: np.ndarray, W: np.ndarray, threads: int) -> float:
    """Return the dot product above which some training points have as many labels as they really have.

    The loss compares a point's labels with each other, and leaves open which dot product means yes.
    """
    count = max(1, min(rows.shape[0], BATCH_ROWS, SAMPLE // len(W)))
    sample = np.arange(count) * rows.shape[0] // count  # evenly over the points
    products = matmul_rows(matmul(rows[sample], V, threads), W.T, threads).ravel()  # (count · L,)
    last = products.size - int(Y[sample].nnz)
    around = np.clip([last - 1, last], 0, products.size - 1)
    return float(np.partition(products, around)[around].mean())


@from_table
class WSABIEClassifier(Comparator):
    """A joint linear embedding of points and labels by the WARP loss, and a vote of the nearest points in it."""

    method = "wsabie"
    prediction = ("ranking", "neighbours", "vote_weight", "vote_sharpness", "threshold")

    def _train(self, rows: Rows, Y: csr_matrix, facts: Facts, threads: int, progress: Progress) -> WSABIEModel:
        V, W, _ = learn(rows, Y, facts.settings, progress)
        middle = np.array([chosen_middle(rows, Y, V, W, threads)], np.float32)
        return WSABIEModel(facts, V, W, middle, normalise(matmul(rows, V, threads), in_place=True), Y)

    def _memory(self, shape: Shape, settings: dict[str, Any], threads: int) -> int:
        embedded = 4 * settings["dim"] * (shape.features + shape.labels + shape.points)
        pairs = 4 * shape.ones + 2 * 8 * shape.ones  # the pairs' points, and their order while it is drawn
        sample = 2 * 4 * min(max(SAMPLE, shape.labels), shape.points * shape.labels)
        sample += 12 * shape.entries * min(shape.points, BATCH_ROWS) // shape.points
        return embedded + pairs + sample + 16 * (shape.features + shape.labels)

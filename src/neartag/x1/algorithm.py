"""Algorithms 1 and 2 of the paper, whole and in plain lines: small, dense, slow, and what the tests hold X1 against.

Letters and line numbers are the paper's; points are rows here, where the paper has them as columns.

    paper                                  here           what trains and answers in earnest
    ------------------------------------   ------------   ----------------------------------------------------
    Algorithm 1                            train          x1.training.fit_model, x1.cluster_training.train_cluster
      line 1: k-means (section 2.2)        k_means        x1.kmeans.partition
      line 3: Ω and P_Ω (eq. 1 and 2)      label_graph    x1.label_graph.neighbour_graph
      line 4: SVP (eq. 4 and 6)            svp            x1.svp.svp
      line 5: Z = U Σ^½                    train          x1.svp.Embedding.points
      line 6: ADMM (eq. 5)                 admm           x1.regression.admm
      line 7: Z = V X                      train          x1.embedding.embed
    Algorithm 2                            predict        x1.model.X1Model.predict_topk
      line 1: the nearest cluster          predict        x1.centroids.route
      line 2: z = V x                      predict        x1.embedding.embed
      line 3: its nearest neighbours       neighbours     search.exact.nearest, search.cells.Cells.nearest
      line 4: how often each label is      vote           x1.vote.vote
      line 5: the p labels most frequent   top            x1.vote.vote
    the ensemble (section 2.2)             predict_all    x1.plan.TrainingPlan, x1.retrieval.weigh_voters

The paper's own choices are label_similarity "inner", svp_step 1, vote_distance "euclidean" and vote_weight "uniform".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from neartag.x1.settings import SVPSettings, VoteSettings, X1Settings


class Cluster(NamedTuple):
    """Qʲ, Vʲ and Zʲ: what is kept of a cluster."""

    members: np.ndarray  # (N,) row numbers
    V: np.ndarray  # (dim, d)
    Z: np.ndarray  # (N, dim)


class Learner(NamedTuple):
    """A partition, and what was learned in each of its clusters."""

    centroids: np.ndarray  # (C, d)
    clusters: list[Cluster]


def train(X: np.ndarray, Y: np.ndarray, starts: np.ndarray, settings: X1Settings) -> Learner:
    """Algorithm 1: learn from unit rows X (n, d) with labels Y (n, L); k-means starts at centroids (C, d)."""
    svp_settings, regression = settings.svp, settings.regression
    dim, steps = int(svp_settings.dim), int(svp_settings.max_iter)
    centroids, home = k_means(X, starts)  # line 1
    clusters = []
    for j in range(len(centroids)):  # line 2
        members = np.flatnonzero(home == j)  # Qʲ (N,)
        G, Omega = label_graph(Y[members], svp_settings)  # line 3: (N, N) each
        U, Sigma = svp(G, Omega, dim, svp_settings.step, steps)  # line 4: (N, dim), (dim,)
        Z = U * np.sqrt(Sigma)  # line 5: (N, dim)
        V = admm(X[members], Z, float(regression.l2), regression.l1, regression.rho, regression.max_iter)  # line 6
        clusters.append(Cluster(members, V, X[members] @ V.T))  # line 7: Z = V X (N, dim)
    return Learner(centroids, clusters)


def k_means(X: np.ndarray, centroids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the centroids (C, d) and each point's cluster (n,), by Lloyd's rounds until nobody moves."""
    home = nearest_centroid(X, centroids)
    while True:
        centroids = np.array([X[home == j].mean(axis=0) for j in np.unique(home)])  # empty clusters go
        before, home = home, nearest_centroid(X, centroids)
        if np.array_equal(home, before):
            return centroids, home


def nearest_centroid(X: np.ndarray, centroids: np.ndarray) -> np.ndarray:
    """Return the cluster of each point (n,)."""
    return ((X[:, None] - centroids) ** 2).sum(axis=2).argmin(axis=1)  # of distances (n, C)


def label_graph(Y: np.ndarray, settings: SVPSettings) -> tuple[np.ndarray, np.ndarray]:
    """Return G = P_Ω(Y Yᵀ) and Ω (n, n) (eq. 1 and 2): pairs of which one is among the other's n̄ nearest by labels.

    The paper's Ω need not be symmetric, its M must be: so Ω ∪ Ωᵀ. Points that share no label are no neighbours, and
    ties go to the nearest following point.
    """
    labels = unit_rows(Y) if settings.similarity == "cosine" else Y
    similar, n = labels @ labels.T, len(labels)  # (n, n)
    Omega = np.zeros((n, n), bool)
    for i in range(n):
        sharing = np.flatnonzero(similar[i])
        order = np.lexsort(((sharing - i) % n, -similar[i, sharing].round(6)))
        Omega[i, sharing[order[: settings.neighbours]]] = True
    Omega |= Omega.T
    return np.where(Omega, similar, 0.0), Omega


def svp(G: np.ndarray, Omega: np.ndarray, dim: int, step: float, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Sub-routine SVP after so many steps: U (n, dim) and Σ (dim,) of the M that agrees with G on Ω (eq. 4)."""
    *_, last = islice(svp_steps(G, Omega, dim, step), steps)
    return last


def svp_steps(G: np.ndarray, Omega: np.ndarray, dim: int, step: float) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield U (n, dim) and Σ (dim,) after each step of sub-routine SVP."""
    M = np.zeros_like(G)  # line 1: (n, n)
    while True:  # line 2
        M_hat = M + step * np.where(Omega, G - M, 0)  # line 3, eq. 6: (n, n)
        Sigma, U = np.linalg.eigh(M_hat)  # line 4: all of them, rising
        U, Sigma = U[:, -dim:], np.maximum(Sigma[-dim:], 0)  # line 5: the largest, none below zero
        M = (U * Sigma) @ U.T  # line 6: (n, n)
        yield U, Sigma


def admm(X: np.ndarray, Z: np.ndarray, l2: float, l1: float, rho: float, rounds: int) -> np.ndarray:
    """Sub-routine ADMM after so many rounds: V (dim, d) of eq. 5, for X (n, d) and Z (n, dim).

    Line 6 has μ/(2ρ) for the pseudo-code's μ/ρ, which belongs to squares with ½: eq. 5 has none. Without μ the rounds
    end at ridge regression, which is solved at once.
    """
    identity = np.eye(X.shape[1])
    if l1 == 0:
        return Z.T @ X @ np.linalg.inv(X.T @ X + l2 * identity)
    alpha, beta = np.zeros_like(Z), np.zeros_like(Z)  # line 1: (n, dim)
    for _ in range(rounds):  # line 2
        Q = (Z + rho * (alpha - beta)).T @ X  # line 3: (dim, d)
        V = Q @ np.linalg.inv(X.T @ X * (1 + rho) + l2 * identity)  # line 4: (dim, d)
        alpha = X @ V.T + beta  # line 5: (n, dim)
        alpha = np.sign(alpha) * np.maximum(0, np.abs(alpha) - l1 / (2 * rho))  # line 6
        beta = beta + X @ V.T - alpha  # line 7
    return V


def predict(x: np.ndarray, Y: np.ndarray, learner: Learner, settings: VoteSettings) -> np.ndarray:
    """Algorithm 2, all but its last line: the share of the votes that each label has (L,) for a unit row x (d,)."""
    cluster = learner.clusters[nearest_centroid(x[None], learner.centroids)[0]]  # line 1
    z = cluster.V @ x  # line 2: (dim,)
    near, weights = neighbours(z, cluster.Z, settings)  # line 3: (n̄,) each
    return vote(Y[cluster.members[near]], weights)  # line 4: (L,)


def neighbours(z: np.ndarray, Z: np.ndarray, settings: VoteSettings) -> tuple[np.ndarray, np.ndarray]:
    """Return the nearest points in Z (N, dim) of z (dim,), nearest first, and their weights in the vote."""
    if settings.distance == "cosine":
        z, Z = unit_rows(z[None])[0], unit_rows(Z)
    half = ((Z - z) ** 2).sum(axis=1) / 2  # (N,); 1 − cosine for rows of unit length
    near = np.argsort(half, kind="stable")[: int(settings.neighbours)]
    uniform = settings.weight == "uniform"
    return near, np.ones(len(near)) if uniform else np.exp(-settings.sharpness * half[near])


def vote(Y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return P_x, the share of the neighbours (n̄,) that have each label (L,), of rows Y (n̄, L)."""
    return weights / weights.sum() @ Y


def top(shares: np.ndarray, p: int) -> np.ndarray:
    """Return Algorithm 2's last line: the p labels with the largest shares, ties to the lower id."""
    return np.argsort(-shares, kind="stable")[:p]


def predict_all(X: np.ndarray, Y: np.ndarray, learners: Sequence[Learner], settings: VoteSettings) -> np.ndarray:
    """Return the shares (m, L) of unit rows X (m, d) by an ensemble: the mean of its learners' shares."""
    return np.array([np.mean([predict(x, Y, learner, settings) for learner in learners], axis=0) for x in X])


def unit_rows(rows: np.ndarray) -> np.ndarray:
    """Return rows of unit length; those of zeros stay."""
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300)

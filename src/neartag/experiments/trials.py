"""X1 (paper) with many penalties and many k from one SVP: what validation and the experiment with μ ask for.

The steps are those of production, called one by one, so that an embedding is learned once and regressed many times. A
test holds the answers against those of `X1Classifier`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from neartag.core.threads import single_threaded_blas
from neartag.evaluation.metrics import precision_at
from neartag.experiments.methods import CUTS
from neartag.experiments.short_k_means import partition_in_rounds
from neartag.linalg.rows import Rows, compact, csr_arrays, normalise, used_columns
from neartag.search.exact import Neighbours
from neartag.search.weights import Voters
from neartag.x1.centroids import Partition
from neartag.x1.cluster_training import EXACT_SWEEPS, EXACT_TOL, make_partition
from neartag.x1.embedding import embed
from neartag.x1.ensemble import learner_seeds
from neartag.x1.label_graph import neighbour_graph
from neartag.x1.learner import Cluster, Learner
from neartag.x1.regression import admm
from neartag.x1.retrieval import find_by_embedding, weigh_voters
from neartag.x1.settings import SVPSettings, X1Settings
from neartag.x1.svp import Embedding, svp
from neartag.x1.vote import vote

# A vote's part that decides between labels with as many votes, and never more than that.
TIE_BREAK = 1e-6

# "plain": as X1 (paper) has it; "short": a few rounds; "products": as many, and inner products are compared.
KMeans = Literal["plain", "short", "products"]


class Embedded(NamedTuple):
    """The clusters of a learner, and where SVP puts the label vectors of each."""

    partition: Partition
    rows: Rows  # all training rows (n, d)
    members: list[np.ndarray]  # of each cluster
    embeddings: list[Embedding]
    unexplained: float  # share of ‖P_Ω(G)‖² that SVP left, over all clusters

    @property
    def steps(self) -> int:
        """Steps of SVP in the cluster that needed most."""
        return max(len(each.objective) for each in self.embeddings)


def embed_labels(
    rows: Rows,
    Y: csr_matrix,
    settings: X1Settings,
    threads: int,
    *,
    itself: bool = True,
    k_means: KMeans = "plain",
    learner: int = 0,
) -> Embedded:
    """Return lines 1 to 5 of Algorithm 1 for one learner; nothing in the settings may be "auto" or "paper".

    `itself`: whether a point is one of its own label neighbours; `k_means`: X1 (paper)'s, or one of a
    few rounds; `learner`: its number in the ensemble.
    """
    seed = learner_seeds(settings)[learner]
    first_seed, start = int(seed.generate_state(1)[0]), int(seed.generate_state(2)[1])
    if k_means == "plain":
        clusters = make_partition(rows, settings.clusters, start, threads)
    else:
        with single_threaded_blas():
            count, by_products = int(settings.clusters.count), k_means == "products"
            clusters = partition_in_rounds(rows, count, start, threads, by_products=by_products)
    members = [np.flatnonzero(clusters.assignment == c) for c in range(clusters.n_clusters)]
    embeddings, left, whole = [], 0.0, 0.0
    with single_threaded_blas():
        for number, own in enumerate(members):
            graph = label_graph(Y[own], settings.svp, threads, itself=itself)
            embedding = run_svp(graph, settings.svp, first_seed + number, threads)
            embeddings.append(embedding)
            size = float(np.dot(graph.data, graph.data.astype(np.float64)))
            whole += size
            left += embedding.objective[-1] if embedding.objective else size
    return Embedded(clusters, rows, members, embeddings, left / max(whole, np.finfo(float).tiny))


def label_graph(Y: csr_matrix, settings: SVPSettings, threads: int, *, itself: bool = True) -> csr_matrix:
    """Return P_Ω(Y Yᵀ) of a cluster (N, N), with or without the pairs of a point and itself."""
    count = int(settings.neighbours)
    graph = neighbour_graph(Y, count + (not itself), similarity=settings.similarity, threads=threads)
    if itself:
        return graph
    graph.setdiag(0)
    graph.eliminate_zeros()
    return graph


def run_svp(graph: csr_matrix, settings: SVPSettings, seed: int, threads: int) -> Embedding:
    """Return what SVP makes of a graph, as training does."""
    return svp(
        graph,
        int(settings.dim),
        step=settings.step,
        max_iter=int(settings.max_iter),
        tol=settings.tol,
        sweeps=EXACT_SWEEPS if settings.projection == "exact" else 0,
        sweep_tol=EXACT_TOL,
        seed=seed,
        threads=threads,
    )


def regress(embedded: Embedded, settings: X1Settings, threads: int) -> Learner:
    """Return lines 6 and 7: the learner whose regressors have these penalties."""
    penalties, clusters = settings.regression, []
    with single_threaded_blas():
        for own, embedding in zip(embedded.members, embedded.embeddings, strict=True):
            rows, features = used_columns(embedded.rows[own])
            rows = compact(rows)
            regression = admm(
                rows,
                embedding.points,
                l2=float(penalties.l2),
                l1=penalties.l1,
                rho=penalties.rho,
                max_iter=penalties.max_iter,
                tol=penalties.tol,
                keep=penalties.keep_weights,
                threads=threads,
            )
            points = embed(rows, regression.weights, regression.zero_below, threads)  # V·X (N, dim)
            clusters.append(
                Cluster(
                    members=own.astype(np.int32),
                    weights=regression.weights,
                    points=points if settings.vote.distance == "euclidean" else normalise(points),
                    zero_below=regression.zero_below,
                    features=features,
                )
            )
    return Learner(embedded.partition.centroids, clusters)


@dataclass(frozen=True)
class Answers:
    """Who is near each of some rows, and what the training points are labelled with: the rest of Algorithm 2."""

    neighbours: list[Neighbours]  # by each learner: training rows, nearest first, and how near (m, most)
    Y: csr_matrix  # (n, L)
    settings: X1Settings
    threads: int

    @classmethod
    def find(
        cls, learners: Sequence[Learner], rows: Rows, Y: csr_matrix, settings: X1Settings, most: int, threads: int
    ) -> Answers:
        """Return the `most` nearest training points of each row in its cluster, by each learner."""
        assert settings.vote.search == "exact"
        return cls(find_by_embedding(rows, learners, settings, min(most, Y.shape[0]), threads), Y, settings, threads)

    def top(self, k: int, ties: str = "frequent") -> np.ndarray:
        """Return the five labels with most votes of the k nearest (m, 5), ties decided as told."""
        voters = weigh_voters(self.neighbours, self.settings.vote, min(k, self.neighbours[0][0].shape[1]))
        frequency = np.bincount(self.Y.indices, minlength=self.Y.shape[1]).astype(np.int64)
        if ties != "frequent":
            frequency = np.zeros_like(frequency)  # the next rule of ties is the lower id
        if ties == "nearest":
            voters = _favour_nearest(voters)
        labels = np.full((len(voters[0]), max(CUTS)), -1, np.int32)
        most = min(max(CUTS), self.Y.shape[1])
        labels[:, :most], _ = vote(csr_arrays(self.Y), voters, frequency, most, self.threads)
        return labels


def _favour_nearest(voters: Voters) -> Voters:
    """Return the voters with a little more weight for nearer ones, too little to outweigh a vote."""
    ids, weights = voters
    bonus = TIE_BREAK * 2.0 ** -np.arange(ids.shape[1])  # all farther ones together weigh less than one nearer
    return ids, weights * (1 + bonus)


def precisions(labels: np.ndarray, Y: csr_matrix) -> dict[str, float]:
    """Return P@1, P@3 and P@5 of answers."""
    return {f"P@{k}": round(precision_at(labels, Y, k), 4) for k in CUTS}


def mean_of(scores: dict[str, float]) -> float:
    """Return the mean of P@1, P@3 and P@5, by which choices are made."""
    return sum(scores.values()) / len(scores)


def hold_out(n: int, share: float, seed: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows to train on and those held out, both rising."""
    order = np.random.default_rng(seed).permutation(n)
    count = max(1, round(share * n))
    return np.sort(order[count:]), np.sort(order[:count])

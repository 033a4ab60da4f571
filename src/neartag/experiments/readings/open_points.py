"""The open points of the paper, and how each may be read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from neartag.experiments.methods import PAPER_CLUSTERS
from neartag.experiments.trials import KMeans
from neartag.x1.resolve import PAPER_LEARNERS_OF_LARGE as ENSEMBLE

SPLITS = 1  # the first, on which all settings of X1 (paper) were chosen


class Shipped(NamedTuple):
    """What the authors' program ships for a data set, but for its cost, which λ stands for."""

    learners: int
    clusters: int
    neighbours: int  # n̄
    dim: int  # L̂
    voters: int  # k

    @property
    def changes(self) -> dict[str, Any]:
        """The settings of X1 that differ from X1 (paper)'s."""
        return {"n_learners": self.learners, "n_clusters": self.clusters, "embedding_dim": self.dim}


# By the names of presets.
SHIPPED = {
    "bibtex": Shipped(1, 1, 250, 100, 25),
    "delicious": Shipped(1, 1, 500, 100, 70),
    "mediamill": Shipped(15, 5, 300, 30, 4),
    "eurlex": Shipped(5, 3, 100, 100, 8),
}


class Reading(NamedTuple):
    """One way to read an open point of the paper."""

    title: str
    words: str  # what the paper says, and how it is read here
    changes: Mapping[str, Any] = {}  # of X1 (paper)'s settings
    rows: str = "unit"  # or "ball": features as they are, divided by the longest row's length
    ties: str = "frequent"
    itself: bool = True  # whether a point is its own label neighbour
    k_means: KMeans = "plain"  # "short": of seven rounds; "products": and a point goes to the largest inner product
    same_count: bool = False  # k = n̄
    fixed_penalty: float | None = None  # λ, where it is not chosen
    wider: bool = False  # k, n̄ and λ are chosen among more values
    as_for_one: bool = False  # n̄ and λ as chosen for X1 (paper), which has one learner
    shipped: bool = False  # n̄, k and more as the authors' program has them for the set
    only_on: tuple[str, ...] = ()  # sets that it is about, by the names of presets; (): all
    for_large: bool = False  # a test of a cause on large sets, and no reading of the paper
    splits: int = SPLITS  # on how many it is measured
    after_test: bool = False  # put together of others after these had been tested: never the best by validation


PRINTED = "printed"
# Those that share an embedding follow each other: it is learned once for all of them.
READINGS = {
    PRINTED: Reading(
        "X1 (paper)",
        "The reading of the column “X1 (paper)”: unit feature rows, inner products of label vectors, Euclidean "
        "distance, SVP until its objective changes by less than 1% in a step, ties to the more frequent label, λ "
        "chosen with k and n̄.",
    ),
    "fixed-penalty": Reading(
        "λ = 1 everywhere",
        "Section 2.1 takes one λ for everything and does not print its value. Here 1 on every set.",
        fixed_penalty=1.0,
    ),
    "cosine-distance": Reading(
        "kNN by cosine",
        "Algorithm 2 looks for the nearest points of Z and names no distance. Here the cosine.",
        {"vote_distance": "cosine"},
    ),
    "ties-nearest": Reading(
        "ties to the nearest neighbour's label",
        "Top_p of the label distribution does not say who wins a tie. Here the label of the nearer neighbour.",
        ties="nearest",
    ),
    "ties-id": Reading(
        "ties to the lower label number",
        "The same, as a sort that keeps the order of equals would have it.",
        ties="id",
    ),
    "one-cluster": Reading(
        "one cluster",
        "Section 2.2 introduces clusters for large data, yet section 3 fixes ⌊n/6000⌋, which is 2 on Delicious and 5 "
        "on MediaMill. Here one cluster on every small set.",
        {"n_clusters": 1},
    ),
    "one-cluster-ties-nearest": Reading(
        "one cluster, ties to the nearest neighbour's label",
        "The readings together that validation prefers on MediaMill and on EUR-Lex, each by itself.",
        {"n_clusters": 1},
        ties="nearest",
        after_test=True,
    ),
    "ten-steps": Reading(
        "SVP stopped early",
        "Sub-routine SVP ends at convergence and names no test for it, and the authors' program often stops before. "
        "Here ten steps.",
        {"svp_max_iter": 10},
    ),
    "converged": Reading(
        "SVP run for longer",
        "The same, ten times stricter: until a step changes the objective by less than 0.1%, or for 1,000 steps. n̄ and "
        "λ are those of X1 (paper), k is chosen anew.",
        {"svp_tol": 1e-3},
        as_for_one=True,
    ),
    "raw-rows": Reading(
        "features as they are",
        "Normalisation is not mentioned; the appendix assumes ‖x‖ ≤ 1. Here all rows are divided by the longest "
        "one's length, and keep their lengths otherwise.",
        rows="ball",
    ),
    "raw-rows-one-cluster": Reading(
        "features as they are, one cluster",
        "The two readings together that validation prefers on MediaMill, each by itself. The authors' program "
        "regresses from MediaMill's features as they are.",
        {"n_clusters": 1},
        rows="ball",
        only_on=("mediamill",),
        after_test=True,
    ),
    "cosine-labels": Reading(
        "label vectors of unit length",
        "The text has inner products of label vectors; the authors' program makes them unit vectors first, so that "
        "Ω and the target are cosines.",
        {"label_similarity": "cosine"},
    ),
    "cosine-labels-one-cluster": Reading(
        "label vectors of unit length, one cluster",
        "Two readings together that came near to the printed numbers on MediaMill.",
        {"label_similarity": "cosine", "n_clusters": 1},
        after_test=True,
    ),
    "not-itself": Reading(
        "a point is not its own neighbour",
        "The text does not say whether i ∈ N_i; the appendix sums over j ≠ i. Here without (i, i).",
        itself=False,
    ),
    "same-count": Reading(
        "k = n̄",
        "Both algorithms call the number of neighbours n̄; section 3 has two hyper-parameters. Here one number for "
        "both.",
        same_count=True,
    ),
    "ensemble": Reading(
        "15 learners",
        "Section 3 fixes 15 learners, and later says that X1 had a single one on small sets; the authors' program "
        "ships 15 for MediaMill. Here 15, of at least two clusters each, since of one cluster all learners are the "
        "same. k is chosen anew, n̄ and λ are those of one learner.",
        {"n_learners": ENSEMBLE, "n_clusters": PAPER_CLUSTERS},
        as_for_one=True,
    ),
    "products": Reading(
        "k-means by inner products",
        "Algorithm 1 says k-means, and not how a point and a mean are compared. Here, as in the authors' program, a "
        "point goes to the mean with which its inner product is largest, in seven rounds.",
        k_means="products",
    ),
    "short-k-means": Reading(
        "k-means of seven rounds",
        "Algorithm 1 does not say how long k-means goes on. Here, as in the authors' program, for seven rounds from "
        "random points. n̄ and λ are those of X1 (paper), k is chosen anew.",
        k_means="short",
        as_for_one=True,
    ),
    "ensemble-short-k-means": Reading(
        "15 learners, k-means of seven rounds",
        "Both readings together, all else as in X1 (paper). k-means that goes on until no point moves may find the "
        "same clusters from any start, so that all learners are alike. k is chosen anew; n̄ and λ are those of X1 "
        "(paper).",
        {"n_learners": ENSEMBLE, "n_clusters": PAPER_CLUSTERS},
        k_means="short",
        as_for_one=True,
        after_test=True,
    ),
    "as-program": Reading(
        "four things as in the authors' program",
        "What it does otherwise on MediaMill, together: 15 learners of at least two clusters, label vectors of unit "
        "length, SVP stopped early, features as they are. k, n̄ and λ are chosen anew.",
        {
            "n_learners": ENSEMBLE,
            "n_clusters": PAPER_CLUSTERS,
            "label_similarity": "cosine",
            "svp_max_iter": 10,
        },
        rows="ball",
        after_test=True,
        only_on=("mediamill",),
    ),
    "shipped": Reading(
        "as the authors' program ships",
        "Its learners, clusters, L̂, n̄ and k for each set, and label vectors of unit length; only λ is chosen. What "
        "else it does otherwise is not taken over.",
        {"label_similarity": "cosine"},
        shipped=True,
    ),
    "program": Reading(
        "as the authors' program ships and works",
        "The numbers that it ships, and what it does otherwise on MediaMill: label vectors of unit length, k-means by "
        "inner products, features as they are, SVP stopped early. Only λ is chosen. Still otherwise than there: "
        "gradient steps on two factors in place of SVP, and the smallest hundredth that is dropped.",
        {"label_similarity": "cosine", "svp_max_iter": 10},
        rows="ball",
        k_means="products",
        shipped=True,
        only_on=("mediamill",),
        splits=10,
        after_test=True,
    ),
    "large-early": Reading(
        "SVP stopped early, on a large set",
        "No open point, but what the next is held against: ten steps of SVP, with n̄ and λ of X1 (paper); k is chosen "
        "anew.",
        {"svp_max_iter": 10},
        as_for_one=True,
        for_large=True,
    ),
    "large-dimensions": Reading(
        "SVP stopped early, 300 dimensions, on a large set",
        "No open point, but a test: whether 50 dimensions are too few for a large set. All else as before.",
        {"svp_max_iter": 10, "embedding_dim": 300},
        as_for_one=True,
        for_large=True,
    ),
    "large-even": Reading(
        "SVP stopped early, no cluster over 13,000 points, on a large set",
        "No open point, but a test: the paper's clusters of WikiLSHTC have at most about 13,000 points (Section 1), "
        "twice their mean; here plain k-means makes far larger ones. Those over 13,000 points are split. All else as "
        "before.",
        {"svp_max_iter": 10, "max_cluster_size": 13_000},
        as_for_one=True,
        for_large=True,
    ),
    "large-products": Reading(
        "SVP stopped early, k-means by inner products, on a large set",
        "A point goes to the mean with which its inner product is largest, as in the authors' program. All else as "
        "before.",
        {"svp_max_iter": 10},
        k_means="products",
        as_for_one=True,
        for_large=True,
    ),
    "large-short-k-means": Reading(
        "SVP stopped early, k-means of seven rounds, on a large set",
        "A point goes to the nearest mean, and k-means ends after seven rounds. All else as before.",
        {"svp_max_iter": 10},
        k_means="short",
        as_for_one=True,
        for_large=True,
    ),
    "large-products-whole": Reading(
        "k-means by inner products, on a large set",
        "X1 (paper) with such clusters, SVP run as in X1 (paper). n̄ and λ are those of X1 (paper); k is chosen anew.",
        k_means="products",
        as_for_one=True,
        for_large=True,
    ),
    "wider": Reading(
        "a wider validation",
        "Section 3 validates k and n̄ to a limited extent and does not say among what. Here k from 2, n̄ from 10 to 800, "
        "and λ from 0.000001.",
        wider=True,
    ),
    "one-cluster-wider": Reading(
        "one cluster, a wider validation",
        "The two readings together: the choices for one cluster lie at the edge of what the others try.",
        {"n_clusters": 1},
        wider=True,
        only_on=("mediamill",),
        after_test=True,
    ),
}

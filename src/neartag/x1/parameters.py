"""X1's parameters as data: limits, defaults and the paper's names, for the estimator and the command line alike."""

from __future__ import annotations

from typing import Any

from neartag.core import parameters
from neartag.core.parameters import MAX_COUNT, MAX_PENALTY, N_JOBS, RANDOM_STATE, THRESHOLD, Parameter

# Words for a number that depends on the data: by the rules of `resolve.py`, or by those of the paper's section 3.
AUTO_OR_PAPER = ("auto", "paper")
UNLIMITED = "unlimited"
SIMILARITIES = ("cosine", "inner")
STARTS = ("k-means++", "random")
K_MEANS = ("quick", "plain")
PROJECTIONS = ("tangent", "exact")
DISTANCES = ("cosine", "euclidean")
SEARCHES = ("auto", "exact", "cells")
FEATURE_SEARCHES = ("auto", "all", "near")
PRECISIONS = ("float32", "float16", "int8")

PARAMETERS = (
    Parameter(
        "n_learners",
        int,
        "auto",
        "learners in the ensemble; auto: 1 for one cluster, else 3; paper: 15 with more than 10000 labels, else 1",
        1,
        choices=AUTO_OR_PAPER,
    ),
    Parameter(
        "n_clusters",
        int,
        "auto",
        "clusters of a learner, C; auto: n / 100000; paper: n / 6000, rounded down, at least 1",
        1,
        choices=AUTO_OR_PAPER,
    ),
    Parameter(
        "max_cluster_size",
        int,
        None,
        "largest number of points in a cluster; None: three times the average (the paper: unlimited)",
        2,
        choices=(UNLIMITED,),
        optional=True,
    ),
    Parameter("cluster_start", str, "k-means++", "how k-means starts (the original program: random)", choices=STARTS),
    Parameter(
        "k_means",
        str,
        "quick",
        "quick: few rounds, most on a sample, and over 32 clusters in two stages; plain: rounds over all points "
        "until nobody moves, at most 300 (the paper: plain)",
        choices=K_MEANS,
    ),
    Parameter("n_probe", int, 1, "nearest clusters searched for a point (the paper: 1)", 1),
    Parameter("centroid_entries", int, None, "entries kept of each centroid, the largest; None: all", 1, optional=True),
    Parameter(
        "embedding_dim",
        int,
        "auto",
        "dimension of the embeddings, L̂; auto: 200, in clusters of over 40000 points 100, with refine 64, or 100 where "
        "features are dense; paper: 50 with more than 10000 labels, else 100",
        1,
        choices=AUTO_OR_PAPER,
    ),
    Parameter(
        "svp_neighbours",
        int,
        100,
        "label neighbours preserved for each point, n̄; auto: chosen on held-out points, which trains four times more",
        1,
        choices=("auto",),
    ),
    Parameter(
        "label_similarity",
        str,
        "cosine",
        "how label vectors are compared to find neighbours, in Ω (the paper: inner)",
        choices=SIMILARITIES,
    ),
    Parameter("svp_step", float, 1.5, "step size of SVP, η (the paper: 1)", 1e-6, 10),
    Parameter(
        "svp_max_iter", int, "auto", "largest number of SVP steps; auto: 10, with refine 6", 1, choices=("auto",)
    ),
    Parameter("svp_tol", float, 1e-3, "SVP ends when its objective changes by less, relatively", 0),
    Parameter(
        "svp_projection",
        str,
        "tangent",
        "what SVP projects: its step along the tangent (tangent, quicker), or the whole step (exact; the paper)",
        choices=PROJECTIONS,
    ),
    Parameter(
        "l2",
        float,
        "auto",
        "L2 penalty of the regressors, λ; auto: 1, where features are dense and each has ten points of a cluster 0.001",
        0,
        MAX_PENALTY,
        choices=("auto",),
    ),
    Parameter("l1", float, 0.0, "L1 penalty that makes V·X sparse, μ", 0, MAX_PENALTY),
    Parameter("rho", float, 1.0, "penalty of ADMM's splitting, ρ", 1e-6, MAX_PENALTY),
    Parameter("admm_max_iter", int, 200, "largest number of ADMM rounds, where l1 > 0", 1),
    Parameter("admm_tol", float, 1e-3, "ADMM ends when both residuals are below this", 0),
    Parameter(
        "keep_weights",
        float,
        1.0,
        "share of the largest weights of V kept (the original program: 1 − w_thresh)",
        1e-6,
        1,
    ),
    Parameter("precision", str, "float32", "how V and the embedded points are rounded and stored", choices=PRECISIONS),
    Parameter(
        "vote_neighbours",
        int,
        "auto",
        "neighbours that vote, k of kNN; auto: 40 with refine, else chosen on held-out points",
        1,
        MAX_COUNT,
        choices=("auto",),
    ),
    Parameter(
        "vote_distance",
        str,
        "cosine",
        "distance between embedded points V·x (the original program: euclidean)",
        choices=DISTANCES,
    ),
    Parameter(
        "vote_search",
        str,
        "auto",
        "search among all embedded points (exact) or those in the nearest cells (cells); "
        "auto: cells with refine, else exact",
        choices=SEARCHES,
    ),
    Parameter(
        "vote_weight",
        str,
        "similarity",
        "how neighbours are weighted (the paper: uniform)",
        choices=parameters.VOTE_WEIGHTS,
    ),
    Parameter("vote_sharpness", float, 20.0, "a in the weight exp(a·(cos − 1))", 0),
    Parameter(
        "feature_share",
        float,
        "auto",
        "share of the vote for neighbours by the features themselves; auto: with refine 0.3, or 0 where features are "
        "dense, else chosen on held-out points (the paper: 0)",
        0,
        1,
        choices=("auto",),
    ),
    Parameter(
        "feature_search",
        str,
        "auto",
        "search for neighbours by features among all points (all) or those near by embedding (near); "
        "auto: near with refine where a search among all is slow, else all",
        choices=FEATURE_SEARCHES,
    ),
    Parameter(
        "vector_share",
        float,
        "auto",
        "share of the vote for neighbours by vectors, where rows have vectors beside their words; auto: with refine "
        "0.3, else chosen on held-out points",
        0,
        1,
        choices=("auto",),
    ),
    Parameter(
        "refine",
        bool,
        True,
        "let linear rankers decide among the labels that votes and label centroids propose. Votes "
        "alone decide in the paper, with fewer than 200 points, and for dense measurements where they are better on "
        "held-out points",
    ),
    Parameter(
        "refine_candidates",
        int,
        "auto",
        "candidates of refine from each vote and from the centroids; auto: 6 for each label of a point, at least 20 "
        "and at most 76",
        1,
        MAX_COUNT,
        choices=("auto",),
    ),
    Parameter(
        "refine_cost",
        float,
        "auto",
        "cost of the rankers' errors, C; auto: chosen on held-out points",
        1e-6,
        MAX_PENALTY,
        choices=("auto",),
    ),
    Parameter(
        "refine_min_weight", float, 0.05, "weights of the rankers below this are dropped", 0, aliases=("refine_least",)
    ),
    Parameter(
        "vector_weight",
        float,
        "auto",
        "weight of dense vectors against the words, where rows have both (HybridRows); auto: chosen on held-out points",
        0,
        MAX_PENALTY,
        choices=("auto",),
    ),
    THRESHOLD,
    RANDOM_STATE,
    N_JOBS,
    Parameter(
        "max_memory",
        bytes,
        None,
        "memory that training may use in all; with less, fewer clusters are trained at once, and a refinement that "
        "needs more is refused. None: no limit",
        optional=True,
    ),
)
DEFAULTS = parameters.defaults(PARAMETERS)


def check_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings as plain Python values; ParameterError for one that cannot be used or is not known."""
    return parameters.check_settings(settings, PARAMETERS, "X1")

"""The comparators' parameters as data, a table a method: limits, defaults, and what each one's paper calls it."""

from __future__ import annotations

from neartag.core.parameters import LARGEST_COUNT, LARGEST_PENALTY, N_JOBS, RANDOM_STATE, THRESHOLD, Parameter
from neartag.x1.parameters import DISTANCES, PARAMETERS

# This module must stay light: the command line reads it for --help.
SCALES = ("unit", "raw")
VOTES = ("uniform", "similarity")
DECODERS = ("omp", "cosamp")
RANKINGS = ("knn", "dot")
STEPS = ("adagrad", "plain")
SCORERS = ("naive_bayes", "one_vs_all")

ROW_SCALE = Parameter("row_scale", str, "unit", "feature rows scaled to unit length, or raw as given", choices=SCALES)
MAX_MEMORY = Parameter(
    "max_memory",
    bytes,
    None,
    "memory that training may use in all; it refuses to begin where it would need more. None: what the computer has",
    optional=True,
)
COMMON = (ROW_SCALE, THRESHOLD, RANDOM_STATE, N_JOBS, MAX_MEMORY)
_X1 = {parameter.name: parameter for parameter in PARAMETERS}


def _bias(default: float) -> Parameter:
    return Parameter("bias", float, default, "value of a constant feature added to each row; 0: none", 0, 1e6)


def _l2(default: float, meaning: str) -> Parameter:
    return Parameter("l2", float, default, meaning, 0, LARGEST_PENALTY)


def _dimension(name: str, letter: str) -> Parameter:
    return Parameter(
        name,
        float,
        "auto",
        f"{letter}: below 1 a share of the labels, from 1 on a number; auto: 0.8 of the labels, at most 500",
        1e-6,
        LARGEST_COUNT,
        choices=("auto",),
    )


TABLES: dict[str, tuple[Parameter, ...]] = {
    "leml": (
        _dimension("rank", "rank of the weights, k"),
        _l2(2.0, "L2 penalty of both factors, λ"),
        Parameter("max_iter", int, 2, "alternations between the two factors", 1),
        Parameter("cg_max_iter", int, 20, "steps of conjugate gradients an alternation at most", 1),
        _bias(1.0),
        *COMMON,
    ),
    "local_leml": (
        _X1["n_learners"],
        _X1["n_clusters"],
        _X1["max_cluster_size"],
        _X1["cluster_start"],
        _dimension("rank", "rank of each cluster's weights, k"),
        _l2(2.0, "L2 penalty of both factors, λ"),
        Parameter("max_iter", int, 2, "alternations between the two factors", 1),
        Parameter("cg_max_iter", int, 20, "steps of conjugate gradients an alternation at most", 1),
        _bias(1.0),
        *COMMON,
    ),
    "wsabie": (
        Parameter("dim", int, 100, "dimension of the joint space, D", 1, LARGEST_COUNT),
        Parameter("margin", float, 1.0, "by how much a right label must lead a wrong one", 1e-9, 1e6),
        Parameter("learning_rate", float, 0.05, "first step of stochastic gradients, γ; it falls to 0", 1e-9, 1e6),
        Parameter("steps", str, "adagrad", "steps by each row's gradients so far, or all alike", choices=STEPS),
        Parameter("max_norm", float, 4.0, "largest length of a feature's and of a label's vector, C", 1e-6, 1e6),
        Parameter("epochs", int, 20, "passes over the pairs of a point and one of its labels", 1, LARGEST_COUNT),
        Parameter(
            "max_draws",
            int,
            "auto",
            "wrong labels tried for a pair at most; auto: all but one (the paper), 1000 at most",
            1,
            LARGEST_COUNT,
            choices=("auto",),
        ),
        Parameter("ranking", str, "knn", "what ranks labels: nearest points, or dot products", choices=RANKINGS),
        Parameter("neighbours", int, 20, "nearest training points that vote, k", 1, LARGEST_COUNT),
        _X1["vote_weight"],
        _X1["vote_sharpness"],
        _bias(0.0),
        *COMMON,
    ),
    "cplst": (
        _dimension("dim", "label directions kept, M"),
        _l2(1.0, "L2 penalty of the regression, λ"),
        _bias(1.0),
        *COMMON,
    ),
    "cs": (
        _dimension("dim", "random projections, m"),
        Parameter("sparsity", int, 15, "labels decoded for a point at most, k", 1, LARGEST_COUNT),
        Parameter("decoder", str, "cosamp", "how the sparse label vector is found", choices=DECODERS),
        _l2(1.0, "L2 penalty of the regression, λ"),
        _bias(1.0),
        *COMMON,
    ),
    "ml_cssp": (
        _dimension("columns", "labels chosen, k"),
        _l2(1.0, "L2 penalty of the regression, λ"),
        _bias(1.0),
        *COMMON,
    ),
    "fastxml": (
        Parameter("trees", int, 50, "trees in the ensemble, T", 1, LARGEST_COUNT),
        Parameter("max_leaf", int, 10, "points in a leaf at most", 1, LARGEST_COUNT),
        Parameter("labels_per_leaf", int, 100, "labels kept of a leaf's distribution", 1, LARGEST_COUNT),
        Parameter(
            "log_loss_coefficient",
            float,
            3.0,
            "weight of the separator's log loss, C_δ; the larger the values of the features, the less is needed",
            1e-9,
            1e9,
        ),
        Parameter("ndcg_coefficient", float, 1.0, "weight of the rankings' nDCG, C_r; for max_iter above 1", 0, 1e9),
        Parameter("max_iter", int, 1, "times that a node's separator is learned", 1, LARGEST_COUNT),
        _bias(1.0),
        *COMMON,
    ),
    "lpsr": (
        Parameter("scorer", str, "naive_bayes", "the base scorer of points and labels", choices=SCORERS),
        Parameter("partitions", int, "auto", "parts of the input; auto: n / 1000", 1, LARGEST_COUNT, choices=("auto",)),
        Parameter(
            "labels_per_partition",
            int,
            "auto",
            "labels of a part at most; auto: a tenth of all, 100 at least",
            1,
            LARGEST_COUNT,
            choices=("auto",),
        ),
        Parameter("n_probe", int, 1, "nearest parts whose labels are scored for a point", 1, LARGEST_COUNT),
        Parameter("at", int, 5, "k of the precision that labels are assigned for", 1, LARGEST_COUNT),
        Parameter("weighted_rounds", int, 0, "rounds of k-means in which points that are ranked well weigh more", 0),
        Parameter("smoothing", float, 0.01, "added to each count of naive Bayes", 1e-9, 1e6),
        Parameter("C", float, 1.0, "cost of an error of the linear machines", 1e-9, 1e9),
        _bias(1.0),
        *COMMON,
    ),
    "one_vs_all": (
        Parameter("C", float, 1.0, "cost of a training error", 1e-9, 1e9),
        Parameter(
            "keep_above", float, 0.01, "weights of no larger size (times the feature's, if above 1) are dropped", 0, 1e6
        ),
        _bias(1.0),
        *COMMON,
    ),
    "knn": (
        Parameter("neighbours", int, 20, "nearest training points that vote, k", 1, LARGEST_COUNT),
        Parameter("metric", str, "cosine", "what makes points near", choices=DISTANCES),
        Parameter("vote_weight", str, "similarity", "one neighbour, one vote, or each by its nearness", choices=VOTES),
        *COMMON,
    ),
}

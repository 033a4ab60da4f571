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

from neartag.comparators.shared.parameters import COMMON, NEIGHBOURS, TRIED_SCALES, X1_PARAMETERS, bias
from neartag.core.method import Method, SearchSpace
from neartag.core.parameters import MAX_COUNT, Parameter

# This module must stay light: the command line reads it for --help.
METHOD = Method(
    name="wsabie",
    title="WSABIE",
    summary="a joint embedding of points and labels by the WARP loss, then a vote of nearest neighbours",
    reference="Weston, Bengio, Usunier 2011",
    description=__doc__,
    estimator="neartag.comparators.wsabie.classifier:WSABIEClassifier",
    model="neartag.comparators.wsabie.classifier:WSABIEModel",
    parameters=(
        Parameter("dim", int, 100, "dimension of the joint space, D", 1, MAX_COUNT),
        Parameter("margin", float, 1.0, "by how much a right label must lead a wrong one", 1e-9, 1e6),
        Parameter("learning_rate", float, 0.05, "first step of stochastic gradients, γ; it falls to 0", 1e-9, 1e6),
        Parameter(
            "steps", str, "adagrad", "steps by each row's gradients so far, or all alike", choices=("adagrad", "plain")
        ),
        Parameter("max_norm", float, 4.0, "largest length of a feature's and of a label's vector, C", 1e-6, 1e6),
        Parameter("epochs", int, 20, "passes over the pairs of a point and one of its labels", 1, MAX_COUNT),
        Parameter(
            "max_draws",
            int,
            "auto",
            "wrong labels tried for a pair at most; auto: all but one (the paper), 1000 at most",
            1,
            MAX_COUNT,
            choices=("auto",),
        ),
        Parameter("ranking", str, "knn", "what ranks labels: nearest points, or dot products", choices=("knn", "dot")),
        NEIGHBOURS,
        X1_PARAMETERS["vote_weight"],
        X1_PARAMETERS["vote_sharpness"],
        bias(0.0),
        *COMMON,
    ),
    # Chosen on a held-out fifth of the training data by benchmarks/choose_comparators.py.
    presets={
        "bibtex": {"max_norm": 10.0, "margin": 3.0, "learning_rate": 0.1, "neighbours": 30, "vote_sharpness": 10.0},
        "delicious": {"learning_rate": 0.1, "epochs": 10, "neighbours": 80, "vote_sharpness": 10.0},
        "mediamill": {
            "row_scale": "raw",
            "margin": 0.01,
            "steps": "plain",
            "learning_rate": 0.005,
            "vote_sharpness": 40.0,
        },
        "eurlex": {
            "dim": 200,
            "margin": 0.3,
            "steps": "plain",
            "learning_rate": 0.02,
            "epochs": 10,
            "neighbours": 15,
            "vote_sharpness": 10.0,
        },
    },
    search_space=SearchSpace(
        {"margin": [1.0, 0.01, 0.3, 3.0], "learning_rate": [0.1, 0.02], "dim": [100, 200], **TRIED_SCALES},
        {
            "neighbours": [20, 10, 30, 50, 80],
            "vote_weight": ["similarity", "uniform"],
            "vote_sharpness": [20.0, 10.0, 40.0],
        },
    ),
    prediction=("ranking", "neighbours", "vote_weight", "vote_sharpness", "threshold"),
    colour="#cc79a7",
    place=3,
)
__getattr__ = METHOD.public_class  # the two classes, imported when asked for

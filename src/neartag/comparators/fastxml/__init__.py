"""FastXML: an ensemble of trees whose nodes part the points so that each side's labels are easy to rank.

Prabhu and Varma, "FastXML: a fast, accurate and stable tree-classifier for extreme multi-label learning", KDD 2014.

Objective of a node with points i, a separator w, a side δᵢ = ±1 for each point and a ranking of labels for each side:

    min ‖w‖₁ + Σᵢ C_δ(δᵢ) log(1 + exp(−δᵢ ⟨w, xᵢ⟩))
             − C_r Σᵢ nDCG(ranking of side δᵢ, yᵢ)

In turns from random sides and w = 0: each side's labels are ranked by how much nDCG they bring, and each point moves
to the side whose ranking suits it better, until that changes next to nothing; then w is learned for these sides. Points
go to the side of ⟨w, x⟩. A node that has few points, points of the same labels, or no separator that parts them is a
leaf. A label's score is the share of the leaf's points that have it, averaged over the trees.

Where this differs from the paper: C_δ of a side is C_δ · points / points of the side, so that a smaller side is not
given up, and w is learned once a node, both as in the authors' program (`max_iter` learns it again, and only then does
the size of C_r matter). Columns whose weight is zero for certain are left out before w is learned, which changes
nothing. Newton steps and passes are bounded: exact separators cost more than they bring.

Cost: a level of a tree takes some ten passes over the entries of the points' rows and a few over their labels; a tree
has about log n levels where sides are balanced, n at worst. Predicting walks T trees: the entries of the separators on
the way. Memory: the rows once more as columns a thread, and the trees, for each at most one number a label of a point
and a few weights a point.
"""

from __future__ import annotations

from neartag.comparators.shared.parameters import COMMON, TRIED_SCALES, bias
from neartag.core.method import Method, SearchSpace
from neartag.core.parameters import MAX_COUNT, Parameter

# This module must stay light: the command line reads it for --help.
METHOD = Method(
    name="fastxml",
    title="FastXML",
    summary="an ensemble of trees whose nodes part the points by an nDCG loss",
    reference="Prabhu, Varma 2014",
    description=__doc__,
    estimator="neartag.comparators.fastxml.classifier:FastXMLClassifier",
    model="neartag.comparators.fastxml.classifier:FastXMLModel",
    parameters=(
        Parameter("trees", int, 50, "trees in the ensemble, T", 1, MAX_COUNT),
        Parameter("max_leaf", int, 10, "points in a leaf at most", 1, MAX_COUNT),
        Parameter("labels_per_leaf", int, 100, "labels kept of a leaf's distribution", 1, MAX_COUNT),
        Parameter(
            "log_loss_coefficient",
            float,
            3.0,
            "weight of the separator's log loss, C_δ; the larger the values of the features, the less is needed",
            1e-9,
            1e9,
        ),
        Parameter("ndcg_coefficient", float, 1.0, "weight of the rankings' nDCG, C_r; for max_iter above 1", 0, 1e9),
        Parameter("max_iter", int, 1, "times that a node's separator is learned", 1, MAX_COUNT),
        bias(1.0),
        *COMMON,
    ),
    # Chosen on a held-out fifth of the training data by benchmarks/choose_comparators.py.
    presets={
        "bibtex": {"row_scale": "raw", "log_loss_coefficient": 1.0},
        "delicious": {"row_scale": "raw", "log_loss_coefficient": 1.0},
        "mediamill": {"row_scale": "raw", "log_loss_coefficient": 30.0},
        "eurlex": {"log_loss_coefficient": 2.0},
        "yso-finna-en-100k": {"log_loss_coefficient": 1.0},
    },
    search_space=SearchSpace({"log_loss_coefficient": [3.0, 1.0, 10.0, 30.0], **TRIED_SCALES}),
    colour="#7f4f24",
    place=7,
    scales=True,
)
__getattr__ = METHOD.public_class  # the two classes, imported when asked for

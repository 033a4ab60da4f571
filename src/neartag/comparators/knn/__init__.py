"""k nearest neighbours on the features themselves: the floor that anything learned must beat.

Cover and Hart, "Nearest neighbor pattern classification", 1967; with many labels, each neighbour votes for all of its.

Objective: none, nothing is learned. A label's score is the share of the k nearest training points' votes that it has;
a vote is 1, or the neighbour's nearness: its cosine, or 1 / (1 + distance).

Cost: training keeps the rows. Predicting a point looks at the lists of its features, n · d̄² / d steps for d̄ of d
features a row, or at all n rows, n · d, where rows are dense; then k · L̄ for the vote. Memory: the rows.

By cosine, and where that saves most of the work, rows that only share frequent features of little weight with a point
may be missed: the search of `neartag.search.inverted_index`, which found 99.9% of the neighbours on EUR-Lex.
"""

from __future__ import annotations

from neartag.comparators.shared.parameters import COMMON, NEIGHBOURS, TRIED_SCALES
from neartag.core.method import Method, SearchSpace
from neartag.core.parameters import Parameter
from neartag.x1.parameters import DISTANCES

# This module must stay light: the command line reads it for --help.
METHOD = Method(
    name="knn",
    title="kNN",
    summary="a vote of the nearest training points by the features themselves",
    reference="Cover, Hart 1967",
    description=__doc__,
    estimator="neartag.comparators.knn.classifier:KNNClassifier",
    model="neartag.comparators.knn.classifier:KNNModel",
    parameters=(
        NEIGHBOURS,
        Parameter("metric", str, "cosine", "what makes points near", choices=DISTANCES),
        Parameter(
            "vote_weight",
            str,
            "similarity",
            "one neighbour, one vote, or each by its nearness",
            choices=("uniform", "similarity"),
        ),
        *COMMON,
    ),
    # Chosen on a held-out fifth of the training data by benchmarks/choose_comparators.py.
    presets={
        "bibtex": {"neighbours": 30},
        "delicious": {"neighbours": 20},
        "mediamill": {"neighbours": 10, "metric": "euclidean", "row_scale": "raw"},
        "eurlex": {"neighbours": 10},
    },
    search_space=SearchSpace(
        TRIED_SCALES,
        {
            "neighbours": [20, 5, 10, 15, 30, 50, 80],
            "metric": ["cosine", "euclidean"],
            "vote_weight": ["similarity", "uniform"],
        },
    ),
    prediction=("neighbours", "metric", "vote_weight", "threshold"),
    colour="#666666",
    place=10,
    learns=False,
    scales=True,
)
__getattr__ = METHOD.public_class  # the two classes, imported when asked for

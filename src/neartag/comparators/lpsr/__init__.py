"""Label partitioning: points are parted, each part has a few labels, and only these are scored for a point.

Weston, Makadia, Yee, "Label partitioning for sublinear ranking", ICML 2013.

1. A base scorer of all labels is learned: naive Bayes, or a linear machine a label.
2. The points are parted by k-means.
3. Objective of the assignment: each part gets labels such that the scorer's best k are right most often: maximise over
   sets of `labels_per_partition` labels that occur in the part the number of pairs (t, y) of a point t and its label y
   with y in the set and fewer than k others of the set scored above it. As in the paper the set is relaxed to shares
   α_y from 0 to 1 of that sum, and the step "fewer than k" to a sigmoid:

       Σₜ Σ_y α_y · (1 − σ(s · (Σ_{i above y} αᵢ − k + ½)))

   climbed by projected gradients from equal shares on. Of the sets of largest
   shares on the way, and of the most frequent labels, the set with most pairs
   is taken.
4. A point goes to its `n_probe` nearest parts, and their labels are ranked by the base scorer.

Where this differs from the paper: each right label counts the same, as in precision at k; the gradient is of all
points of a part, not of one at a time; parts with very many points and labels are assigned from a sample. In the paper
points that the scorer ranks well weigh more in k-means; `weighted_rounds` does that: so many more rounds of k-means,
a point's weight the mean of 1 / rank of its labels among those of its part.

Cost: the base scorer's training; n · d̄ · parts a round of k-means; for the assignment the base scores of each point for
the labels that occur in its part, sorted, and gone through ROUNDS times. Prediction: the centroids' entries of the
point's features, then its features times the labels of its parts, whatever the number of all labels. Memory: the scorer
(naive Bayes: an entry a label and feature that occur together), d · parts of centroids, and a bounded number of scores.
"""

from __future__ import annotations

from neartag.comparators.shared.parameters import COMMON, TRIED_SCALES, bias
from neartag.core.method import Method, SearchSpace
from neartag.core.parameters import MAX_COUNT, Parameter

# This module must stay light: the command line reads it for --help.
METHOD = Method(
    name="lpsr",
    title="LPSR",
    summary="a partition of the points, each part with a few labels that a base scorer ranks",
    reference="Weston, Makadia, Yee 2013",
    description=__doc__,
    estimator="neartag.comparators.lpsr.classifier:LPSRClassifier",
    model="neartag.comparators.lpsr.classifier:LPSRModel",
    parameters=(
        Parameter(
            "scorer",
            str,
            "naive_bayes",
            "the base scorer of points and labels",
            choices=("naive_bayes", "one_vs_all"),
        ),
        Parameter("partitions", int, "auto", "parts of the input; auto: n / 1000", 1, MAX_COUNT, choices=("auto",)),
        Parameter(
            "labels_per_partition",
            int,
            "auto",
            "labels of a part at most; auto: a tenth of all, 100 at least",
            1,
            MAX_COUNT,
            choices=("auto",),
        ),
        Parameter("n_probe", int, 1, "nearest parts whose labels are scored for a point", 1, MAX_COUNT),
        Parameter("at", int, 5, "k of the precision that labels are assigned for", 1, MAX_COUNT),
        Parameter("weighted_rounds", int, 0, "rounds of k-means in which points that are ranked well weigh more", 0),
        Parameter("smoothing", float, 0.01, "added to each count of naive Bayes", 1e-9, 1e6),
        Parameter("C", float, 1.0, "cost of an error of the linear machines", 1e-9, 1e9),
        bias(1.0),
        *COMMON,
    ),
    # Chosen on a held-out fifth of the training data by benchmarks/choose_comparators.py.
    presets={
        "bibtex": {"scorer": "one_vs_all", "C": 0.4, "partitions": 5, "labels_per_partition": 100, "n_probe": 2},
        "delicious": {"scorer": "one_vs_all", "C": 0.3, "partitions": 5, "labels_per_partition": 250},
        "mediamill": {
            "scorer": "one_vs_all",
            "row_scale": "raw",
            "C": 10.0,
            "partitions": 5,
            "labels_per_partition": 80,
        },
        "eurlex": {"scorer": "one_vs_all", "partitions": 5, "labels_per_partition": 2000, "n_probe": 2},
        "yso-finna-en-100k": {"smoothing": 0.001, "partitions": 16, "labels_per_partition": 4000, "n_probe": 4},
    },
    search_space=SearchSpace(
        {"scorer": ["naive_bayes", "one_vs_all"], "partitions": ["auto", 5], **TRIED_SCALES}, {"n_probe": [1, 2, 4]}
    ),
    prediction=("n_probe", "threshold"),
    colour="#5e4fa2",
    place=8,
    scales=True,
)
__getattr__ = METHOD.public_class  # the two classes, imported when asked for

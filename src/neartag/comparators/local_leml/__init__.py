"""LocalLEML: LEML by itself in each of the clusters that X1 would use, and an ensemble of such clusterings.

Bhatia, Jain, Kar, Varma, Jain, "Sparse local embeddings for extreme multi-label classification", NIPS 2015, section 4,
where it answers whether X1's gain is from clustering alone; LEML is Yu, Jain, Kar, Dhillon 2014 (see `leml`).

Objective, in each cluster c of each learner, over the features and labels that its points have:

    min over W, H of ½ ‖Y_c − X_c W Hᵀ‖² + ½ λ (‖W‖² + ‖H‖²)

A point goes to its nearest centroid, whose regression scores the cluster's own labels; scores are averaged over the
learners, a label that a cluster does not know counting as 0. The clusters are made by X1's own code from the same
seeds: the same settings give the same clusters to the last point.

Cost: k-means, then LEML's with each cluster's own n, d and L; together no more than LEML's a learner. Memory: one
cluster a core at a time, and all factors, learners · clusters · (d_c + L_c) · r numbers. Predicting a point takes
d̄ · C + d̄ · r + L_c · r a learner.
"""

from __future__ import annotations

from neartag.comparators.leml import ALTERNATIONS
from neartag.comparators.shared.parameters import COMMON, TRIED_L2, TRIED_SCALES, X1_PARAMETERS, share_or_number
from neartag.core.method import Method, SearchSpace

# This module must stay light: the command line reads it for --help.
# X1's parameters of its clusters, which are the same here.
CLUSTERING = ("n_learners", "n_clusters", "max_cluster_size", "cluster_start", "k_means")
METHOD = Method(
    name="local_leml",
    title="LocalLEML",
    summary="LEML in each of X1's clusters, an ensemble over clusterings",
    reference="Bhatia, Jain, Kar, Varma, Jain 2015",
    description=__doc__,
    estimator="neartag.comparators.local_leml.classifier:LocalLEMLClassifier",
    model="neartag.comparators.local_leml.classifier:LocalLEMLModel",
    parameters=(
        *(X1_PARAMETERS[name] for name in CLUSTERING),
        share_or_number("rank", "rank of each cluster's weights, k"),
        *ALTERNATIONS,
        *COMMON,
    ),
    # Chosen on a held-out fifth of the training data by benchmarks/choose_comparators.py. In one cluster it is LEML;
    # where that was the best, the best with several was taken.
    presets={
        "bibtex": {"n_clusters": 3, "n_learners": 5, "l2": 1.0, "max_iter": 1, "bias": 0.0},
        "delicious": {"n_clusters": 5, "n_learners": 5, "l2": 10.0, "max_iter": 3, "bias": 0.5},
        "mediamill": {"n_clusters": 40, "n_learners": 5, "row_scale": "raw", "l2": 0.01},
        "eurlex": {"n_clusters": 3, "n_learners": 3, "l2": 1.0, "max_iter": 1, "bias": 0.0},
    },
    search_space=SearchSpace(
        {"n_clusters": [3, 5], "n_learners": [3], "l2": [*TRIED_L2, 0.01], "bias": [1.0, 0.0], **TRIED_SCALES}
    ),
    colour="#e69f00",
    place=2,
)
__getattr__ = METHOD.public_class  # the two classes, imported when asked for

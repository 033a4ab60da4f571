"""X1, the paper's method, published as SLEEC.

Kush Bhatia, Himanshu Jain, Purushottam Kar, Manik Varma and Prateek Jain, "Sparse Local Embeddings for Extreme
Multi-label Classification", NIPS 2015.

Objective: in each cluster of the points, with Ω the pairs of a point and its n̄ nearest label vectors, embeddings Z and
then regressors V

    min over Z (n, L̂) of ‖P_Ω(Y·Yᵀ) − P_Ω(Z·Zᵀ)‖²
    min over V (d, L̂) of ‖Z − X·V‖² + λ‖V‖² + μ‖X·V‖₁

A label's share of the votes is that of the training points nearest to x·V, and with a share of its own of those nearest
to x. Votes and label centroids then propose labels, and a linear ranker of each label decides (`refine`, not in the
paper). With `refine=False` the share of the votes is the score.

Cost: a step of SVP takes n·L̂² + |Ω|·L̂ steps, the regression one factor of the smaller of d × d and n × n, or
conjugate gradients. Predicting a point takes d̄·L̂ for x·V, n·L̂ for the neighbours in its cluster and k·L̄ for the vote.
Memory: V, X·V and, where features vote too, the rows.
"""

from __future__ import annotations

from neartag.core.method import Method, SearchSpace
from neartag.x1.parameters import PARAMETERS
from neartag.x1.presets import PRESETS

# This module must stay light: the command line reads it for --help.
VOTES_SPACE = SearchSpace(
    # Penalties far below 1 are for dense measurements, those far above for short texts.
    {"embedding_dim": [200, 100, 300], "l2": [1.0, 3.0, 0.1, 10.0, 0.001], "svp_neighbours": [100, 200]},
    {
        "vote_neighbours": [20, 10, 15, 30, 40, 60, 80],
        "feature_share": [0.2, 0.0, 0.1, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9],
        "vote_sharpness": [20.0, 10.0, 40.0],
    },
    # Several clusters, and so several learners, were better or cheaper on some data.
    many_points={"n_clusters": ["auto", 3]},
    # Trained with no share for features, a model keeps no rows to search by them.
    train_at_largest=("feature_share",),
    when={"refine": False},
    unused=("refine_candidates", "refine_cost", "refine_min_weight"),
)
REFINED_SPACE = SearchSpace(
    # For votes that only propose, "auto" is 40 neighbours and a penalty of 1, or 0.001 where features are dense.
    {
        "refine_cost": ["auto", 0.5, 1.0, 0.3, 2.0],
        "embedding_dim": ["auto", 100, 200],
        "vote_neighbours": ["auto", 20, 80],
        "l2": ["auto", 3.0, 10.0],
    },
    when={"refine": True},
    retrains=True,  # the fusion of votes and rankers was fitted to the votes of training
    others=(VOTES_SPACE,),
)

METHOD = Method(
    name="x1",
    title="X1 (SLEEC)",
    summary="local embeddings that keep each label vector's nearest neighbours; these vote, and rankers decide",
    reference="Bhatia, Jain, Kar, Varma, Jain 2015",
    description=__doc__,
    estimator="neartag.x1.classifier:X1Classifier",
    model="neartag.x1.model:X1Model",
    parameters=PARAMETERS,
    presets=PRESETS,
    search_space=REFINED_SPACE,
    prediction=(
        "n_probe",
        "vote_neighbours",
        "vote_search",
        "vote_weight",
        "vote_sharpness",
        "feature_share",
        "feature_search",
        "vector_share",
        "threshold",
    ),
    colour="#08306b",
    highlight=True,
    place=0,
    scales=True,
    explains=True,
    unit_rows=True,
    by_tasks=True,
    updates="neartag.x1.update",
    inspection="neartag.x1.inspection:describe",
    first_answer="neartag.x1.first_answer:hasten_first_answer",
)

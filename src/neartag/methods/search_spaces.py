"""What `neartag tune` tries of each method unless told otherwise: a small grid, the likeliest value of each first.

Values are those between which the data sets measured in neartag's documentation differ. "Training" settings need the
method to be trained again, "prediction" settings do not.
"""

from __future__ import annotations

from typing import Any, NamedTuple

# This module must stay light: the command line reads it for --help.
Choices = dict[str, list[Any]]
# From so many points on, several clusters, and so several learners, were better or cheaper on some data.
MANY_POINTS = 20_000

_SHARES = [0.2, 0.0, 0.1, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
_L2 = [1.0, 0.1, 3.0, 10.0]
_SCALED = {"row_scale": ["unit", "raw"]}


class Grid(NamedTuple):
    """Settings to be tried, by name."""

    training: Choices
    prediction: Choices


GRIDS: dict[str, Grid] = {
    "x1": Grid(
        # Penalties far below 1 are for dense measurements, those far above for short texts.
        {"embedding_dim": [200, 100, 300], "svp_neighbours": [100, 200], "l2": [1.0, 0.001, 0.1, 3.0, 10.0]},
        {
            "vote_neighbours": [20, 10, 15, 30, 40, 60, 80],
            "feature_share": _SHARES,
            "vote_sharpness": [20.0, 10.0, 40.0],
        },
    ),
    "leml": Grid({"l2": [*_L2, 0.01], "max_iter": [1, 3, 10], "bias": [1.0, 0.0], **_SCALED}, {}),
    "local_leml": Grid(
        {"n_clusters": [3, 5], "n_learners": [3], "l2": [*_L2, 0.01], "bias": [1.0, 0.0], **_SCALED}, {}
    ),
    "wsabie": Grid(
        {"margin": [1.0, 0.01, 0.3, 3.0], "learning_rate": [0.1, 0.02], "dim": [100, 200], **_SCALED},
        {
            "neighbours": [20, 10, 30, 50, 80],
            "vote_weight": ["similarity", "uniform"],
            "vote_sharpness": [20.0, 10.0, 40.0],
        },
    ),
    "cplst": Grid({"dim": ["auto", 0.1, 0.5], "l2": [*_L2, 1e-3], "bias": [1.0, 0.0], **_SCALED}, {}),
    "cs": Grid(
        {"dim": ["auto", 0.5], "l2": [*_L2, 0.01], "bias": [1.0, 0.0], **_SCALED},
        {"sparsity": [15, 5, 10, 25], "decoder": ["cosamp", "omp"]},
    ),
    "ml_cssp": Grid({"columns": ["auto", 0.5], "l2": [*_L2, 1e-3], "bias": [1.0, 0.0], **_SCALED}, {}),
    "fastxml": Grid({"log_loss_coefficient": [3.0, 1.0, 10.0, 30.0], **_SCALED}, {}),
    "lpsr": Grid(
        {"scorer": ["naive_bayes", "one_vs_all"], "partitions": ["auto", 5], **_SCALED},
        {"n_probe": [1, 2, 4]},
    ),
    "one_vs_all": Grid({"C": [1.0, 0.1, 0.4, 3.0, 10.0], "bias": [1.0, 0.3], **_SCALED}, {}),
    "knn": Grid(
        dict(_SCALED),
        {
            "neighbours": [20, 5, 10, 15, 30, 50, 80],
            "metric": ["cosine", "euclidean"],
            "vote_weight": ["similarity", "uniform"],
        },
    ),
}


def grid(method: str, points: int) -> Grid:
    """Return what is tried of a method on so many points; the dictionaries are the caller's own."""
    training, prediction = dict(GRIDS[method].training), dict(GRIDS[method].prediction)
    if method == "x1" and points >= MANY_POINTS:
        training["n_clusters"] = ["auto", 3]
    return Grid(training, prediction)

"""Settings of the comparators that are tried on a held-out part: by method, by data set, each value with each other.

A method's "training" settings need it to be trained again, its "prediction" settings do not. "" stands for every data
set that is not named.
"""

from __future__ import annotations

from typing import Any

Grid = dict[str, list[Any]]

# method -> data set -> (training settings, prediction settings)
GRIDS: dict[str, dict[str, tuple[Grid, Grid]]] = {
    "leml": {
        "bibtex": ({"rank": [0.4, 0.8], "l2": [0.5, 1.0, 1.5, 2.0], "max_iter": [1, 2, 10], "bias": [0.0, 1.0]}, {}),
        "delicious": ({"l2": [3.0, 10.0, 20.0, 30.0], "max_iter": [1, 3, 10], "bias": [0.5, 1.0, 2.0]}, {}),
        "mediamill-rand": (
            {"row_scale": ["unit", "raw"], "l2": [1e-5, 1e-4, 1e-3, 1e-2, 0.1], "max_iter": [10], "bias": [0.0, 1.0]},
            {},
        ),
        "eurlex4k-partial": ({"rank": [500, 800, 1500], "l2": [1.0, 2.0], "max_iter": [1, 4], "bias": [0.0]}, {}),
        "yso-finna-en-100k": ({"rank": [500, 1000], "l2": [1.0, 3.0], "max_iter": [1, 3], "bias": [0.0]}, {}),
    },
    "local_leml": {
        "bibtex": (
            {"n_clusters": [1, 3, 5], "n_learners": [5], "l2": [0.5, 1.0, 2.0], "max_iter": [1, 3], "bias": [0.0]},
            {},
        ),
        "delicious": (
            {"n_clusters": [1, 3, 5], "n_learners": [5], "l2": [3.0, 10.0], "max_iter": [3], "bias": [0.5]},
            {},
        ),
        "mediamill-rand": (
            {"n_clusters": [1, 5, 10, 20, 40], "n_learners": [5], "row_scale": ["raw"], "l2": [1e-4, 1e-2, 0.1]},
            {},
        ),
        "eurlex4k-partial": (
            {"n_clusters": [3, 5], "n_learners": [3], "l2": [0.5, 1.0], "max_iter": [1], "bias": [0.0]},
            {},
        ),
    },
    "wsabie": {
        "bibtex": (
            {"max_norm": [4.0, 10.0], "margin": [1.0, 3.0], "learning_rate": [0.05, 0.1], "dim": [100, 200]},
            {"neighbours": [20, 30, 50], "vote_weight": ["similarity", "uniform"], "vote_sharpness": [5.0, 10.0, 20.0]},
        ),
        "delicious": (
            {"max_norm": [4.0], "margin": [0.1, 0.3, 1.0], "learning_rate": [0.05, 0.1], "epochs": [10]},
            {"neighbours": [40, 60, 80], "vote_weight": ["similarity", "uniform"], "vote_sharpness": [10.0, 20.0]},
        ),
        "mediamill-rand": (
            {
                "row_scale": ["raw"],
                "margin": [0.01],  # 0.03 and 0.1 were worse
                "steps": ["adagrad", "plain"],
                "learning_rate": [0.005, 0.02, 0.1, 0.2],
            },
            {"neighbours": [8, 12, 20], "vote_weight": ["similarity", "uniform"], "vote_sharpness": [10.0, 20.0, 40.0]},
        ),
        "eurlex4k-partial": (
            {
                "margin": [0.3, 1.0],
                "steps": ["adagrad", "plain"],
                "learning_rate": [0.02, 0.1],
                "dim": [200],  # 100 was a little worse
                "epochs": [5, 10],
            },
            {"neighbours": [8, 15], "vote_weight": ["similarity", "uniform"], "vote_sharpness": [10.0, 20.0]},
        ),
    },
    "cplst": {
        "bibtex": ({"dim": [0.2, 0.5, 0.8], "l2": [0.2, 0.5, 1.0, 2.0], "bias": [0.0, 0.3, 1.0]}, {}),
        "delicious": (
            {"dim": [0.1, 0.3, 0.8], "l2": [0.3, 1.0, 3.0, 10.0], "bias": [0.0, 1.0], "row_scale": ["unit", "raw"]},
            {},
        ),
        "mediamill-rand": (
            {"dim": [0.5, 0.8], "l2": [1e-5, 1e-4, 1e-3, 1e-2], "bias": [0.0, 1.0], "row_scale": ["unit", "raw"]},
            {},
        ),
        "eurlex4k-partial": ({"dim": [500, 0.8], "l2": [0.3, 1.0], "bias": [0.0]}, {}),
    },
    "cs": {
        "bibtex": (
            {"dim": [0.5, 0.8], "l2": [0.5, 1.0, 2.0, 3.0], "bias": [0.0, 0.3, 1.0]},
            {"sparsity": [5, 7, 10, 15, 25], "decoder": ["omp", "cosamp"]},
        ),
        "delicious": (
            {"dim": [0.5, 0.8], "l2": [1.0, 3.0, 10.0], "bias": [0.0, 1.0], "row_scale": ["unit", "raw"]},
            {"sparsity": [5, 10, 15, 25], "decoder": ["omp", "cosamp"]},
        ),
        "mediamill-rand": (
            {"dim": [0.5, 0.8], "l2": [1e-4, 1e-3, 1e-2], "bias": [0.0, 1.0], "row_scale": ["unit", "raw"]},
            {"sparsity": [5, 7, 10, 15], "decoder": ["omp", "cosamp"]},
        ),
        "eurlex4k-partial": (
            {"dim": [500, 0.8], "l2": [0.3, 1.0], "bias": [0.0]},
            {"sparsity": [5, 10, 20], "decoder": ["omp", "cosamp"]},
        ),
    },
    "ml_cssp": {
        "bibtex": ({"columns": [0.5, 0.8], "l2": [0.3, 0.5, 1.0, 2.0], "bias": [0.0, 0.3, 1.0]}, {}),
        "delicious": (
            {"columns": [0.5, 0.8], "l2": [0.3, 1.0, 3.0, 10.0], "bias": [0.0, 1.0], "row_scale": ["unit", "raw"]},
            {},
        ),
        "mediamill-rand": (
            {"columns": [0.5, 0.8], "l2": [1e-5, 1e-4, 1e-3, 1e-2], "bias": [0.0, 1.0], "row_scale": ["unit", "raw"]},
            {},
        ),
        "eurlex4k-partial": ({"columns": [500, 0.8], "l2": [0.3, 1.0], "bias": [0.0]}, {}),
    },
    "fastxml": {
        "": ({"row_scale": ["unit", "raw"], "log_loss_coefficient": [1.0, 2.0, 3.0]}, {}),
        "mediamill-rand": ({"row_scale": ["unit", "raw"], "log_loss_coefficient": [3.0, 10.0, 30.0]}, {}),
    },
    "lpsr": {
        "bibtex": (
            {
                "scorer": ["one_vs_all", "naive_bayes"],
                "C": [0.4],
                "partitions": [2, 5, 10],
                "labels_per_partition": [50, 100],
            },
            {"n_probe": [1, 2]},
        ),
        "delicious": (
            {
                "scorer": ["one_vs_all", "naive_bayes"],
                "C": [0.3],
                "partitions": [2, 5],
                "labels_per_partition": [250, 500],
            },
            {"n_probe": [1, 2]},
        ),
        "mediamill-rand": (
            {
                "scorer": ["one_vs_all", "naive_bayes"],
                "row_scale": ["raw"],
                "C": [10.0],
                "partitions": [2, 5, 10],
                "labels_per_partition": [40, 80],
            },
            {"n_probe": [1, 2]},
        ),
        "eurlex4k-partial": (
            {"scorer": ["one_vs_all"], "partitions": [2, 5], "labels_per_partition": [1000, 2000]},
            {"n_probe": [1, 2]},
        ),
        "yso-finna-en-100k": (
            {"partitions": [4, 16, 64], "labels_per_partition": [1000, 4000], "smoothing": [0.001, 0.01]},
            {"n_probe": [1, 2, 4]},
        ),
    },
    "one_vs_all": {
        "": ({"row_scale": ["unit", "raw"], "C": [0.1, 0.3, 0.4, 1.0, 3.0], "bias": [0.3, 1.0]}, {}),
        "mediamill-rand": ({"row_scale": ["unit", "raw"], "C": [1.0, 10.0, 100.0], "bias": [1.0]}, {}),
        "eurlex4k-partial": ({"C": [0.5, 1.0, 2.0], "bias": [0.3, 1.0]}, {}),
    },
    "knn": {
        "": (
            {"row_scale": ["unit", "raw"]},
            {
                "neighbours": [5, 10, 15, 20, 30, 50, 80],
                "metric": ["cosine", "euclidean"],
                "vote_weight": ["uniform", "similarity"],
            },
        ),
    },
}

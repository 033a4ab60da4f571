"""The comparators' settings per data set, chosen on a held-out fifth of the training data.

`benchmarks/choose_comparators.py` repeats the choice. A preset only sets what differs from the defaults.
"""

from __future__ import annotations

from typing import Any

CHOSEN: dict[str, dict[str, dict[str, Any]]] = {
    "leml": {
        "bibtex": {"l2": 0.5, "max_iter": 1, "bias": 0.0},
        "delicious": {"l2": 10.0, "max_iter": 3, "bias": 0.5},
        "mediamill": {"row_scale": "raw", "l2": 0.01, "max_iter": 10, "bias": 0.0},
        "eurlex": {"rank": 1500, "l2": 1.0, "max_iter": 1, "bias": 0.0},
        "yso-finna-en-100k": {"rank": 1000, "l2": 3.0, "max_iter": 3, "bias": 0.0},
    },
    # In one cluster it is LEML; where that was the best, the best with several was taken.
    "local_leml": {
        "bibtex": {"n_clusters": 3, "n_learners": 5, "l2": 1.0, "max_iter": 1, "bias": 0.0},
        "delicious": {"n_clusters": 5, "n_learners": 5, "l2": 10.0, "max_iter": 3, "bias": 0.5},
        "mediamill": {"n_clusters": 40, "n_learners": 5, "row_scale": "raw", "l2": 0.01},
        "eurlex": {"n_clusters": 3, "n_learners": 3, "l2": 1.0, "max_iter": 1, "bias": 0.0},
    },
    "wsabie": {
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
    "cplst": {
        "bibtex": {"l2": 0.5},
        "delicious": {"dim": 0.1},
        "mediamill": {"dim": 0.5, "l2": 1e-5, "row_scale": "raw"},
        "eurlex": {"dim": 0.8, "bias": 0.0},
    },
    "cs": {
        "bibtex": {"bias": 0.0, "sparsity": 25},
        "delicious": {"dim": 0.8, "sparsity": 25},
        "mediamill": {"l2": 0.01, "bias": 0.0, "row_scale": "raw"},
        "eurlex": {"dim": 0.8, "bias": 0.0, "sparsity": 10},
    },
    "ml_cssp": {
        "bibtex": {"bias": 0.3},
        "delicious": {"columns": 0.8, "l2": 3.0},
        "mediamill": {"l2": 1e-4, "bias": 0.0, "row_scale": "raw"},
        "eurlex": {"columns": 0.8, "bias": 0.0},
    },
    "fastxml": {
        "bibtex": {"row_scale": "raw", "log_loss_coefficient": 1.0},
        "delicious": {"row_scale": "raw", "log_loss_coefficient": 1.0},
        "mediamill": {"row_scale": "raw", "log_loss_coefficient": 30.0},
        "eurlex": {"log_loss_coefficient": 2.0},
        "yso-finna-en-100k": {"log_loss_coefficient": 1.0},
    },
    "lpsr": {
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
    "one_vs_all": {
        "bibtex": {"C": 0.4},
        "delicious": {"C": 0.3},
        "mediamill": {"row_scale": "raw", "C": 10.0},
        "eurlex": {},
    },
    "knn": {
        "bibtex": {"neighbours": 30},
        "delicious": {"neighbours": 20},
        "mediamill": {"neighbours": 10, "metric": "euclidean", "row_scale": "raw"},
        "eurlex": {"neighbours": 10},
    },
}

"""Settings of the comparators that are tried on a held-out part: by method, by data set, each value with each other.

A method's "training" settings need it to be trained again, its "prediction" settings do not. "" stands for every data
set that is not named.
"""

from __future__ import annotations

from typing import Any

Grid = dict[str, list[Any]]

# method -> data set -> (training settings, prediction settings)
GRIDS: dict[str, dict[str, tuple[Grid, Grid]]] = {
    "leml": {"": ({}, {})},
    "local_leml": {"": ({}, {})},
    "wsabie": {"": ({}, {})},
    "cplst": {"": ({}, {})},
    "cs": {"": ({}, {})},
    "ml_cssp": {"": ({}, {})},
    "fastxml": {"": ({}, {})},
    "lpsr": {"": ({}, {})},
    "one_vs_all": {"": ({}, {})},
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

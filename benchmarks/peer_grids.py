"""What is tried of each peer when it is tuned: its cost first, then its tree, then more trees (peer_search.py).

An axis is a list of changes. The defaults are tried before all of them and are not repeated here, but for numbers that
the search must know to predict a time (`FIRST`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

Changes = list[dict[str, Any]]


class Grid(NamedTuple):
    """Axes of settings to train with, and settings that prediction alone uses, the defaults first."""

    axes: list[Changes]
    prediction: Changes = [{}]  # noqa: RUF012  (a default of a tuple that nobody changes)
    first: dict[str, Any] = {}  # noqa: RUF012  added to the defaults: the same model, said in numbers


def values(name: str, *tried: Any) -> Changes:
    """Return an axis of one setting."""
    return [{name: value} for value in tried]


_OMIKUJI_COST = values("linear_c", 0.3, 3.0, 0.1, 10.0)
_OMIKUJI_LATER = [
    values("linear_weight_threshold", 0.03),
    values("linear_loss_type", 1),  # log loss
    values("n_trees", 6),
]
# omikuji ends the process where a node has fewer labels than clusters, so that a node is split only if it has as many.
_BONSAI_TREE = [{"cluster_k": 16}, {"cluster_k": 256, "min_branch_size": 256}]
_OMIKUJI_PREDICTION = [{}, {"beam_size": 30}]
_LIBLINEAR_COST = values("c", 0.3, 3.0, 0.1, 10.0)

GRIDS: dict[str, Grid] = {
    "pecos": Grid(
        [
            [{"Cp": cost, "Cn": cost} for cost in (0.5, 2.0, 0.25, 4.0, 0.1)],
            values("threshold", 0.01),
            values("max_leaf_size", 400, 20),
            values("nr_splits", 4, 64),
        ],
        [{}, {"beam_size": 30}, {"beam_size": 30, "post_processor": "sigmoid"}, {"post_processor": "sigmoid"}],
    ),
    "parabel": Grid(
        [_OMIKUJI_COST, values("min_branch_size", 20, 400), *_OMIKUJI_LATER], _OMIKUJI_PREDICTION, {"n_trees": 3}
    ),
    "bonsai": Grid([_OMIKUJI_COST, _BONSAI_TREE, *_OMIKUJI_LATER], _OMIKUJI_PREDICTION, {"n_trees": 3}),
    "plt": Grid(
        [
            values("liblinear_c", 3, 30, 1),
            values("max_leaves", 20, 400),
            values("weights_threshold", 0.03),
            values("arity", 16),
            values("ensemble", 3),
        ]
    ),
    "one-vs-rest": Grid([values("C", 0.3, 3.0, 0.1, 10.0, 0.5, 2.0), values("loss", "hinge")]),
    "knn": Grid([], values("n_neighbors", 20, 5, 10, 40, 80, 160)),
    "libmultilabel": Grid([_LIBLINEAR_COST, values("B", 1), values("c", 0.5, 2.0), values("s", 0)]),
    "libmultilabel-tree": Grid(
        [_LIBLINEAR_COST, values("B", 1), values("K", 20, 400), values("n_trees", 3)],
        [{}, {"beam_width": 30}, {"prob_A": 1}, {"beam_width": 30, "prob_A": 1}],
    ),
}

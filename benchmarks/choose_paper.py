"""Choose settings for the reproduction's columns: neartag's variant of X1, and plain votes of WSABIE and kNN.

    python benchmarks/choose_paper.py [bibtex delicious …] [--seed 7] [--folds 3]
    python benchmarks/choose_paper.py --plain wsabie [bibtex delicious …]

The variant of X1 has one learner, dimension 100 and no vote by the features. With --plain a comparator has its preset,
but one vote for each neighbour; k, and for kNN what makes points near, are chosen again. WSABIE ranks labels by nearest
neighbours, as the paper's does. The searches are those
of choose_presets.py and choose_comparators.py, on held-out fifths of the training part. What was chosen stands in
neartag.experiments.methods. For X1 (paper) the experiment `readings` chooses.
"""

from __future__ import annotations

import argparse

import choose_comparators
import choose_presets

from neartag.core.errors import ParameterError
from neartag.methods import presets

PLAIN = {"feature_share": [0.0]}
GRIDS = {
    "bibtex": (
        {"svp_neighbours": [100, 200, 300, 400], "l2": [1.0, 2.0, 3.0]},
        {"vote_neighbours": [10, 15, 20, 30, 50], "vote_sharpness": [5.0, 10.0, 20.0], **PLAIN},
    ),
    "delicious": (
        {"svp_neighbours": [100, 200, 400], "l2": [2.0, 3.0]},
        {"vote_neighbours": [50, 80, 120], "vote_sharpness": [5.0, 10.0, 20.0], **PLAIN},
    ),
    "mediamill-rand": (
        {"svp_neighbours": [100, 300], "l2": [1e-3]},
        {"vote_neighbours": [40, 60, 80], "vote_sharpness": [20.0, 40.0, 80.0], **PLAIN},
    ),
    "eurlex4k-partial": (
        {"svp_neighbours": [100, 200, 400], "l2": [0.5, 1.0]},
        {"vote_neighbours": [10, 15, 20, 30, 50], "vote_sharpness": [10.0, 20.0, 30.0], **PLAIN},
    ),
}
# What a plain vote leaves to choose.
PLAIN_VOTES = {
    "wsabie": {"ranking": ["knn"], "vote_weight": ["uniform"], "neighbours": [5, 10, 15, 20, 30, 50, 80, 120]},
    "knn": {
        "metric": ["cosine", "euclidean"],
        "vote_weight": ["uniform"],
        "neighbours": [3, 5, 10, 15, 20, 30, 50, 80],
    },
}


def plain_grid(method: str, name: str) -> tuple[dict, dict]:
    """Return what is tried: the preset for training, and plain votes."""
    try:
        preset = presets.get(name, method)
    except ParameterError:  # it has none for the set
        preset = {}
    chosen = PLAIN_VOTES[method]
    return {key: [value] for key, value in preset.items() if key not in (*chosen, "vote_sharpness")}, chosen


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=list(GRIDS))
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--folds", type=int, default=3)
    parser.add_argument("--plain", choices=list(PLAIN_VOTES), help="a comparator with plain votes")
    arguments = parser.parse_args()
    for each in arguments.names:
        if arguments.plain:
            grid = plain_grid(arguments.plain, each)
            choose_comparators.report(arguments.plain, each, arguments.seed, arguments.folds, grid=grid)
            continue
        choose_presets.search(each, arguments.seed, arguments.folds, GRIDS)

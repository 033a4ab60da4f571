"""Choose settings for neartag's variant of X1: one learner, dimension 100, no vote by the features.

    python benchmarks/choose_paper.py [bibtex delicious …] [--seed 7] [--folds 3]

The search is that of choose_presets.py, on held-out fifths of the training part. What differs from the presets stands
in neartag.experiments.methods. For X1 (paper) the experiment `readings` chooses.
"""

from __future__ import annotations

import argparse

import choose_presets

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

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=list(GRIDS))
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--folds", type=int, default=3)
    arguments = parser.parse_args()
    for each in arguments.names:
        choose_presets.search(each, arguments.seed, arguments.folds, GRIDS)

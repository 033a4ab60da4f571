"""What the benchmark beside the peers runs with: data sets, and each method's settings where they are not defaults."""

from __future__ import annotations

from typing import Any

DATA = (
    "bibtex",
    "delicious",
    "mediamill-rand",
    "eurlex4k-partial",
    "yso-finna-en-100k",
    "cooking",
    "debian",
)
THREADS = 2
K = 5  # labels predicted for a point
ONE_AT_A_TIME = 200  # test points predicted by a call each

# X1 set for speed rather than accuracy: votes alone, none of them by features, a smaller dimension, fewer steps.
_QUICK: dict[str, Any] = {
    "refine": False,
    "n_learners": 1,
    "n_clusters": 1,
    "embedding_dim": 100,
    "svp_max_iter": 6,
    "vote_neighbours": 20,
}
X1_FAST: dict[str, dict[str, Any]] = {
    "bibtex": {**_QUICK, "l2": 2.0, "feature_share": 0.0},
    "eurlex4k-partial": {**_QUICK, "feature_share": 0.0},
    "yso-finna-en-100k": {**_QUICK, "embedding_dim": 64, "vote_neighbours": 40, "feature_share": 0.8},
}
# An ensemble of five, where short texts are routed to several clusters.
X1_FIVE: dict[str, dict[str, Any]] = {"yso-finna-en-100k": {"refine": False, "n_learners": 5, "n_clusters": 2}}

# kNN gets the k that is best on the test part itself (docs/benchmarks.md), which is in its favour.
KNN_NEIGHBOURS = {"eurlex4k-partial": 10, "mediamill-rand": 5, "cooking": 40, "debian": 200}
KNN_NEIGHBOURS_ELSEWHERE = 20

# omikuji's README calls this Bonsai; the rest are its defaults.
BONSAI = {"cluster_balanced": False, "cluster_k": 100, "max_depth": 3}

# One-vs-rest solves a problem a label. Above so many labels it keeps only weights of some size, and it solves a few of
# them first: where all would take too long it is left out.
SPARSE_ABOVE_LABELS = 10_000
MIN_WEIGHT = 1e-2
TRIED_FIRST = 20  # labels
MAX_MINUTES = 25
AT_ONCE = 1000  # points whose scores for all labels are held in memory to predict them

MAX_DENSE_GB = 2  # LibMultiLabel's one-vs-rest holds all weights in one matrix; it is left out where that is larger

# A peer whose training with the defaults takes longer is not tuned: its defaults stand in the tuned table too.
MAX_MINUTES_TO_TUNE = 6

# neartag's own comparators beside the tuned peers: with their presets, which were chosen on a held-out fifth, and
# tuned as X1 is where there is none. On the largest set only those with a preset.
COMPARATORS = {"one-vs-all": "one_vs_all", "wsabie": "wsabie", "leml": "leml", "fastxml": "fastxml"}
PRESETS_ONLY = ("yso-finna-en-100k",)

ONCE_ABOVE_LABELS = {
    "one-vs-rest": 1_000,
    "x1-five": 0,
    "parabel": 10_000,
    "bonsai": 10_000,
    "knn": 10_000,
    "libmultilabel": 1_000,
    "libmultilabel-tree": 1_000,
}  # is measured once where there are more

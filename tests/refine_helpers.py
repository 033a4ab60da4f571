"""What the tests of refinement share: settings, models of the contract's problem, and a problem of sharp words."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix

from contract import problem
from neartag.rerank import candidate_kernels, descent_kernels, fusion_kernels, ranker_kernels
from neartag.x1.classifier import X1Classifier
from neartag.x1.model import X1Model

SMALL = {"n_learners": 1, "n_clusters": 1, "embedding_dim": 16, "svp_neighbours": 20, "n_jobs": 1}
CLUSTERS = {"n_learners": 2, "n_clusters": 3}
OPTIONS = {
    "plain": {},
    "clusters": CLUSTERS,
    "every option": {
        **CLUSTERS,
        "n_probe": 2,
        "refine_candidates": 12,
        "refine_cost": 2.0,
        "refine_min_weight": 0.2,
        "feature_share": 0.5,
        "feature_search": "near",
        "vote_search": "exact",
        "precision": "int8",
        "vote_distance": "euclidean",
        "vote_weight": "uniform",
        "keep_weights": 0.5,
    },
    "embeddings alone": {"feature_share": 0.0, "precision": "float16"},
    "features alone": {"feature_share": 1.0, "l1": 0.05},
}


def in_plain_python(monkeypatch) -> None:
    """Run the kernels of refinement as the Python they are written in, where an index past an end is an error."""
    for module in (candidate_kernels, ranker_kernels, descent_kernels, fusion_kernels):
        for name, value in vars(module).copy().items():
            if hasattr(value, "py_func"):
                monkeypatch.setattr(module, name, value.py_func)


def sharp(n: int, seed: int, labels: int = 200, topics: int = 10, words: int = 40) -> tuple[csr_matrix, csr_matrix]:
    """Return points whose two labels each show in one word among many that tell only of a topic."""
    random = np.random.default_rng(seed)
    vocabulary = 60  # words of a topic
    X, Y = np.zeros((n, labels + topics * vocabulary), np.float32), np.zeros((n, labels), np.float32)
    for point in range(n):
        own = random.choice(labels, 2, replace=False)
        X[point, own] = Y[point, own] = 1
        start = labels + vocabulary * random.integers(topics)
        X[point, start + random.choice(vocabulary, words, replace=False)] = 1
    return csr_matrix(X), csr_matrix(Y)


def small_model(**changes: object) -> X1Classifier:
    """Return an X1, refined as by default, with settings for a few hundred points."""
    return X1Classifier(**{**SMALL, **changes})


_fitted: dict[str, X1Classifier] = {}


def fitted(options: str = "plain") -> X1Classifier:
    """Return a refined model of the problem, made once: tests must not change it."""
    if options not in _fitted:
        _fitted[options] = small_model(**OPTIONS[options]).fit(problem().X, problem().Y)
    return _fitted[options]


def state_bytes(model: X1Model) -> dict:
    """Return every array of a model by name, as bytes with type and shape."""
    _, parts = model.to_state()
    return {
        f"{part}/{name}": (array.dtype.str, array.shape, np.ascontiguousarray(array).tobytes())
        for part, arrays in parts.items()
        for name, array in arrays.items()
    }

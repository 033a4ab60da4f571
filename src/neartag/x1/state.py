"""What must hold of a stored X1 model before a kernel may read it."""

from __future__ import annotations

from typing import Any

import numpy as np

from neartag.linalg.packing import check_pointers, check_rows, count, require, width_of, within
from neartag.x1.settings import X1Settings


def check_state(settings: dict[str, Any], parts: dict[str, dict[str, np.ndarray]]) -> X1Settings:
    """Return the model's settings, those it does not name at their defaults.

    Raises ValueError unless every array has its type and shape, and every number stays inside what it points into.
    """
    given = X1Settings.from_parameters(settings["parameters"])
    for name in ("vote_neighbours", "feature_share"):
        require(not isinstance(given.value(name), str), f"{name} was not settled in training")
    n_features, n_labels, n_learners = (count(settings, name) for name in ("n_features", "n_labels", "n_learners"))
    labels = parts["labels"]
    n = len(labels["indptr"]) - 1
    check_pointers("labels", labels["indptr"], labels["indices"], n_labels)
    if "added" in labels:
        added = labels["added"]
        require(added.dtype == np.uint8 and added.shape == (n,), "what was added is not told of every point")
    forgotten = settings.get("forgotten", 0)
    require(type(forgotten) is int and forgotten >= 0, "forgotten is not a number of points")
    if "index" in parts:
        dense = "postings" in parts["index"]
        check_rows(parts["index"], "postings", *((n, n_features) if dense else (n_features, n)))
    for number in range(n_learners):
        arrays = parts[f"learner-{number:03d}"]
        levels = arrays["zero_below"]
        require(levels.dtype == np.float64 and levels.ndim == 1, "the learner's levels are not numbers")
        require(len(levels) > 0, f"learner {number} has no cluster")
        check_rows(arrays, "centroids", n_features, len(levels))
        for c in range(len(levels)):
            members, width = arrays[f"{c}.members"], width_of(arrays, f"{c}.weights")
            require(members.dtype == np.int32 and members.ndim == 1, f"members of cluster {c} are not row numbers")
            require(within(members, n), f"members of cluster {c} are not training points")
            require(arrays[f"{c}.history"].ndim == 1, f"cluster {c} has no history of SVP")
            precision = given.regression.precision
            check_rows(arrays, f"{c}.weights", _known_features(arrays, c, n_features), width, precision)
            check_rows(arrays, f"{c}.points", len(members), width, precision)
            if f"{c}.centres" in arrays:
                _check_cells(arrays[f"{c}.centres"], arrays[f"{c}.pointer"], c, len(members), width)
    return given


def _known_features(arrays: dict[str, np.ndarray], c: int, n_features: int) -> int:
    """Return how many features cluster c knows."""
    features = arrays.get(f"{c}.features")
    if features is None:
        return n_features
    require(features.dtype == np.int32 and features.ndim == 1, f"features of cluster {c} are not column numbers")
    rising = len(features) > 0 and bool((np.diff(features.astype(np.int64)) > 0).all())
    require(rising and within(features, n_features), f"features of cluster {c} do not rise within {n_features}")
    return len(features)


def _check_cells(centres: np.ndarray, pointer: np.ndarray, c: int, members: int, width: int) -> None:
    """Refuse cells of cluster c that would lead beyond its points."""
    fit = centres.dtype == np.float32 and centres.ndim == 2 and centres.shape[1] == width and len(centres) > 0
    require(fit and bool(np.isfinite(centres).all()), f"cells of cluster {c} have no centres of {width} numbers")
    fit = pointer.dtype == np.int64 and pointer.shape == (len(centres) + 1,) and pointer[0] == 0
    rising = fit and bool((np.diff(pointer) >= 0).all())
    require(rising and pointer[-1] == members, f"cells of cluster {c} do not part its {members} points")

"""A refinement as arrays by name, and what must hold of them before a kernel may read them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from neartag.linalg.packing import check_rows, get_rows, put_rows, read_count, require
from neartag.rerank.fusion import Mixture, terms
from neartag.rerank.label_centroids import Means
from neartag.rerank.rankers import Rankers
from neartag.rerank.reranker import Refinement

_MIXTURES = {"mixture": 5, "unranked": 2}  # and of how many parts each is
_RANKERS = ("rankers", "later")


def to_arrays(refinement: Refinement) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the settings and the arrays that `from_arrays` takes."""
    arrays: dict[str, np.ndarray] = {"lengths": refinement.means.lengths}
    put_rows(arrays, "means", refinement.means.postings)
    for name, rankers in zip(_RANKERS, (refinement.rankers, refinement.later), strict=True):
        if rankers is not None:
            put_rows(arrays, name, rankers.weights)
            arrays[f"{name}.bias"], arrays[f"{name}.known"] = rankers.bias, rankers.known.astype(np.uint8)
    for name in _MIXTURES:
        mixture = getattr(refinement, name)
        for piece in ("fine", "coarse", "weights"):
            arrays[f"{name}.{piece}"] = getattr(mixture, piece)
    settings = {"size": refinement.size, "by_feature": refinement.rankers.by_feature, "usual": refinement.usual}
    return settings, arrays


def from_arrays(settings: dict[str, Any], arrays: dict[str, np.ndarray], d: int, labels: int) -> Refinement:
    """Return the refinement of d features and so many labels; ValueError unless the arrays are safe to read."""
    by_feature = settings["by_feature"]
    require(isinstance(by_feature, bool), "by_feature is neither true nor false")
    usual = settings["usual"]
    require(type(usual) is float and math.isfinite(usual), "usual is not a number")
    lengths = arrays["lengths"]
    require(lengths.dtype == np.float32 and lengths.shape == (labels,), f"there are not {labels} lengths of means")
    require(not {"means", *_RANKERS} & set(arrays), "means or rankers are not sparse")
    check_rows(arrays, "means", d, labels)
    read = {name: _rankers(arrays, name, d, labels) for name in _RANKERS if f"{name}.bias" in arrays}
    read["rankers"].by_feature = by_feature
    mixtures = {name: _mixture(arrays, name, parts) for name, parts in _MIXTURES.items()}
    means = Means(get_rows(arrays, "means"), lengths)
    size = min(read_count(settings, "size"), labels)
    return Refinement(size, means, read["rankers"], **mixtures, usual=usual, later=read.get("later"))


def _rankers(arrays: dict[str, np.ndarray], name: str, d: int, labels: int) -> Rankers:
    bias, known = arrays[f"{name}.bias"], arrays[f"{name}.known"]
    require(bias.ndim == 1 and 0 < len(bias) <= labels, f"{name} has not from 1 to {labels} labels")
    require(bias.dtype == np.float32 and bool(np.isfinite(bias).all()), f"{name} has constants that are no numbers")
    require(known.dtype == np.uint8 and known.shape == bias.shape, f"{name} does not tell which labels it has")
    check_rows(arrays, name, len(bias), d)
    return Rankers(get_rows(arrays, name), bias, known.astype(bool))


def _mixture(arrays: dict[str, np.ndarray], name: str, parts: int) -> Mixture:
    fine, coarse, weights = (arrays[f"{name}.{piece}"] for piece in ("fine", "coarse", "weights"))
    for knots in (fine, coarse):
        fit = knots.dtype == np.float64 and knots.ndim == 2 and knots.shape[0] == parts and knots.shape[1] > 1
        rising = fit and bool(np.isfinite(knots).all()) and bool((np.diff(knots, axis=1) > 0).all())
        require(rising, f"{name} has knots that do not rise")
    fit = weights.dtype == np.float64 and weights.shape == (terms(fine, coarse) + 1,)
    require(fit and bool(np.isfinite(weights).all()), f"{name} has not a weight a term")
    return Mixture(fine, coarse, weights)

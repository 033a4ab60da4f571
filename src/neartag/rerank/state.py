"""A reranker as arrays by name, and what must hold of them before a kernel may read them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from neartag.linalg.packing import check_rows, get_coded, get_rows, put_coded, put_rows, read_count, require
from neartag.rerank.fusion import Fusion, count_terms
from neartag.rerank.label_centroids import LabelCentroids
from neartag.rerank.rankers import Rankers
from neartag.rerank.reranker import Reranker
from neartag.search.vector_index import VectorIndex

# The names in a folder are older than those in the program, and are kept.
_FUSIONS = {"mixture": (5, 6), "unranked": (2,)}  # and of how many features each may be: 5 in an earlier version
_FUSIONS_WITH_VECTORS = {"mixture": (8,), "unranked": (3,)}
# Vectors stand under names of their own: rows of the same name would be read as words with vectors beside them.
_RANKER_VECTORS, _MEAN_VECTORS = "{}-vectors", "mean-vectors"
_RANKERS = ("rankers", "later")


def to_arrays(reranker: Reranker) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the settings and the arrays that `from_arrays` takes."""
    machines = machines_to_arrays(reranker.size, reranker.centroids, reranker.rankers, reranker.new_rankers)
    defaults = reranker.default_similarity, reranker.default_behind, reranker.default_vector_similarity
    fusions = fusions_to_arrays(reranker.fusion, reranker.vote_fusion, defaults, reranker.centroids.vectors is not None)
    return machines[0] | fusions[0], machines[1] | fusions[1]


def machines_to_arrays(
    size: int, centroids: LabelCentroids, rankers: Rankers, new_rankers: Rankers | None = None
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return those of them that tell of centroids and rankers, and that no fusion has to be known for."""
    arrays: dict[str, np.ndarray] = {"lengths": centroids.lengths}
    put_rows(arrays, "means", centroids.postings)
    for name, each in zip(_RANKERS, (rankers, new_rankers), strict=True):
        if each is not None:
            put_rows(arrays, name, each.weights)
            if each.vectors is not None:
                put_coded(arrays, _RANKER_VECTORS.format(name), each.vectors)
            arrays[f"{name}.bias"], arrays[f"{name}.known"] = each.bias, each.known.astype(np.uint8)
    if centroids.vectors is not None:
        centroids.vectors.put(arrays, _MEAN_VECTORS)
    return {"size": size, "by_feature": rankers.by_feature}, arrays


def fusions_to_arrays(
    fusion: Fusion, vote_fusion: Fusion, defaults: tuple[float, float, float], has_vectors: bool
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the others: what is made of votes, similarities and margins."""
    arrays: dict[str, np.ndarray] = {}
    for name, each in zip(_FUSIONS, (fusion, vote_fusion), strict=True):
        arrays[f"{name}.fine"], arrays[f"{name}.coarse"] = each.fine, each.coarse
        arrays[f"{name}.weights"] = each.weights
    settings = {"usual": defaults[0], "usual_behind": defaults[1]}
    return settings | ({"usual_vectors": defaults[2]} if has_vectors else {}), arrays


def from_arrays(settings: dict[str, Any], arrays: dict[str, np.ndarray], d: int, labels: int, dim: int = 0) -> Reranker:
    """Return the reranker of d features and so many labels; ValueError unless the arrays are safe to read.

    `dim` is how many numbers the vectors beside the words have.
    """
    by_feature = settings["by_feature"]
    require(isinstance(by_feature, bool), "by_feature is neither true nor false")
    default_similarity, default_behind = settings["usual"], settings.get("usual_behind", 0.0)
    default_vectors = settings["usual_vectors"] if dim else 0.0
    named = (default_similarity, "usual"), (default_behind, "usual_behind"), (default_vectors, "usual_vectors")
    for value, name in named:
        require(type(value) is float and math.isfinite(value), f"{name} is not a number")
    lengths = arrays["lengths"]
    require(lengths.dtype == np.float32 and lengths.shape == (labels,), f"there are not {labels} lengths of means")
    require(not {"means", *_RANKERS} & set(arrays), "means or rankers are not sparse")
    check_rows(arrays, "means", d, labels)
    rankers = {name: _read_rankers(arrays, name, d, labels, dim) for name in _RANKERS if f"{name}.bias" in arrays}
    rankers["rankers"].by_feature = by_feature
    fusions = _FUSIONS_WITH_VECTORS if dim else _FUSIONS
    fusion, vote_fusion = (_read_fusion(arrays, name, features) for name, features in fusions.items())
    means = VectorIndex.get(arrays, _MEAN_VECTORS, labels, dim) if dim else None
    return Reranker(
        size=min(read_count(settings, "size"), labels),
        centroids=LabelCentroids(get_rows(arrays, "means"), lengths, vectors=means),
        rankers=rankers["rankers"],
        fusion=fusion,
        vote_fusion=vote_fusion,
        default_similarity=default_similarity,
        default_behind=default_behind,
        default_vector_similarity=default_vectors,
        new_rankers=rankers.get("later"),
    )


def _read_rankers(arrays: dict[str, np.ndarray], name: str, d: int, labels: int, dim: int) -> Rankers:
    bias, known = arrays[f"{name}.bias"], arrays[f"{name}.known"]
    require(bias.ndim == 1 and 0 < len(bias) <= labels, f"{name} has not from 1 to {labels} labels")
    require(bias.dtype == np.float32 and bool(np.isfinite(bias).all()), f"{name} has constants that are no numbers")
    require(known.dtype == np.uint8 and known.shape == bias.shape, f"{name} does not tell which labels it has")
    check_rows(arrays, name, len(bias), d)
    vectors = get_coded(arrays, _RANKER_VECTORS.format(name), len(bias), dim) if dim else None
    return Rankers(get_rows(arrays, name), bias, known.astype(bool), vectors=vectors)


def _read_fusion(arrays: dict[str, np.ndarray], name: str, features: tuple[int, ...]) -> Fusion:
    fine, coarse, weights = (arrays[f"{name}.{piece}"] for piece in ("fine", "coarse", "weights"))
    for knots in (fine, coarse):
        fit = knots.dtype == np.float64 and knots.ndim == 2 and knots.shape[0] in features and knots.shape[1] > 1
        fit = fit and len(knots) == len(fine)
        rising = fit and bool(np.isfinite(knots).all()) and bool((np.diff(knots, axis=1) > 0).all())
        require(rising, f"{name} has knots that do not rise")
    fit = weights.dtype == np.float64 and weights.shape == (count_terms(fine, coarse) + 1,)
    require(fit and bool(np.isfinite(weights).all()), f"{name} has not one weight for each term")
    return Fusion(fine, coarse, weights)

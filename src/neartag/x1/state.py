"""An X1 model as arrays by name, and what must hold of them before a kernel may read them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from neartag.linalg.packing import (
    are_within,
    check_pointers,
    check_rows,
    get_rows,
    put_rows,
    read_count,
    require,
    width_of,
)
from neartag.linalg.rows import dense
from neartag.rerank import state as rerank_state
from neartag.search.cells import NPROBE, Cells, get_cells
from neartag.search.inverted_index import FeatureIndex
from neartag.search.vector_index import VectorIndex
from neartag.x1.learner import Cluster, Learner
from neartag.x1.settings import X1Settings

# With fewer entries than this share other than zero, embedded points take less room as CSR.
SPARSE_SHARE = 0.5

Arrays = dict[str, np.ndarray]


def to_state(model: Any) -> tuple[dict[str, Any], dict[str, Arrays]]:
    """Return an X1Model's settings as JSON types, and its arrays by part: one part a learner, one for the labels."""
    settings = {"parameters": _kept_parameters(model), "n_features": model.n_features, "n_labels": model.n_labels}
    settings |= {"n_learners": len(model.learners), "forgotten": model.forgotten}
    parts = {"labels": labels_to_arrays(model.Y, model.added)}
    for number, learner in enumerate(model.learners):
        parts[learner_part(number)] = learner_to_arrays(learner, model.settings.regression.precision)
    if model.index is not None:
        parts["index"] = index_to_arrays(model.index)
    if model.vectors is not None:
        settings["n_vector_features"] = model.vector_dim
        parts["vectors"] = vectors_to_arrays(model.vectors)
    if model.reranker is not None:
        settings["refinement"], parts["refinement"] = rerank_state.to_arrays(model.reranker)
    return settings, parts


def fields_from_state(settings: dict[str, Any], parts: dict[str, Arrays]) -> dict[str, Any]:
    """Return the fields of the model that `to_state` described; only packed arrays are copied."""
    checked = check_state(settings, parts)
    n_features, n_labels, precision = settings["n_features"], settings["n_labels"], checked.regression.precision
    Y, added = labels_from_arrays(parts["labels"], n_labels)
    numbers = range(settings["n_learners"])
    reranker = None
    dim = vector_dim(settings)
    if "refinement" in parts:
        shape = n_features - dim, n_labels, dim
        reranker = rerank_state.from_arrays(settings["refinement"], parts["refinement"], *shape)
    return {
        "settings": checked,
        "n_features": n_features,
        "Y": Y,
        "learners": [learner_from_arrays(parts[learner_part(each)], precision) for each in numbers],
        "index": index_from_arrays(parts["index"]) if "index" in parts else None,
        "vectors": vectors_from_arrays(parts["vectors"], Y.shape[0], dim) if dim else None,
        "reranker": reranker,
        "added": added,
        "forgotten": settings.get("forgotten", 0),
    }


def _kept_parameters(model: Any) -> dict[str, Any]:
    """Return the parameters; without vectors those of earlier versions, which can then read the folder."""
    gone = () if model.vectors is not None else ("vector_weight", "vector_share")
    return {name: value for name, value in model.parameters.items() if name not in gone}


def learner_part(number: int) -> str:
    """Return the name of a learner's arrays."""
    return f"learner-{number:03d}"


def labels_to_arrays(Y: csr_matrix, added: np.ndarray) -> Arrays:
    """Return the labels of the training points, and which points came after training, where any did."""
    arrays = {"indptr": Y.indptr.astype(np.int64), "indices": Y.indices.astype(np.int32)}
    if added.any():
        arrays["added"] = added.astype(np.uint8)
    return arrays


def labels_from_arrays(arrays: Arrays, n_labels: int) -> tuple[csr_matrix, np.ndarray]:
    """Return Y (n, L), and which points came after training (n,)."""
    n = len(arrays["indptr"]) - 1
    ones = np.ones(len(arrays["indices"]), np.float32)
    Y = csr_matrix((ones, arrays["indices"], arrays["indptr"]), shape=(n, n_labels))
    return Y, arrays["added"].astype(bool) if "added" in arrays else np.zeros(n, bool)


def learner_to_arrays(learner: Learner, precision: str) -> Arrays:
    """Return a learner's arrays, those of cluster c named from "c." on."""
    arrays: Arrays = {}
    put_rows(arrays, "centroids", learner.centroids)
    arrays["zero_below"] = np.array([cluster.zero_below for cluster in learner.clusters], np.float64)
    for c, cluster in enumerate(learner.clusters):
        arrays[f"{c}.members"] = cluster.members
        is_sparse = np.count_nonzero(cluster.points) < SPARSE_SHARE * cluster.points.size
        put_rows(arrays, f"{c}.points", csr_matrix(cluster.points) if is_sparse else cluster.points, precision)
        arrays[f"{c}.history"] = cluster.history
        put_rows(arrays, f"{c}.weights", cluster.weights, precision)
        if cluster.cells is not None:
            arrays[f"{c}.centres"], arrays[f"{c}.pointer"] = cluster.cells.centroids, cluster.cells.pointer
            if cluster.cells.nprobe != NPROBE:  # which folders of earlier versions do not tell
                arrays[f"{c}.nprobe"] = np.array([cluster.cells.nprobe], np.int64)
        if cluster.features is not None:
            arrays[f"{c}.features"] = cluster.features
    return arrays


def learner_from_arrays(arrays: Arrays, precision: str) -> Learner:
    """Return the learner of these arrays."""
    clusters = [
        Cluster(
            members=arrays[f"{c}.members"],
            weights=get_rows(arrays, f"{c}.weights", precision),
            points=dense(get_rows(arrays, f"{c}.points", precision)),
            zero_below=float(zero_below),
            features=arrays.get(f"{c}.features"),
            history=arrays[f"{c}.history"],
            cells=_get_cells(arrays, c) if f"{c}.centres" in arrays else None,
        )
        for c, zero_below in enumerate(arrays["zero_below"])
    ]
    return Learner(get_rows(arrays, "centroids"), clusters)


def index_to_arrays(index: FeatureIndex) -> Arrays:
    """Return the arrays of the training rows' features."""
    arrays: Arrays = {}
    put_rows(arrays, "postings", index.postings)
    return arrays


def index_from_arrays(arrays: Arrays) -> FeatureIndex:
    """Return the index of these arrays."""
    return FeatureIndex(get_rows(arrays, "postings"))


def vectors_to_arrays(vectors: VectorIndex) -> Arrays:
    """Return the arrays of the training points' vectors."""
    arrays: Arrays = {}
    vectors.put(arrays, "vectors")
    return arrays


def vectors_from_arrays(arrays: Arrays, n: int, dim: int) -> VectorIndex:
    """Return the vectors (n, dim) of these arrays."""
    return VectorIndex.get(arrays, "vectors", n, dim)


def vector_dim(settings: dict[str, Any]) -> int:
    """Return how many of the features are numbers of a vector beside the words; 0 where there are no vectors."""
    return read_count(settings, "n_vector_features") if "n_vector_features" in settings else 0


def check_state(settings: dict[str, Any], parts: dict[str, Arrays]) -> X1Settings:
    """Return the model's settings, those it does not name at their defaults.

    Raises ValueError unless every array has its type and shape, and every number stays inside what it points into.
    """
    # Models that do not name it were written before there were rankers; the others are of no use without vectors.
    unnamed = {"refine": False, "vector_weight": 1.0, "vector_share": 0.0}
    given = X1Settings.from_parameters({**unnamed, **settings["parameters"]})
    for name in ("vote_neighbours", "feature_share"):
        require(not isinstance(given.value(name), str), f"{name} was not settled in training")
    n_features, n_labels, n_learners = (read_count(settings, name) for name in ("n_features", "n_labels", "n_learners"))
    labels = parts["labels"]
    n = len(labels["indptr"]) - 1
    check_pointers("labels", labels["indptr"], labels["indices"], n_labels)
    if "added" in labels:
        added = labels["added"]
        require(added.dtype == np.uint8 and added.shape == (n,), "what was added is not told of every point")
    forgotten = settings.get("forgotten", 0)
    require(type(forgotten) is int and forgotten >= 0, "forgotten is not a number of points")
    dim = vector_dim(settings)
    require(dim < n_features, "vectors leave no room for words")
    require((dim > 0) == ("vectors" in parts), "there are not the vectors that the settings tell of")
    if dim:
        VectorIndex.get(parts["vectors"], "vectors", n, dim)
        for name in ("vector_weight", "vector_share"):
            require(not isinstance(given.value(name), str), f"{name} was not settled in training")
    if "index" in parts:
        dense, words = "postings" in parts["index"], n_features - dim
        check_rows(parts["index"], "postings", *((n, words) if dense else (words, n)))
    for number in range(n_learners):
        arrays = parts[learner_part(number)]
        levels = arrays["zero_below"]
        require(levels.dtype == np.float64 and levels.ndim == 1, "the learner's levels are not numbers")
        require(len(levels) > 0, f"learner {number} has no cluster")
        check_rows(arrays, "centroids", n_features, len(levels))
        for c in range(len(levels)):
            members, width = arrays[f"{c}.members"], width_of(arrays, f"{c}.weights")
            require(members.dtype == np.int32 and members.ndim == 1, f"members of cluster {c} are not row numbers")
            require(are_within(members, n), f"members of cluster {c} are not training points")
            require(arrays[f"{c}.history"].ndim == 1, f"cluster {c} has no history of SVP")
            precision = given.regression.precision
            known = _known_features(arrays, c, n_features, dim)
            check_rows(arrays, f"{c}.weights", known, width, precision)
            check_rows(arrays, f"{c}.points", len(members), width, precision)
            if f"{c}.centres" in arrays:
                _get_cells(arrays, c)
    return given


def _known_features(arrays: Arrays, c: int, n_features: int, dim: int) -> int:
    """Return how many features cluster c knows; the last `dim` of all, numbers of vectors, it must know."""
    features = arrays.get(f"{c}.features")
    if features is None:
        return n_features
    require(features.dtype == np.int32 and features.ndim == 1, f"features of cluster {c} are not column numbers")
    rising = len(features) > 0 and bool((np.diff(features.astype(np.int64)) > 0).all())
    require(rising and are_within(features, n_features), f"features of cluster {c} do not rise within {n_features}")
    whole = dim == 0 or (len(features) > dim and int(features[-dim]) == n_features - dim)
    require(whole, f"features of cluster {c} are not those of whole vectors")
    return len(features)


def _get_cells(arrays: Arrays, c: int) -> Cells:
    """Return the cells of cluster c; ValueError for cells that would lead beyond its points."""
    width = width_of(arrays, f"{c}.weights")
    return get_cells(arrays, f"{c}.", len(arrays[f"{c}.members"]), width, f"cluster {c}")

"""What X1 is made of as arrays, exactly as it is: how one task hands it to another."""

from __future__ import annotations

from typing import Any

import numpy as np

from neartag.rerank import state as rerank_state
from neartag.rerank.parts import fusions_from_arrays, index_from_arrays, vectors_from_arrays
from neartag.search.cells import Cells
from neartag.search.inverted_index import FeatureIndex
from neartag.search.vector_index import VectorIndex
from neartag.work.data import VECTOR_WEIGHT
from neartag.work.parts import Arrays, Parts, TaskContext, get_json, get_matrix, put_json, put_matrix
from neartag.x1.centroids import Partition
from neartag.x1.learner import Cluster, Learner
from neartag.x1.model import X1Model
from neartag.x1.settings import X1Settings

RUN, INDEX, VECTORS = "run", "index", "vector-index"


def run_part(settings: X1Settings, seeds: list[np.random.SeedSequence]) -> Arrays:
    """Return what all tasks look at beside the data: the settings, and each learner's seeds."""
    arrays: Arrays = {"seeds": np.array([seed.generate_state(2) for seed in seeds], np.uint32).reshape(-1, 2)}
    put_json(arrays, "parameters", settings.to_parameters())
    return arrays


def read_settings(context: TaskContext, **changes: Any) -> X1Settings:
    """Return the settings of the run, with changes by parameter; the vectors' weight as it was chosen."""
    settings = X1Settings.from_parameters(get_json(context.get(RUN), "parameters"))
    if context.has(VECTOR_WEIGHT):
        changes["vector_weight"] = float(context.get(VECTOR_WEIGHT)["weight"][0])
    return settings.replace(**changes)


def partition_name(learner: int) -> str:
    """Return the name of a learner's partition."""
    return f"partition/{learner:03d}"


def partition_to_arrays(partition: Partition) -> Arrays:
    """Return the arrays of a partition, the points in the order of their clusters."""
    order = np.argsort(partition.assignment, kind="stable")
    bounds = np.searchsorted(partition.assignment[order], np.arange(partition.n_clusters + 1))
    arrays: Arrays = {"order": order, "bounds": bounds}
    put_matrix(arrays, "centroids", partition.centroids)
    return arrays


def members_of(arrays: Arrays, cluster: int, held_out: np.ndarray) -> np.ndarray:
    """Return the points of a cluster; those held out helped to place it, but are no members."""
    everybody = arrays["order"][int(arrays["bounds"][cluster]) : int(arrays["bounds"][cluster + 1])]
    others = np.setdiff1d(everybody, held_out, assume_unique=True)
    # A cluster of none but held-out points must still have somebody; they do not join it again later.
    return others if len(others) else everybody


def cluster_to_arrays(cluster: Cluster, prefix: str = "") -> Arrays:
    """Return the arrays of a cluster, their names with a prefix."""
    arrays: Arrays = {
        f"{prefix}members": cluster.members,
        f"{prefix}points": cluster.points,
        f"{prefix}history": cluster.history,
        f"{prefix}zero_below": np.array([cluster.zero_below], np.float64),
    }
    put_matrix(arrays, f"{prefix}weights", cluster.weights)
    if cluster.features is not None:
        arrays[f"{prefix}features"] = cluster.features
    if cluster.cells is not None:
        arrays[f"{prefix}cells.centroids"] = cluster.cells.centroids
        arrays[f"{prefix}cells.pointer"] = cluster.cells.pointer
        arrays[f"{prefix}cells.nprobe"] = np.array([cluster.cells.nprobe], np.int64)
    return arrays


def cluster_from_arrays(arrays: Arrays, prefix: str = "") -> Cluster:
    """Return the cluster of these arrays."""
    cells = None
    if f"{prefix}cells.pointer" in arrays:
        pieces = arrays[f"{prefix}cells.centroids"], arrays[f"{prefix}cells.pointer"]
        cells = Cells(*pieces, int(arrays[f"{prefix}cells.nprobe"][0]))
    return Cluster(
        members=arrays[f"{prefix}members"],
        weights=get_matrix(arrays, f"{prefix}weights"),
        points=arrays[f"{prefix}points"],
        zero_below=float(arrays[f"{prefix}zero_below"][0]),
        features=arrays.get(f"{prefix}features"),
        history=arrays[f"{prefix}history"],
        cells=cells,
    )


def learner_to_arrays(learner: Learner) -> Arrays:
    """Return the arrays of a learner, those of cluster c named from "c." on."""
    arrays: Arrays = {"count": np.array([len(learner.clusters)], np.int64)}
    put_matrix(arrays, "centroids", learner.centroids)
    for number, cluster in enumerate(learner.clusters):
        arrays |= cluster_to_arrays(cluster, f"{number}.")
    return arrays


def learner_from_arrays(arrays: Arrays) -> Learner:
    """Return the learner of these arrays."""
    clusters = [cluster_from_arrays(arrays, f"{number}.") for number in range(int(arrays["count"][0]))]
    return Learner(get_matrix(arrays, "centroids"), clusters)


def read_learners(parts: Parts | TaskContext, names: list[str]) -> list[Learner]:
    """Return learners by the names of their parts."""
    return [learner_from_arrays(parts.get(name)) for name in names]


def read_index(context: TaskContext, rows: Any) -> FeatureIndex | None:
    """Return the inverted index of the rows (n, d), where the task has one."""
    return index_from_arrays(context.get(INDEX), rows) if context.has(INDEX) else None


def read_vectors(context: TaskContext) -> VectorIndex | None:
    """Return the index of the vectors beside the words, where the task has one."""
    return vectors_from_arrays(context.get(VECTORS)) if context.has(VECTORS) else None


def read_chosen(parts: Parts | TaskContext, name: str) -> X1Settings:
    """Return settings that a task has chosen."""
    return X1Settings.from_parameters(get_json(parts.get(name), "parameters"))


def read_reranker(parts: Parts, model: X1Model) -> Any:
    """Return the reranker of a model: its rankers and its fusion are parts of their own."""
    machines, has_vectors = dict(parts.get("reranker")), model.vectors is not None
    settings = get_json(machines, "settings")
    del machines["settings"]
    more, fusions = rerank_state.fusions_to_arrays(*fusions_from_arrays(parts.get("fusion")), has_vectors)
    dim = 0 if model.vectors is None else model.vectors.rows.dim
    given = settings | more, machines | fusions
    return rerank_state.from_arrays(*given, model.n_features - dim, model.n_labels, dim)

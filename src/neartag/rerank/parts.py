"""What a reranker is made of as arrays, exactly as it is: how one task hands it to another."""

from __future__ import annotations

import numpy as np

from neartag.linalg.coded_rows import CodedRows
from neartag.linalg.hybrid_rows import words_of
from neartag.linalg.packing import put_coded
from neartag.linalg.rows import Rows, csr_arrays, take_rows
from neartag.rerank.candidates import Candidates
from neartag.rerank.fusion import Fusion
from neartag.rerank.hard_negatives import NeighbourSearch
from neartag.rerank.label_centroids import LabelCentroids
from neartag.rerank.rankers import Problems, Rankers
from neartag.rerank.training import Decision, Trial
from neartag.search.inverted_index import FeatureIndex
from neartag.search.vector_index import VectorIndex
from neartag.work.parts import Arrays, get_json, get_matrix, put_json, put_matrix


def index_to_arrays(index: FeatureIndex) -> Arrays:
    """Return the arrays of an index of rows."""
    arrays: Arrays = {}
    put_matrix(arrays, "postings", index.postings)
    return arrays


def index_from_arrays(arrays: Arrays, rows: Rows | None = None) -> FeatureIndex:
    """Return the index of these arrays; the rows, where they are given, need not be made of it again."""
    index = FeatureIndex(get_matrix(arrays, "postings"))
    return FeatureIndex(index.postings, csr_arrays(words_of(rows))) if rows is not None and index.is_sparse else index


def vectors_to_arrays(vectors: VectorIndex) -> Arrays:
    """Return the arrays of an index of vectors."""
    arrays: Arrays = {}
    vectors.put(arrays, "vectors")
    return arrays


def vectors_from_arrays(arrays: Arrays) -> VectorIndex:
    """Return the index of these arrays."""
    return VectorIndex.get(arrays, "vectors", *arrays["vectors.codes"].shape)


def search_to_arrays(search: NeighbourSearch) -> Arrays:
    """Return the arrays of a search of points among each other, without their rows."""
    arrays = index_to_arrays(search.index)
    arrays["searched"] = search.searched
    if search.index.is_sparse and len(search.searched) < search.X.shape[0]:
        put_matrix(arrays, "searched_rows", take_rows(words_of(search.X), search.searched))
    return arrays | ({} if search.vectors is None else vectors_to_arrays(search.vectors))


def search_from_arrays(arrays: Arrays, X: Rows) -> NeighbourSearch:
    """Return the search of unit rows (n, d)."""
    some = get_matrix(arrays, "searched_rows") if "searched_rows.data" in arrays else X
    vectors = vectors_from_arrays(arrays) if "vectors.codes" in arrays else None
    return NeighbourSearch(X, arrays["searched"], index_from_arrays(arrays, some), vectors)


def centroids_to_arrays(centroids: LabelCentroids) -> Arrays:
    """Return the arrays of label centroids."""
    arrays: Arrays = {"lengths": centroids.lengths}
    put_matrix(arrays, "postings", centroids.postings)
    return arrays | ({} if centroids.vectors is None else vectors_to_arrays(centroids.vectors))


def centroids_from_arrays(arrays: Arrays) -> LabelCentroids:
    """Return the centroids of these arrays."""
    vectors = vectors_from_arrays(arrays) if "vectors.codes" in arrays else None
    return LabelCentroids(get_matrix(arrays, "postings"), arrays["lengths"], vectors=vectors)


def problems_to_arrays(problems: Problems) -> Arrays:
    """Return the arrays of what rankers are trained on."""
    return dict(vars(problems))


def problems_from_arrays(arrays: Arrays) -> Problems:
    """Return what rankers are trained on."""
    return Problems(arrays["pointer"], arrays["points"], arrays["positives"], arrays["squares"])


def rankers_to_arrays(rankers: Rankers) -> Arrays:
    """Return the arrays of rankers."""
    arrays: Arrays = {"bias": rankers.bias, "known": rankers.known}
    put_matrix(arrays, "weights", rankers.weights)
    if rankers.vectors is not None:
        put_coded(arrays, "vectors", rankers.vectors)
    return arrays


def rankers_from_arrays(arrays: Arrays) -> Rankers:
    """Return the rankers of these arrays."""
    vectors = None
    if "vectors.codes" in arrays:
        vectors = CodedRows(arrays["vectors.codes"], arrays["vectors.scales"])
    return Rankers(get_matrix(arrays, "weights"), arrays["bias"], arrays["known"], vectors=vectors)


def trial_to_arrays(trial: Trial, is_nearby: bool) -> Arrays:
    """Return the arrays of a trial, and whether its voters by features were found nearby."""
    arrays = {"labels": trial.candidates.labels, "evidence": trial.candidates.evidence}
    arrays |= {"correct": trial.correct, "fitted": trial.fitted, "frequency": trial.frequency}
    return arrays | {"is_nearby": np.array([is_nearby])}


def trial_from_arrays(arrays: Arrays, rows: Rows) -> Trial:
    """Return the trial of held-out rows (m, d)."""
    candidates = Candidates(arrays["labels"], arrays["evidence"])
    return Trial(rows, candidates, arrays["correct"], arrays["fitted"], arrays["frequency"])


def decision_to_arrays(decision: Decision) -> Arrays:
    """Return the arrays of what the held-out points decided."""
    arrays: Arrays = {}
    for name, fusion in (("fusion", decision.fusion), ("vote_fusion", decision.vote_fusion)):
        for piece in ("fine", "coarse", "weights"):
            arrays[f"{name}.{piece}"] = getattr(fusion, piece)
    put_json(arrays, "defaults", decision.defaults)
    return arrays


def fusions_from_arrays(arrays: Arrays) -> tuple[Fusion, Fusion, tuple[float, float, float]]:
    """Return the fusion, that of the votes alone, and the defaults of a decision."""
    fusion, vote_fusion = (
        Fusion(arrays[f"{name}.fine"], arrays[f"{name}.coarse"], arrays[f"{name}.weights"])
        for name in ("fusion", "vote_fusion")
    )
    similarity, behind, vector_similarity = get_json(arrays, "defaults")
    return fusion, vote_fusion, (similarity, behind, vector_similarity)

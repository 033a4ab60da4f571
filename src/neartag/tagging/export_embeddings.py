"""Embeddings of a model's own documents, for other programs: as numpy's .npz, or as Parquet."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from neartag.core.errors import DataError, ModelError, ParameterError
from neartag.core.extras import install_hint
from neartag.data.files import open_to_replace
from neartag.storage.bundle import StoredModel

ROWS_AT_ONCE = 10_000  # of a Parquet file


@dataclass(frozen=True)
class Embeddings:
    """Documents as points of a space, with what is needed to read a picture of them."""

    points: np.ndarray  # (n, dim) float32; a document that no cluster has is zero
    clusters: np.ndarray  # (n,) int32, −1: none. Each cluster has a space of its own
    ids: list[str]
    Y: csr_matrix  # (n, L)
    label_names: list[str]


def learned_embeddings(stored: StoredModel, learner: int = 0) -> Embeddings:
    """Return where a learner of X1 put the documents: V·x, of unit length unless distances are Euclidean."""
    learners = getattr(stored.model, "learners", None)
    if not learners:
        raise ModelError(f"a model of kind {stored.model.kind!r} keeps no embeddings of its documents: train one of X1")
    if not 0 <= learner < len(learners):
        raise ParameterError(f"there is no learner {learner}: the model has {len(learners)}, counted from 0")
    clusters = learners[learner].clusters
    dim = max((each.points.shape[1] for each in clusters), default=0)
    points = np.zeros((stored.model.n_points, dim), np.float32)  # (n, dim)
    numbers = np.full(len(points), -1, np.int32)
    for number, cluster in enumerate(clusters):
        points[cluster.members, : cluster.points.shape[1]] = cluster.points
        numbers[cluster.members] = number
    return _with_names(stored, points, numbers)


def meaning_vectors(stored: StoredModel) -> Embeddings:
    """Return the vectors that a sentence encoder made of the documents, as the model keeps them: rounded to int8."""
    vectors = getattr(stored.model, "vectors", None)
    if vectors is None:
        raise ModelError("the model keeps no vectors of a sentence encoder: train it with --encoder, beside words")
    points = np.asarray(vectors.rows.decode(), np.float32)  # (n, dim)
    return _with_names(stored, points, np.zeros(len(points), np.int32))


def write_embeddings(embeddings: Embeddings, path: Path) -> None:
    """Write embeddings in the format that the file's ending names, .npz or .parquet; whole or not at all."""
    if path.suffix.lower() == ".parquet":
        _write_parquet(embeddings, path)
        return
    names = {"ids": embeddings.ids, "label_names": embeddings.label_names}
    arrays: dict[str, Any] = {name: np.frombuffer(json.dumps(each).encode(), np.uint8) for name, each in names.items()}
    arrays |= {"Y_ids": embeddings.Y.indices, "Y_pointers": embeddings.Y.indptr}
    with open_to_replace(path) as stream:
        np.savez(stream, embeddings=embeddings.points, clusters=embeddings.clusters, **arrays)


def _write_parquet(embeddings: Embeddings, path: Path) -> None:
    try:
        import pyarrow
        from pyarrow.parquet import ParquetWriter
    except ImportError as error:
        raise DataError(install_hint(f"{path}: writing Parquet needs pyarrow", "parquet")) from error
    schema = pyarrow.schema(
        [
            ("id", pyarrow.string()),
            ("cluster", pyarrow.int32()),
            ("embedding", pyarrow.list_(pyarrow.float32(), embeddings.points.shape[1])),
            ("labels", pyarrow.list_(pyarrow.string())),
        ]
    )
    with open_to_replace(path) as stream, ParquetWriter(stream, schema) as writer:
        for columns in _columns(embeddings):
            arrays = [pyarrow.array(column, each.type) for column, each in zip(columns, schema, strict=True)]
            writer.write_batch(pyarrow.RecordBatch.from_arrays(arrays, schema=schema))


def _columns(embeddings: Embeddings) -> Iterator[tuple[Any, ...]]:
    """Yield the columns of some rows after the others."""
    Y, names = embeddings.Y, embeddings.label_names
    for first in range(0, len(embeddings.points), ROWS_AT_ONCE):
        rows = slice(first, first + ROWS_AT_ONCE)
        ends = Y.indptr[first : first + ROWS_AT_ONCE + 1]
        labels = [[names[label] for label in Y.indices[start:stop]] for start, stop in pairwise(ends.tolist())]
        yield embeddings.ids[rows], embeddings.clusters[rows], list(embeddings.points[rows]), labels


def _with_names(stored: StoredModel, points: np.ndarray, clusters: np.ndarray) -> Embeddings:
    ids = stored.point_names or [str(number) for number in range(len(points))]
    labels = stored.label_names or [str(number) for number in range(stored.model.n_labels)]
    return Embeddings(points, clusters, ids, stored.model.Y, labels)

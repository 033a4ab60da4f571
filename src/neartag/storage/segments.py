"""Documents added to a stored model: their feature rows, labels, ids and texts, in one small file each time.

Nothing that training made is written again. The embeddings of a row depend on the row and the clusters only: loading
computes them again.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import csr_matrix

from neartag.linalg import csr
from neartag.linalg.hybrid_rows import HybridRows
from neartag.linalg.packing import check_pointers, check_rows, get_rows, put_rows, require
from neartag.linalg.rows import Rows
from neartag.storage.texts import Texts


@dataclass(frozen=True)
class Segment:
    """Some documents that came after training."""

    rows: Rows  # (m, d), of unit length
    Y: csr_matrix  # (m, L), L counting the new labels
    ids: list[str]
    new_labels: list[str]  # names of the last columns of Y, which no document had before
    texts: Texts | None

    def __len__(self) -> int:
        return len(self.ids)

    def without_first(self, count: int, known_labels: int) -> Segment:
        """Return the segment without its first documents, for a model that has these and knows so many labels."""
        old = self.Y.shape[1] - len(self.new_labels)
        texts = None if self.texts is None else self.texts.keep(np.arange(len(self)) >= count)
        return Segment(
            self.rows[count:], self.Y[count:], self.ids[count:], self.new_labels[known_labels - old :], texts
        )

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return the segment as named arrays."""
        arrays: dict[str, np.ndarray] = {}
        put_rows(arrays, "rows", self.rows)
        arrays["labels.indptr"] = self.Y.indptr.astype(np.int64)
        arrays["labels.indices"] = self.Y.indices.astype(np.int32)
        arrays["labels.width"] = np.array([self.Y.shape[1]], np.int64)
        names = json.dumps({"ids": self.ids, "new_labels": self.new_labels}, ensure_ascii=False)
        arrays["names"] = np.frombuffer(names.encode("utf-8", "surrogatepass"), np.uint8)
        if self.texts is not None:
            arrays["texts.content"], arrays["texts.ends"] = self.texts.to_arrays()
        return arrays

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], n_features: int) -> Segment:
        """Return the segment that `to_arrays` described; ValueError unless everything in it fits together."""
        names = _decode_names(arrays["names"])
        m = len(names["ids"])
        width = int(arrays["labels.width"][0])
        check_rows(arrays, "rows", m, n_features)
        indptr, indices = arrays["labels.indptr"], arrays["labels.indices"]
        require(len(indptr) == m + 1 and len(names["new_labels"]) <= width, "labels do not fit the documents")
        check_pointers("labels", indptr, indices, width)
        Y = csr_matrix((np.ones(len(indices), np.float32), indices, indptr), shape=(m, width))
        texts = None
        if "texts.content" in arrays:
            texts = Texts.from_arrays(arrays["texts.content"], arrays["texts.ends"])
            require(len(texts) == m, f"there are {len(texts)} texts of {m} documents")
        return cls(get_rows(arrays, "rows"), Y, names["ids"], names["new_labels"], texts)


def merge_segments(segments: Sequence[Segment]) -> Segment:
    """Return all their documents, in their order, as one segment."""
    if len(segments) == 1:
        return segments[0]
    width = segments[-1].Y.shape[1]
    stack: Any = sparse.vstack if sparse.issparse(segments[0].rows) else np.vstack
    if isinstance(segments[0].rows, HybridRows):
        stack = HybridRows.vstack
    labels = [csr.widen(each.Y, width) for each in segments]
    texts: Texts | None = Texts()
    for each in segments:
        texts = None if texts is None or each.texts is None else texts.concatenate(each.texts)
    rows = stack([each.rows for each in segments])
    return Segment(
        rows.tocsr() if sparse.issparse(rows) else rows,
        csr_matrix(sparse.vstack(labels, format="csr")),
        [name for each in segments for name in each.ids],
        [name for each in segments for name in each.new_labels],
        texts,
    )


def _decode_names(content: np.ndarray) -> dict[str, list[str]]:
    require(content.dtype == np.uint8 and content.ndim == 1, "the names are no bytes")
    names = json.loads(content.tobytes().decode("utf-8", "surrogatepass"))
    require(isinstance(names, dict), "the names are no object")
    for key in ("ids", "new_labels"):
        fine = isinstance(names.get(key), list) and all(isinstance(name, str) for name in names[key])
        require(fine, f"{key} are not a list of names")
    return names

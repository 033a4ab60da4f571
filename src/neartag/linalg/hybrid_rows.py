"""Feature rows of two parts side by side: sparse words, and dense vectors of the same points.

A row is x = (words, weight · vector). The parts are never put into one matrix: a product is the sum of a sparse one and
a dense one, which BLAS does. The weight is applied in products only, so that rows of any weight share their arrays.
Either part of a row may be missing: it is then zeros. Without a vector a row is exactly its words.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import csr_matrix

from neartag.linalg.coded_rows import CodedRows, Vectors, float_rows


@dataclass(frozen=True, eq=False)
class HybridRows:
    """Words (n, d) in CSR and vectors (n, e) of n points.

    Parameters
    ----------
    words : csr_matrix of shape (n, d)
    vectors : array of shape (n, e), or CodedRows
        Coded they take a quarter of the memory; training holds them so.
    vector_weight : float, default 1.0
        What each vector is multiplied by, against the words.

    Examples
    --------
    >>> from scipy.sparse import csr_matrix
    >>> rows = HybridRows(csr_matrix([[1.0, 0.0], [0.0, 1.0]]), np.ones((2, 3), np.float32))
    >>> rows.shape
    (2, 5)
    >>> rows[[1]].toarray().tolist()
    [[0.0, 1.0, 1.0, 1.0, 1.0]]
    """

    words: csr_matrix
    vectors: Vectors
    vector_weight: float = 1.0

    @property
    def shape(self) -> tuple[int, int]:
        """Points, and features of both parts."""
        return int(self.words.shape[0]), int(self.words.shape[1] + self.vectors.shape[1])

    @property
    def ndim(self) -> int:
        """As of a matrix: 2."""
        return 2

    @property
    def dim(self) -> int:
        """Numbers of a vector, e."""
        return int(self.vectors.shape[1])

    @property
    def nnz(self) -> int:
        """Numbers stored in both parts."""
        return int(self.words.nnz + self.vectors.size)

    def __getitem__(self, rows: Any) -> HybridRows:
        """Return some of the rows, chosen as those of a matrix are."""
        own = self.vectors
        vectors = own.take(rows) if isinstance(own, CodedRows) else np.ascontiguousarray(own[rows])
        return replace(self, words=self.words[rows], vectors=vectors)

    def __len__(self) -> int:
        """Return the number of points."""
        return self.shape[0]

    def weigh(self, vector_weight: float) -> HybridRows:
        """Return the same rows with another weight of the vectors."""
        return replace(self, vector_weight=float(vector_weight))

    def toarray(self) -> np.ndarray:
        """Return the rows as one array (n, d + e), weighted."""
        return np.hstack([self.words.toarray(), self.weighted_vectors()])

    def weighted_vectors(self) -> np.ndarray:
        """Return the vectors times their weight (n, e), as float32."""
        vectors = float_rows(self.vectors)
        return vectors if self.vector_weight == 1 else vectors * np.float32(self.vector_weight)

    def split(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of weights (d + e, width) that belong to the words, and those of the vectors, weighted."""
        d = self.shape[1] - self.dim
        of_vectors = weights[d:]
        return weights[:d], of_vectors if self.vector_weight == 1 else of_vectors * np.float32(self.vector_weight)

    @classmethod
    def vstack(cls, parts: list[HybridRows]) -> HybridRows:
        """Return the rows of several, one after the other."""
        words = csr_matrix(sparse.vstack([part.words for part in parts], format="csr"))
        return replace(parts[0], words=words, vectors=np.vstack([float_rows(part.vectors) for part in parts]))


@dataclass(frozen=True, eq=False)
class HybridColumns:
    """The transpose of hybrid rows, (d + e, n), for products with it."""

    words: csr_matrix  # (d, n)
    vectors: Vectors  # (n, e), as they are: BLAS takes a transpose as it stands
    vector_weight: float = 1.0

    @property
    def shape(self) -> tuple[int, int]:
        """Features of both parts, and points."""
        return int(self.words.shape[0] + self.vectors.shape[1]), int(self.words.shape[1])


def as_one_matrix(rows: Any) -> Any:
    """Return hybrid rows as one CSR matrix (n, d + e), for methods that know of no parts; other rows as they are."""
    if not isinstance(rows, HybridRows):
        return rows
    return csr_matrix(sparse.hstack([rows.words, csr_matrix(rows.weighted_vectors())], format="csr"))


def words_of(rows: Any) -> Any:
    """Return the words of hybrid rows; other rows as they are."""
    return rows.words if isinstance(rows, HybridRows) else rows


def vectors_of(rows: Any) -> np.ndarray | None:
    """Return the vectors of hybrid rows as float32, without their weight; None of other rows."""
    return float_rows(rows.vectors) if isinstance(rows, HybridRows) else None


def round_vectors(rows: Any) -> Any:
    """Return hybrid rows with their vectors as they are after saving and loading; other rows as they are."""
    if not isinstance(rows, HybridRows):
        return rows
    return replace(rows, vectors=CodedRows.encode(rows.vectors).decode())

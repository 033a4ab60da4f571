"""The estimator of ML-CSSP, its model, and the choice of labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import csr_matrix
from scipy.sparse.linalg import LinearOperator, eigsh

from neartag.comparators.ml_cssp import METHOD
from neartag.comparators.shared.arrays import Arrays, check_array, check_dense
from neartag.comparators.shared.base import Comparator, Shape
from neartag.comparators.shared.model import FitInfo, ScoringModel, dimension
from neartag.comparators.shared.ridge import ridge, ridge_memory
from neartag.comparators.shared.scores import to_unit_interval
from neartag.core.progress import Progress
from neartag.linalg.packing import are_within, require
from neartag.linalg.products import matmul, matmul_rows
from neartag.linalg.rows import Rows, transpose

# With no more labels than this all eigenvectors of YᵀY are found at once, which is then quicker than some by iteration.
MAX_DENSE_LABELS = 4096
# Eigenvalues of a lesser share of the largest are zeros that were rounded: in float64, the counts of YᵀY being exact.
ZERO_EIGENVALUE = 1e-12


@dataclass(repr=False)
class MLCSSPModel(ScoringModel):
    """Regressors of the chosen labels, and what all labels are of them."""

    method = METHOD

    weights: np.ndarray  # W (d, k)
    lift: np.ndarray  # C⁺Y (k, seen)
    chosen: np.ndarray  # (k,) int32, places among the labels seen, in rising order

    def scores(self, rows: Rows, threads: int) -> np.ndarray:
        """Return x W C⁺ Y, brought between 0 and 1; ½ stays ½."""
        return to_unit_interval(matmul_rows(matmul(rows, self.weights, threads), self.lift, threads), 0.5)

    def arrays(self) -> Arrays:
        """Return the matrices and the choice."""
        return {"factors": {"weights": self.weights, "lift": self.lift, "chosen": self.chosen}}

    @classmethod
    def from_arrays(cls, info: FitInfo, arrays: Arrays) -> MLCSSPModel:
        """Return the model of such arrays."""
        shape = arrays["factors"]["chosen"].shape
        require(len(shape) == 1, "chosen is not a list of labels")
        chosen = check_array(arrays, "factors", "chosen", shape, np.int32)
        require(are_within(chosen, info.width), "chosen has labels that there are not")
        weights = check_dense(arrays, "factors", "weights", (info.columns, shape[0]))
        return cls(info, weights, check_dense(arrays, "factors", "lift", (shape[0], info.width)), chosen)


def leverages(Y: csr_matrix, k: int, seed: int | None, max_dense: int = MAX_DENSE_LABELS) -> np.ndarray:
    """Return ‖V_j‖² (L,) of each label, V (L, k) the k leading right singular vectors of Y, or as many as it has."""
    values, vectors = _leading_pairs(Y, k, seed, max_dense)
    real = values > ZERO_EIGENVALUE * max(values.max(), np.finfo(float).tiny)
    return np.einsum("ij,ij->i", vectors[:, real], vectors[:, real])


def _leading_pairs(Y: csr_matrix, k: int, seed: int | None, max_dense: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the k largest eigenvalues of YᵀY and their vectors (L, k)."""
    labels = Y.shape[1]
    wide = Y.astype(np.float64)
    if _is_dense_cheaper(labels, k, max_dense):
        square = (wide.T @ wide).toarray()
        return eigh(square, subset_by_index=(max(0, labels - k), labels - 1), overwrite_a=True, check_finite=False)
    transposed = transpose(wide)
    start = np.random.default_rng(seed).standard_normal(labels)
    operator = LinearOperator((labels, labels), matvec=lambda v: transposed @ (wide @ v), dtype=np.float64)
    return eigsh(operator, k, v0=start)


def _is_dense_cheaper(labels: int, k: int, max_dense: int) -> bool:
    """Say whether eigenvectors are found by LAPACK; ARPACK keeps 2k vectors, which must be fewer than the labels."""
    return labels <= max_dense or 2 * k >= labels


def draw(weights: np.ndarray, count: int, seed: int | None) -> np.ndarray:
    """Return `count` places in rising order, drawn in proportion to the weights until so many distinct ones are found.

    Throwing a place that is drawn again away is drawing from the others in proportion, and who comes first in that is
    who has the first event among independent ones with these rates. Places of weight 0 only come where others are too
    few, the first ones first.
    """
    waiting = np.random.default_rng(seed).exponential(size=len(weights))
    rates = np.maximum(weights, 0)
    times_of_events = np.divide(waiting, rates, out=np.full(len(weights), np.inf), where=rates > 0)
    return np.sort(np.argsort(times_of_events, kind="stable")[:count]).astype(np.int32)


def lift_from(Y: csr_matrix, chosen: np.ndarray) -> np.ndarray:
    """Return C⁺Y (k, L) in float64 with C = Y[:, chosen]: the least squares of the smallest size."""
    C = csr_matrix(Y[:, chosen], dtype=np.float64)
    products = np.asarray((C.T @ Y.astype(np.float64)).todense())  # CᵀY (k, L)
    values, vectors = eigh(products[:, chosen], check_finite=False)  # of CᵀC (k, k)
    # Labels that always go together make CᵀC singular, and its pseudo-inverse shares between them.
    real = values > ZERO_EIGENVALUE * max(values.max(), np.finfo(float).tiny)
    vectors, values = vectors[:, real], values[real]
    return (vectors / values) @ (vectors.T @ products)


class MLCSSPClassifier(Comparator):
    """Ridge regression of k labels that are drawn by their leverage, lifted to all labels by least squares."""

    method = METHOD
    max_dense: ClassVar[int] = MAX_DENSE_LABELS

    def _train(self, rows: Rows, Y: csr_matrix, info: FitInfo, threads: int, progress: Progress) -> MLCSSPModel:
        settings = info.settings
        k = min(dimension(settings["columns"], info.width), info.width)
        with progress.start(3, "choice of labels, and their regression"):
            chosen = draw(leverages(Y, k, settings["random_state"], self.max_dense), k, settings["random_state"])
            progress.advance()
            lift = lift_from(Y, chosen)
            progress.advance()
            weights = ridge(rows, Y[:, chosen].toarray(), settings["l2"], threads)
            progress.advance()
        return MLCSSPModel(info, weights, np.ascontiguousarray(lift, np.float32), chosen)

    def _memory(self, shape: Shape, settings: dict[str, Any], threads: int) -> int:
        labels = shape.labels
        k = min(dimension(settings["columns"], labels), labels)
        dense, lanczos = 8 * (3 * labels**2 + labels * k), 32 * labels * k  # ARPACK keeps 2k vectors beside the k
        vectors = dense if _is_dense_cheaper(labels, k, self.max_dense) else lanczos
        lift = 8 * (4 * k * labels + 4 * k * k)
        return 40 * shape.ones + max(vectors, lift, 8 * k * labels + ridge_memory(shape, k))

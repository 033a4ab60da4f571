"""CS: labels through compressed sensing, that is random projections of them, linear regression, and sparse decoding.

Daniel Hsu, Sham Kakade, John Langford and Tong Zhang, "Multi-label prediction via compressed sensing", NIPS 2009.

Objective: with a random A (m, L), whose columns are Gaussian and of unit length, W is the ridge regression of the
projected labels, and a point's labels are what a k-sparse vector explains of the projections predicted for it:

    min over W of ‖Y Aᵀ − X W‖² + λ ‖W‖²,
    then for ẑ = x W        min over y with ‖y‖₀ ≤ k of ‖ẑ − A y‖².

The second is decoded greedily, by orthogonal matching pursuit or by CoSaMP. Labels are ranked by their coefficients: on
held-out parts of bibtex, Delicious and MediaMill that was better by 0.3 to 1.2 points of P@1 than the order in which
OMP chose them (k = 10). Only those chosen have a score: at most k labels can be predicted for a point.

Cost of training: nnz(Y) m for the projections and the ridge regression of m targets; memory n m. Prediction of a point:
d̄ m + m L for Aᵀẑ, then k² L / 2 with K = AᵀA at hand for OMP, and about 3 k L an iteration for CoSaMP. The model is
(d + L) m numbers, and prediction holds K, L² numbers in float32, beside it.

Where we differ from the paper: the Gaussian columns are made of unit length, which the decoders want; CoSaMP ends when
the residual no longer falls.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from neartag.comparators import compressed_sensing_kernels as kernels
from neartag.comparators.base import Comparator, Shape, from_table
from neartag.comparators.model import Facts, ScoringModel, State, check_dense, dimension, to_unit_interval
from neartag.comparators.ridge import ridge, ridge_memory
from neartag.core.progress import Progress
from neartag.core.threads import run_ranges, single_threaded_blas
from neartag.linalg import csr
from neartag.linalg.packing import require
from neartag.linalg.products import matmul, matmul_rows
from neartag.linalg.rows import Rows

# CoSaMP's iterations at most; of bibtex, Delicious and MediaMill no point took more than ten, and most two to four.
COSAMP_STEPS = 20


@dataclass(repr=False)
class CompressedSensingModel(ScoringModel):
    """Regressors of the projections, and the projections."""

    kind = "cs"

    weights: np.ndarray  # W (d, m)
    projections: np.ndarray  # A (m, seen)

    @cached_property
    def gram(self) -> np.ndarray:
        """AᵀA, (seen, seen): made at the first prediction, and never stored."""
        with single_threaded_blas():
            return np.ascontiguousarray(self.projections.T) @ self.projections

    def adjusted(self, changes: dict[str, Any]) -> CompressedSensingModel:
        """Return a model of the same arrays, AᵀA among them, with other settings of prediction."""
        changed = super().adjusted(changes)
        if changed is not self:
            changed.__dict__["gram"] = self.gram
        return changed

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "gram"}

    def scores(self, rows: Rows, threads: int) -> csr_matrix:
        """Return the chosen labels' coefficients, squashed so that ½ stays ½."""
        predicted = matmul(rows, self.weights, threads)  # ẑ (rows, m)
        k = min(self.settings["sparsity"], *self.projections.shape)  # more columns than m always depend on each other
        ids, coefficients = decoded(predicted, self.projections, self.gram, k, self.settings["decoder"], threads)
        chosen = ids >= 0
        pointer = csr.pointer(chosen.sum(axis=1))
        found = csr_matrix(
            (to_unit_interval(coefficients[chosen], 0.5), ids[chosen], pointer), shape=(len(ids), self.facts.width)
        )
        found.sort_indices()
        return found

    def state(self) -> State:
        """Return both matrices."""
        return {"factors": {"weights": self.weights, "projections": self.projections}}

    @classmethod
    def rebuilt(cls, facts: Facts, state: State) -> CompressedSensingModel:
        """Return the model of a state."""
        shape = state["factors"]["projections"].shape
        require(len(shape) == 2, "projections are not a matrix")
        weights = check_dense(state, "factors", "weights", (facts.columns, shape[0]))
        return cls(facts, weights, check_dense(state, "factors", "projections", (shape[0], facts.width)))


def random_projections(count: int, labels: int, seed: int | None) -> np.ndarray:
    """Return A (count, labels): Gaussian columns of unit length."""
    columns = np.random.default_rng(seed).standard_normal((labels, count), dtype=np.float32)
    columns /= np.linalg.norm(columns.astype(np.float64), axis=1)[:, None]
    return np.ascontiguousarray(columns.T)


def decoded(
    predicted: np.ndarray, projections: np.ndarray, gram: np.ndarray, k: int, decoder: str, threads: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """Return the labels whose columns of A explain each ẑ, and their coefficients, both (rows, k); −1 where fewer do.

    OMP gives labels in the order in which it chose them, CoSaMP the largest coefficient first.
    """
    products = matmul_rows(predicted, projections, threads)  # Aᵀ ẑ (rows, labels)
    ids, coefficients = np.empty((len(products), k), np.int32), np.empty((len(products), k), np.float32)
    if decoder == "omp":
        run_ranges(kernels.orthogonal_matching_pursuit, len(ids), threads, products, gram, ids, coefficients)
    else:
        steps = COSAMP_STEPS
        run_ranges(kernels.compressive_sampling_pursuit, len(ids), threads, products, gram, steps, ids, coefficients)
    return ids, coefficients


def projection_count(settings: dict[str, Any], labels: int) -> int:
    """Return m; unless it is told it is at least 2k, without which two k-sparse vectors may look alike."""
    count = dimension(settings["dim"], labels)
    if isinstance(settings["dim"], str):
        count = max(count, min(labels, 2 * settings["sparsity"]))
    return count


@from_table
class CompressedSensingClassifier(Comparator):
    """Ridge regression of random projections of the labels, from which each point's few labels are decoded."""

    method = "cs"
    prediction = ("sparsity", "decoder", "threshold")

    def _train(
        self, rows: Rows, Y: csr_matrix, facts: Facts, threads: int, progress: Progress
    ) -> CompressedSensingModel:
        settings = facts.settings
        A = random_projections(projection_count(settings, facts.width), facts.width, settings["random_state"])
        with progress.start(1, "regression of the projections"):
            targets = matmul(Y, np.ascontiguousarray(A.T), threads)  # Y Aᵀ (n, m)
            weights = ridge(rows, targets, settings["l2"], threads)
            progress.advance()
        return CompressedSensingModel(facts, weights, A)

    def _memory(self, shape: Shape, settings: dict[str, Any], threads: int) -> int:
        count = projection_count(settings, shape.labels)
        projections = 16 * count * shape.labels  # made in float32, and for a moment in float64
        # What prediction would then need counts too: a model that cannot be used is not worth its training.
        return projections + max(ridge_memory(shape, count), 4 * shape.labels**2)

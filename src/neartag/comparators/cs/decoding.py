"""The few labels whose projections explain what was predicted: sparse decoding, by OMP or by CoSaMP."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from neartag.comparators.cs import decoding_kernels as kernels
from neartag.core.threads import run_ranges, single_threaded_blas
from neartag.linalg.products import matmul_rows

# CoSaMP's iterations at most; of bibtex, Delicious and MediaMill no point took more than ten, and most two to four.
COSAMP_STEPS = 20


@dataclass
class Decoder:
    """The projections A, and what decoding needs of them: a model's copies with other settings share one."""

    projections: np.ndarray  # A (m, seen)

    @cached_property
    def gram(self) -> np.ndarray:
        """AᵀA, (seen, seen): made at the first prediction, and never stored."""
        with single_threaded_blas():
            return np.ascontiguousarray(self.projections.T) @ self.projections

    def __getstate__(self) -> dict[str, Any]:
        return {"projections": self.projections}

    def decode(self, predicted: np.ndarray, k: int, by: str, threads: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """Return the labels whose columns of A explain each ẑ, and their coefficients, both (rows, k); −1: fewer do.

        OMP gives labels in the order in which it chose them, CoSaMP the largest coefficient first.
        """
        products = matmul_rows(predicted, self.projections, threads)  # Aᵀ ẑ (rows, labels)
        rows = len(products)
        ids, coefficients = np.empty((rows, k), np.int32), np.empty((rows, k), np.float32)
        if by == "omp":
            run_ranges(kernels.orthogonal_matching_pursuit, rows, threads, products, self.gram, ids, coefficients)
        else:
            arguments = products, self.gram, COSAMP_STEPS, ids, coefficients
            run_ranges(kernels.compressive_sampling_pursuit, rows, threads, *arguments)
        return ids, coefficients

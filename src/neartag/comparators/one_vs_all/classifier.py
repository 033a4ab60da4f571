"""The estimator of one linear machine for each label, and its model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from neartag.comparators.one_vs_all import METHOD
from neartag.comparators.one_vs_all.machines import fit_machines, machines_memory
from neartag.comparators.shared.arrays import Arrays, check_array
from neartag.comparators.shared.base import Comparator, Shape
from neartag.comparators.shared.model import FitInfo, ScoringModel
from neartag.comparators.shared.scores import to_unit_interval
from neartag.core.progress import Progress
from neartag.linalg.products import matmul
from neartag.linalg.rows import Rows, compact, transpose


@dataclass(repr=False)
class OneVsAllModel(ScoringModel):
    """The weights of each label."""

    method = METHOD

    weights: Rows  # (columns, seen), CSR unless well filled
    offset: np.ndarray  # (seen,) float32

    def scores(self, rows: Rows, threads: int) -> np.ndarray:
        """Return the margins, brought between 0 and 1; 0.5 is on the border."""
        margins = matmul(rows, self.weights, threads)  # (m, seen)
        margins += self.offset
        return to_unit_interval(margins, 0)

    def arrays(self) -> Arrays:
        """Return the weights and offsets."""
        return {"machines": {"weights": self.weights, "offset": self.offset}}

    @classmethod
    def from_arrays(cls, info: FitInfo, arrays: Arrays) -> OneVsAllModel:
        """Return the model of such arrays."""
        weights = check_array(arrays, "machines", "weights", (info.columns, info.width))
        return cls(info, weights, check_array(arrays, "machines", "offset", (info.width,)))


class OneVsAllClassifier(Comparator):
    """A linear support vector machine with squared hinge loss for each label, each trained by itself."""

    method = METHOD

    def _train(self, rows: Rows, Y: csr_matrix, info: FitInfo, threads: int, progress: Progress) -> OneVsAllModel:
        settings = info.settings
        machines = fit_machines(rows, Y, settings["C"], settings["keep_above"], threads, progress)
        return OneVsAllModel(info, compact(transpose(machines.weights)), machines.offset)

    def _memory(self, shape: Shape, settings: dict[str, Any], threads: int) -> int:
        return machines_memory(shape, threads)

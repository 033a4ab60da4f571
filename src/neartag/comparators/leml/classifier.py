"""The estimator of LEML, its model, and the alternation between the two factors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_matrix

from neartag.comparators.leml import METHOD
from neartag.comparators.leml.alternation import factorise
from neartag.comparators.leml.steps import MAX_SPECTRAL_SIDE, problem_bytes
from neartag.comparators.shared.arrays import Arrays, check_array
from neartag.comparators.shared.base import Comparator, Shape
from neartag.comparators.shared.model import FitInfo, ScoringModel, dimension
from neartag.comparators.shared.scores import to_unit_interval
from neartag.core.progress import Progress
from neartag.linalg.packing import require
from neartag.linalg.products import matmul, matmul_rows
from neartag.linalg.rows import Rows

# A label that is there is regressed on as 1, one that is not as 0.
MIDDLE_SCORE = 0.5


@dataclass(repr=False)
class LEMLModel(ScoringModel):
    """The two factors."""

    method = METHOD

    W: np.ndarray  # (columns, r)
    H: np.ndarray  # (seen, r)

    def scores(self, rows: Rows, threads: int) -> np.ndarray:
        """Return what the regression gives for each label, 0.5 where it is undecided."""
        return to_unit_interval(matmul_rows(matmul(rows, self.W, threads), self.H.T, threads), MIDDLE_SCORE)

    def arrays(self) -> Arrays:
        """Return the factors."""
        return {"factors": {"W": self.W, "H": self.H}}

    @classmethod
    def from_arrays(cls, info: FitInfo, arrays: Arrays) -> LEMLModel:
        """Return the model of such arrays."""
        given = arrays["factors"]["W"]
        require(isinstance(given, np.ndarray) and given.ndim == 2, "W is no matrix")
        W = check_array(arrays, "factors", "W", (info.columns, given.shape[1]))
        H = check_array(arrays, "factors", "H", (info.width, given.shape[1]))
        require(isinstance(H, np.ndarray), "H is no dense matrix")
        return cls(info, W, H)


class LEMLClassifier(Comparator):
    """Low-rank linear regression of all labels: X W Hᵀ, both factors penalised."""

    method = METHOD
    max_spectral_side: ClassVar[int] = MAX_SPECTRAL_SIDE  # of X, up to which it is decomposed

    def _train(self, rows: Rows, Y: csr_matrix, info: FitInfo, threads: int, progress: Progress) -> LEMLModel:
        settings = info.settings
        with progress.start(settings["max_iter"], "alternating"):
            factors = factorise(
                rows,
                Y,
                dimension(settings["rank"], info.width),
                settings["l2"],
                max_iter=settings["max_iter"],
                cg_max_iter=settings["cg_max_iter"],
                seed=settings["random_state"],
                threads=threads,
                progress=progress,
                max_spectral_side=self.max_spectral_side,
            )
        return LEMLModel(info, factors.W, factors.H)

    def _memory(self, shape: Shape, settings: dict[str, Any], threads: int) -> int:
        return problem_bytes(shape, dimension(settings["rank"], shape.labels), threads, self.max_spectral_side)

"""The estimator of LPSR, its model, and the parts with their labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from scipy.sparse import csr_matrix

from neartag.comparators.lpsr import METHOD
from neartag.comparators.lpsr.label_assignment import BLOCK_SCORES
from neartag.comparators.lpsr.label_scorer import LabelScorer, mass
from neartag.comparators.lpsr.naive_bayes import fit_naive_bayes
from neartag.comparators.lpsr.parts import (
    MAX_SCORES,
    assign_labels,
    count_parts,
    labels_per_part,
    reweigh_partition,
    weigh_points,
)
from neartag.comparators.one_vs_all.machines import fit_machines, machines_memory
from neartag.comparators.shared.arrays import Arrays, check_array
from neartag.comparators.shared.base import Comparator, Shape
from neartag.comparators.shared.model import BATCH_ROWS, BATCH_SCORES, FitInfo, ScoringModel
from neartag.comparators.shared.rows import without_constant
from neartag.comparators.shared.scores import to_unit_interval
from neartag.core.progress import Progress
from neartag.linalg.packing import require
from neartag.linalg.rows import Rows, normalise
from neartag.x1.centroids import route
from neartag.x1.kmeans import partition

# Weights of no larger size are dropped from linear machines.
MIN_KEPT_WEIGHT = 0.01


@dataclass(repr=False)
class LPSRModel(ScoringModel):
    """The base scorer, the parts' centroids, and their labels."""

    method = METHOD

    scorer: LabelScorer
    centroids: np.ndarray  # (d, parts)
    assigned: csr_matrix  # (parts, seen), ones

    @property
    def batch_rows(self) -> int:
        """Rows answered at once: only the labels of their parts are scored."""
        most = int(np.diff(self.assigned.indptr).max(initial=1)) * min(self.settings["n_probe"], self.assigned.shape[0])
        return max(1, min(BATCH_ROWS, BATCH_SCORES // max(1, most)))

    def scores(self, rows: Rows, threads: int) -> csr_matrix:
        """Return the base scores of the labels of each row's nearest parts, from 0 to 1; 0.5 is as likely as not."""
        m = rows.shape[0]
        features = without_constant(rows, self.n_features)
        near = route(normalise(features), self.centroids, self.settings["n_probe"], threads)  # (m, probes)
        visits = csr_matrix(
            (np.ones(near.size, np.float32), near.ravel(), np.arange(m + 1) * near.shape[1]),
            shape=(m, self.assigned.shape[0]),
        )
        pattern = csr_matrix(visits @ self.assigned)  # (m, seen), the labels of any of the parts
        pattern.sort_indices()
        if self.settings["scorer"] == "naive_bayes":
            raw = self.scorer.of_pattern(features, pattern, threads)
            # Evidence for a unit of features: the same order of a point's labels, and no sums too large to be told
            # apart once they are between 0 and 1.
            raw /= np.repeat(1 + np.abs(mass(features)), np.diff(pattern.indptr))
        else:
            raw = self.scorer.of_pattern(rows, pattern, threads)
        return csr_matrix((to_unit_interval(raw, 0), pattern.indices, pattern.indptr), shape=pattern.shape)

    def arrays(self) -> Arrays:
        """Return the scorer, the centroids and the labels assigned."""
        base = self.scorer
        return {
            "scorer": {"table": base.table, "prior": base.prior, "slope": base.slope, "common": base.common},
            "parts": {"centroids": self.centroids, "assigned": self.assigned},
        }

    @classmethod
    def from_arrays(cls, info: FitInfo, arrays: Arrays) -> LPSRModel:
        """Return the model of such arrays."""
        width = info.n_features if info.settings["scorer"] == "naive_bayes" else info.columns
        table = check_array(arrays, "scorer", "table", (info.width, width))
        prior, slope = (check_array(arrays, "scorer", name, (info.width,)) for name in ("prior", "slope"))
        scorer = LabelScorer(table, prior, slope, check_array(arrays, "scorer", "common", (width,)))
        centroids = arrays["parts"]["centroids"]
        require(isinstance(centroids, np.ndarray) and centroids.ndim == 2, "the centroids are no matrix")
        require(centroids.shape[1] > 0, "there are no parts")
        check_array(arrays, "parts", "centroids", (info.n_features, centroids.shape[1]))
        assigned = check_array(arrays, "parts", "assigned", (centroids.shape[1], info.width))
        require(sparse.issparse(table) and sparse.issparse(assigned), "the table or the parts' labels are not sparse")
        return cls(info, scorer, centroids, assigned)


def fit_scorer(rows: Rows, Y: csr_matrix, info: FitInfo, threads: int, progress: Progress) -> LabelScorer:
    """Return the scorer that the settings name, learned; of rows without the constant where it is naive Bayes."""
    settings = info.settings
    if settings["scorer"] == "naive_bayes":
        return fit_naive_bayes(without_constant(rows, info.n_features), Y, settings["smoothing"])
    machines = fit_machines(rows, Y, settings["C"], MIN_KEPT_WEIGHT, threads, progress)
    zeros = np.zeros(Y.shape[1], np.float32)
    return LabelScorer(machines.weights, machines.offset, zeros, np.zeros(rows.shape[1], np.float32))


class LPSRClassifier(Comparator):
    """A partition of the points, each part with a few labels chosen for precision, ranked by a base scorer."""

    method = METHOD
    max_scores: ClassVar[int] = MAX_SCORES  # that a part's labels are assigned from

    def _train(self, rows: Rows, Y: csr_matrix, info: FitInfo, threads: int, progress: Progress) -> LPSRModel:
        settings = info.settings
        scorer = fit_scorer(rows, Y, info, threads, progress)
        features = without_constant(rows, info.n_features)
        unit = normalise(features)
        count = count_parts(settings["partitions"], rows.shape[0])
        parts = partition(unit, count, seed=settings["random_state"], threads=threads)
        scored = features if settings["scorer"] == "naive_bayes" else rows
        if settings["weighted_rounds"] and parts.n_clusters > 1:
            weights = weigh_points(scored, Y, parts, scorer, threads, self.max_scores)
            parts = reweigh_partition(unit, parts, weights, settings["weighted_rounds"], threads)
        assigned = assign_labels(scored, Y, parts, scorer, settings, threads, progress, self.max_scores)
        return LPSRModel(info, scorer, parts.centroids, assigned)

    def _memory(self, shape: Shape, settings: dict[str, Any], threads: int) -> int:
        parts = count_parts(settings["partitions"], shape.points)
        labels = labels_per_part(settings["labels_per_partition"], shape.labels)
        if settings["scorer"] == "naive_bayes":
            # Labels and features that occur together, as often as they do, or all of them.
            pairs = min(shape.ones * shape.entries // shape.points, shape.labels * shape.features)
            scorer = 48 * pairs
        else:
            scorer = machines_memory(shape, threads)
        candidates = min(self.max_scores, shape.points * shape.labels)
        # Scores that are sorted, and ranks that are kept: in a list of blocks and then in one piece.
        assignment = threads * (40 * min(BLOCK_SCORES, shape.points * shape.labels) + 10 * candidates)
        return scorer + 16 * shape.entries + 12 * shape.features * parts + 8 * labels * parts + assignment

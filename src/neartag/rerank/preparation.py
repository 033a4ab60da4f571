"""What may be decided about a reranker, and what is tried where nobody decided it."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np
from scipy.sparse import csr_matrix

from neartag.linalg.hybrid_rows import HybridRows
from neartag.linalg.rows import Rows
from neartag.rerank.candidates import candidates_per_source

# Costs of the rankers' errors that are tried. The first is used where none can be measured.
COSTS = (0.5, 1.0)
# The same where rows have vectors beside their words, for rows of unit length: smaller ones were as good or better on
# held-out fifths of cooking and yso, and are learned sooner.
COSTS_WITH_VECTORS = (0.25, 0.5)
# The costs are tried on one of so many labels: with one of eight the choice changed on a held-out fifth of BibTeX.
LABELS_PER_TRIED = 4
# Up to so many pairs of a point and a label, that is. Of more pairs fewer labels are tried, so that about PAIRS_TRIED
# pairs are: more cost time and hardly change the choice of one number.
MANY_PAIRS, PAIRS_TRIED = 1_000_000, 250_000
# But at least one label of so many, and at least so many labels: points held out are few however many there are, and
# some hundreds of their right labels must be among those tried, or the choice is chance.
MAX_LABELS_PER_TRIED, MIN_LABELS_TRIED = 24, 200
# Up to so many points the rankers are trained again on all of them, those included that the choice was made on.
MAX_POINTS_TO_REFIT_RANKERS = 50_000
# Share of the right candidates that must be found where neighbours by features are not looked for everywhere.
MIN_RECALL = 0.97


@dataclass(frozen=True)
class RerankOptions:
    """What a user may decide. None: it is chosen here."""

    size: int | None = None  # candidates from each of the three sources
    cost: float | None = None  # of the rankers' errors
    min_weight: float = 0.0  # smaller weights of rankers are dropped
    seed: int = 0
    min_recall: float = MIN_RECALL  # of the right candidates, for `nearby_voters` to be taken

    def candidates_for(self, Y: csr_matrix) -> int:
        """Return how many candidates each source brings, for labels like these."""
        return candidates_per_source(Y) if self.size is None else int(min(self.size, Y.shape[1]))

    def costs_for(self, X: Rows) -> tuple[float, ...]:
        """Return the costs that are tried for rows like these; one where it is decided."""
        if self.cost is not None:
            return (self.cost,)
        if isinstance(X, HybridRows):  # whose rows are longer than 1, which is as if errors cost more
            return tuple(cost / (1 + X.vector_weight**2) for cost in COSTS_WITH_VECTORS)
        return COSTS


def count_labels_per_tried(positives: np.ndarray) -> int:
    """Return on one of how many labels the costs are tried, given how many points have each (L,)."""
    pairs = int(positives.sum())
    if pairs <= MANY_PAIRS:
        return LABELS_PER_TRIED
    wanted = min(ceil(pairs / PAIRS_TRIED), MAX_LABELS_PER_TRIED)
    return max(1, min(wanted, np.count_nonzero(positives) // MIN_LABELS_TRIED))


def choose_tried(positives: np.ndarray) -> np.ndarray:
    """Return the labels (L,) on which the costs are tried, given how many points have each."""
    step, present = count_labels_per_tried(positives), np.flatnonzero(positives)
    if positives.sum() <= MANY_PAIRS:
        chosen = present[::step]
    else:  # by frequency, each the middle of its stretch: the most frequent alone may have most of the pairs
        chosen = present[np.argsort(-positives[present], kind="stable")][step // 2 :: step]
    tried = np.zeros(len(positives), bool)
    tried[chosen] = True
    return tried

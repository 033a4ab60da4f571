"""What `neartag evaluate` reports: every metric over all labels, and for bands of labels by training frequency."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from neartag.evaluation.bands import score_bands
from neartag.evaluation.matches import match_labels
from neartag.evaluation.metrics import score_all
from neartag.evaluation.propensities import PROPENSITY_A, PROPENSITY_B, LabelCounts
from neartag.linalg import csr


def report_metrics(
    labels: np.ndarray,
    Y: csr_matrix,
    counts: LabelCounts,
    ks: Sequence[int] = (1, 3, 5),
    *,
    a: float = PROPENSITY_A,
    b: float = PROPENSITY_B,
) -> dict[str, Any]:
    """Return the fields "metrics" and "by_frequency" of the report.

    Y may have more columns than there are counts, or fewer: a label that only one of them knows is new, or no point's.
    """
    width = max(Y.shape[1], len(counts.frequency))
    matches, counts = match_labels(labels, csr.widen(Y, width)), counts.widen(width)
    return {
        "metrics": score_all(matches, ks, counts.propensities(a, b)),
        "by_frequency": score_bands(matches, counts, ks, a=a, b=b),
    }

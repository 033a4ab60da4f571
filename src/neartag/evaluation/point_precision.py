"""Precision of single points, by which two answers to the same points are compared pair by pair."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_matrix

from neartag.evaluation.matches import match_labels, point_terms


def precision_by_point(labels: np.ndarray, Y: csr_matrix, ks: Sequence[int]) -> np.ndarray:
    """Return the mean of P@k over the ks for each point, in percent (n,); labels are the best first, −1 for none."""
    matches = match_labels(labels, Y)
    return 100 * np.mean([point_terms("P", k, matches, None)[0] for k in ks], axis=0)


def standard_error(values: np.ndarray) -> float:
    """Return the standard error of the mean of values, such as the gains of single points (n,)."""
    return float(values.std() / np.sqrt(len(values)))

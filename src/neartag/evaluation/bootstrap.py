"""How sure the difference between two models is: a bootstrap over the test points."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from neartag.core.errors import ParameterError
from neartag.evaluation.matches import divide, match_labels, percent, point_terms
from neartag.evaluation.propensities import PROPENSITY_A, PROPENSITY_B, propensities


class Interval(NamedTuple):
    """The difference between two models, first minus second, and the interval around it.

    Parameters
    ----------
    difference, low, high : float
        In points of percent.

    Examples
    --------
    >>> from neartag.metrics import Interval
    >>> interval = Interval(1.5, 0.4, 2.6)
    >>> interval.low > 0  # surely better
    True
    """

    difference: float
    low: float
    high: float


def paired_bootstrap(
    labels_a: np.ndarray,
    labels_b: np.ndarray,
    Y: csr_matrix,
    *,
    metric: str = "P@1",
    Y_train: csr_matrix | None = None,
    samples: int = 2000,
    seed: int = 0,
    level: float = 0.95,
    a: float = PROPENSITY_A,
    b: float = PROPENSITY_B,
) -> Interval:
    """Return by how much the first predictions beat the second in a metric, with a bootstrap interval.

    Test points are drawn with replacement, the same ones for both models; the interval is that of the percentiles.

    Parameters
    ----------
    labels_a, labels_b : ndarray of int, shape (n, columns)
        Predicted label ids of both models, best first, -1 for none.
    Y : array or sparse matrix of shape (n, L)
        True labels.
    metric : str, default "P@1"
        P@k, nDCG@k, R@k, PSP@k or PSnDCG@k.
    Y_train : array or sparse matrix of shape (m, L), optional
        Labels of the training points; PSP and PSnDCG need them.
    samples : int, default 2000
    seed : int, default 0
    level : float, default 0.95
        How often such an interval covers the true difference.
    a, b : float
        Constants of the propensities.

    Returns
    -------
    Interval

    Raises
    ------
    ParameterError
        If an argument cannot be used.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_matrix
    >>> from neartag import metrics
    >>> Y = csr_matrix(np.eye(4))
    >>> right, half = np.arange(4)[:, None], np.array([[0], [1], [0], [0]])
    >>> metrics.paired_bootstrap(right, half, Y, samples=200).difference
    50.0
    """
    parsed = re.fullmatch(r"(P|nDCG|R|PSP|PSnDCG)@([0-9]+)", metric)
    if parsed is None:
        raise ParameterError(f"metric must be P@k, nDCG@k, R@k, PSP@k or PSnDCG@k: {metric!r}")
    if samples < 1:
        raise ParameterError(f"samples must be at least 1: {samples}")
    if not 0.0 < level < 1.0:
        raise ParameterError(f"level must lie between 0 and 1: {level}")
    family, k = parsed[1], int(parsed[2])
    weights = None
    if family.startswith("PS"):
        if Y_train is None:
            raise ParameterError(f"metric {metric!r} needs Y_train for its propensities")
        weights = propensities(Y_train, a, b)

    reached_a, attainable = point_terms(family, k, match_labels(labels_a, Y), weights)
    reached_b, _ = point_terms(family, k, match_labels(labels_b, Y), weights)
    # What can be reached depends on Y alone, so the difference of the metrics is the ratio of these sums.
    summands = np.column_stack([reached_a - reached_b, attainable])  # (n, 2)
    points = summands.shape[0]
    generator = np.random.default_rng(seed)
    sums = np.empty((samples, 2))
    for sample in range(samples):
        drawn = np.bincount(generator.integers(points, size=points), minlength=points)  # (n,) how often each
        sums[sample] = drawn @ summands
    differences = 100.0 * divide(sums[:, 0], sums[:, 1])
    low, high = np.quantile(differences, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    return Interval(percent(summands[:, 0], summands[:, 1]), float(low), float(high))

"""How good predictions are, in percent (0 to 100), over all test points.

`labels` is an int array (n, columns) of label ids, best first, -1 where a method had no further label (a miss).
`Y` is the array or sparse matrix (n, L) of the true labels. Whatever is not zero counts as one.

A point without true labels is never left out. It scores 0 in P@k, nDCG@k and R@k, as in the XMC repository's own
scripts, so no method can reach 100 where there are such points. PSP@k and PSnDCG@k divide by what can be reached; to
them it adds nothing above or below the line.

Every metric here is a sum over points of what was reached, divided by a sum over points of what could be reached:

    metric   reached by point i                           attainable by point i
    P@k      Σ_r hit_r / k                                1
    R@k      Σ_r hit_r / |y_i|                            1
    nDCG@k   Σ_r hit_r d_r / Σ_{r ≤ min(k, |y_i|)} d_r    1             with d_r = 1 / log2(r + 1), r = 1 … k
    PSP@k    as P@k, each hit divided by p_l              the same for the best k labels of y_i
    PSnDCG@k as nDCG@k, each hit divided by p_l           the same for the best k labels of y_i

p_l is the propensity of label l: rare labels, which are more often missing in the data, count more.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_matrix

from neartag.evaluation.bands import by_frequency
from neartag.evaluation.bootstrap import Interval, paired_bootstrap
from neartag.evaluation.matches import Matches, match_labels, score
from neartag.evaluation.propensities import PROPENSITY_A, PROPENSITY_B, propensities

__all__ = [
    "Interval",
    "by_frequency",
    "evaluate",
    "ndcg_at",
    "paired_bootstrap",
    "precision_at",
    "propensities",
    "psndcg_at",
    "psp_at",
    "recall_at",
]

PLAIN = ("P", "nDCG", "R")
PROPENSITY_SCORED = ("PSP", "PSnDCG")


def precision_at(labels: np.ndarray, Y: csr_matrix, k: int) -> float:
    """Return P@k in percent: the share of right labels among the first k.

    Parameters
    ----------
    labels : ndarray of int, shape (n, columns)
        Predicted label ids, best first, -1 for none.
    Y : array or sparse matrix of shape (n, L)
        True labels. A point without labels scores 0.
    k : int

    Returns
    -------
    float

    Raises
    ------
    ParameterError
        If the arguments do not fit together.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_matrix
    >>> from neartag import metrics
    >>> Y = csr_matrix(np.array([[1, 0, 1], [0, 1, 0]]))
    >>> metrics.precision_at(np.array([[0, 1], [1, 2]]), Y, k=2)
    50.0
    """
    return score("P", k, match_labels(labels, Y))


def ndcg_at(labels: np.ndarray, Y: csr_matrix, k: int) -> float:
    """Return nDCG@k in percent: each hit is divided by the logarithm of its rank, so that early hits count more.

    Parameters
    ----------
    labels : ndarray of int, shape (n, columns)
        Predicted label ids, best first, -1 for none.
    Y : array or sparse matrix of shape (n, L)
        True labels. A point without labels scores 0.
    k : int

    Returns
    -------
    float

    Raises
    ------
    ParameterError
        If the arguments do not fit together.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_matrix
    >>> from neartag import metrics
    >>> Y = csr_matrix(np.array([[1, 0, 1], [0, 1, 0]]))
    >>> round(metrics.ndcg_at(np.array([[0, 1], [1, 2]]), Y, k=2), 2)
    80.66
    """
    return score("nDCG", k, match_labels(labels, Y))


def recall_at(labels: np.ndarray, Y: csr_matrix, k: int) -> float:
    """Return R@k in percent: the share of a point's true labels that are among the first k.

    Parameters
    ----------
    labels : ndarray of int, shape (n, columns)
        Predicted label ids, best first, -1 for none.
    Y : array or sparse matrix of shape (n, L)
        True labels. A point without labels scores 0.
    k : int

    Returns
    -------
    float

    Raises
    ------
    ParameterError
        If the arguments do not fit together.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_matrix
    >>> from neartag import metrics
    >>> Y = csr_matrix(np.array([[1, 0, 1], [0, 1, 0]]))
    >>> metrics.recall_at(np.array([[0, 1], [1, 2]]), Y, k=2)
    75.0
    """
    return score("R", k, match_labels(labels, Y))


def psp_at(labels: np.ndarray, Y: csr_matrix, propensities: np.ndarray, k: int) -> float:
    """Return PSP@k: precision in which rare labels count more, in percent of the best that can be reached.

    Parameters
    ----------
    labels : ndarray of int, shape (n, columns)
        Predicted label ids, best first, -1 for none.
    Y : array or sparse matrix of shape (n, L)
        True labels. A point without labels adds nothing; if no point has one, the result is 0.
    propensities : ndarray of shape (L,)
        As `neartag.metrics.propensities` gives them.
    k : int

    Returns
    -------
    float

    Raises
    ------
    ParameterError
        If the arguments do not fit together.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_matrix
    >>> from neartag import metrics
    >>> Y = csr_matrix(np.array([[1, 0, 1], [0, 1, 0]]))
    >>> metrics.psp_at(np.array([[0], [1]]), Y, np.array([1.0, 0.5, 0.25]), k=1)
    50.0
    """
    return score("PSP", k, match_labels(labels, Y), propensities)


def psndcg_at(labels: np.ndarray, Y: csr_matrix, propensities: np.ndarray, k: int) -> float:
    """Return PSnDCG@k: nDCG in which rare labels count more, in percent of the best that can be reached.

    Parameters
    ----------
    labels : ndarray of int, shape (n, columns)
        Predicted label ids, best first, -1 for none.
    Y : array or sparse matrix of shape (n, L)
        True labels. A point without labels adds nothing; if no point has one, the result is 0.
    propensities : ndarray of shape (L,)
        As `neartag.metrics.propensities` gives them.
    k : int

    Returns
    -------
    float

    Raises
    ------
    ParameterError
        If the arguments do not fit together.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_matrix
    >>> from neartag import metrics
    >>> Y = csr_matrix(np.array([[1, 0, 1], [0, 1, 0]]))
    >>> metrics.psndcg_at(np.array([[0], [1]]), Y, np.array([1.0, 0.5, 0.25]), k=1)
    50.0
    """
    return score("PSnDCG", k, match_labels(labels, Y), propensities)


def evaluate(
    labels: np.ndarray,
    Y: csr_matrix,
    *,
    ks: Sequence[int] = (1, 3, 5),
    Y_train: csr_matrix | None = None,
    a: float = PROPENSITY_A,
    b: float = PROPENSITY_B,
) -> dict[str, float]:
    """Return every metric at every k.

    Parameters
    ----------
    labels : ndarray of int, shape (n, columns)
        Predicted label ids, best first, -1 for none.
    Y : array or sparse matrix of shape (n, L)
        True labels.
    ks : sequence of int, default (1, 3, 5)
    Y_train : array or sparse matrix of shape (m, L), optional
        Labels of the training points. Without them PSP and PSnDCG are left out.
    a, b : float
        Constants of the propensities.

    Returns
    -------
    dict of str to float
        "P@1", "nDCG@3", "R@5", "PSP@1", … in percent, 0 to 100.

    Raises
    ------
    ParameterError
        If the arguments do not fit together.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_matrix
    >>> from neartag import metrics
    >>> Y = csr_matrix(np.array([[1, 0, 1], [0, 1, 0]]))
    >>> metrics.evaluate(np.array([[0, 1], [1, 2]]), Y, ks=(1,))
    {'P@1': 100.0, 'nDCG@1': 100.0, 'R@1': 75.0}
    """
    matches = match_labels(labels, Y)
    return score_all(matches, ks, None if Y_train is None else propensities(Y_train, a, b))


def score_all(matches: Matches, ks: Sequence[int], propensities: np.ndarray | None = None) -> dict[str, float]:
    """Return what `evaluate` does, for predictions that are matched already and propensities that are known."""
    scores = {f"{family}@{k}": score(family, k, matches) for family in PLAIN for k in ks}
    if propensities is not None:
        scores |= {f"{family}@{k}": score(family, k, matches, propensities) for family in PROPENSITY_SCORED for k in ks}
    return scores

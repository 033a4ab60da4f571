"""Propensities: how likely a true label is to be in the data at all, estimated from its frequency in training.

Jain, Prabhu, Varma, "Extreme Multi-label Loss Functions for Recommendation, Tagging, Ranking & Other Missing Label
Applications", KDD 2016.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from neartag.core.errors import ParameterError
from neartag.evaluation.matches import frequencies, to_canonical

# The XMC repository's values for all data sets but Wikipedia's (0.5, 0.4) and Amazon's (0.6, 2.6).
PROPENSITY_A = 0.55
PROPENSITY_B = 1.5


class LabelCounts(NamedTuple):
    """What metrics need to know about the training labels."""

    frequency: np.ndarray  # (L,) how many training points have each label
    points: int  # n, training points

    @classmethod
    def of(cls, Y_train: csr_matrix) -> LabelCounts:
        """Return the counts of a label matrix (n, L)."""
        train = to_canonical(Y_train, "Y_train")
        return cls(frequencies(train), int(train.shape[0]))

    def widen(self, labels: int) -> LabelCounts:
        """Return the counts of more labels, which no training point has."""
        return self._replace(frequency=np.pad(self.frequency, (0, labels - len(self.frequency))))

    def propensities(self, a: float = PROPENSITY_A, b: float = PROPENSITY_B) -> np.ndarray:
        """Return the propensity of each label, as `propensities` does: (L,)."""
        if not (np.isfinite(a) and np.isfinite(b) and b > 0):
            raise ParameterError(f"propensities need a finite a and b > 0: a is {a}, b is {b}")
        if self.points == 0:
            raise ParameterError("Y_train has no points, so there are no propensities")
        constant = max(0.0, np.log(self.points) - 1.0) * (b + 1.0) ** a
        return 1.0 / (1.0 + constant * np.exp(-a * np.log(self.frequency + b)))


def propensities(Y_train: csr_matrix, a: float = PROPENSITY_A, b: float = PROPENSITY_B) -> np.ndarray:
    """Return the propensity p_l = 1 / (1 + C (N_l + b)^-a) of each label, C = (log n - 1)(b + 1)^a.

    N_l is how many of the n training points have label l. For n below e, C would be negative and propensities above
    one; C is then 0, and all labels weigh the same.

    Parameters
    ----------
    Y_train : array or sparse matrix of shape (n, L)
        Labels of the training points.
    a, b : float
        Constants; (0.5, 0.4) for Wikipedia, (0.6, 2.6) for Amazon.

    Returns
    -------
    ndarray of shape (L,)

    Raises
    ------
    ParameterError
        If there are no points, or a constant cannot be used.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_matrix
    >>> from neartag import metrics
    >>> Y_train = csr_matrix(np.array([[1, 0]] * 9 + [[1, 1]]))
    >>> metrics.propensities(Y_train).round(2)
    array([0.64, 0.43])
    """
    return LabelCounts.of(Y_train).propensities(a, b)

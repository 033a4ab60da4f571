"""Precision of single points: worked by hand, and in agreement with the metrics over all points."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from neartag.evaluation.point_precision import precision_by_point, standard_error
from neartag.metrics import evaluate

Y = csr_matrix(np.array([[1, 0, 1, 0], [0, 0, 0, 1]]))
LABELS = np.array([[0, 1, 2, -1, -1], [1, 3, -1, -1, -1]])


def test_by_hand():
    one, other = (1 + 2 / 3 + 2 / 5) / 3, (0 + 1 / 3 + 1 / 5) / 3
    assert precision_by_point(LABELS, Y, (1, 3, 5)) == pytest.approx([100 * one, 100 * other])


def test_the_mean_is_the_metric():
    measured = evaluate(LABELS, Y, ks=(1, 3, 5))
    expected = np.mean([measured[f"P@{k}"] for k in (1, 3, 5)])
    assert precision_by_point(LABELS, Y, (1, 3, 5)).mean() == pytest.approx(expected)


def test_a_standard_error_by_hand():
    assert standard_error(np.array([0.0, 10.0, 0.0, 10.0])) == 5 / 2
    assert standard_error(np.full(9, 3.0)) == 0

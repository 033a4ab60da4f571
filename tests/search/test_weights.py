"""What a neighbour's vote weighs, against plain sums."""

from __future__ import annotations

import math

import numpy as np
import pytest

from neartag.core.errors import ParameterError
from neartag.search.weights import voter_weights

INF = float("-inf")


def test_uniform_weights_by_hand():
    cosines = np.array([[0.9, 0.1, -0.5, INF], [0.3, INF, INF, INF], [INF] * 4], np.float32)
    third = 1 / 3
    assert voter_weights(cosines, "uniform").tolist() == [[third, third, third, 0], [1, 0, 0, 0], [0, 0, 0, 0]]


@pytest.mark.parametrize("sharpness", [0.0, 1.0, 10.0, 37.5])
def test_similarity_weights_by_a_loop(sharpness):
    cosines = np.array([[0.9, 0.1, -0.5, INF], [0.3, INF, INF, INF], [INF] * 4], np.float32)
    found = voter_weights(cosines, "similarity", sharpness)
    assert found.dtype == np.float64
    for row, shares in zip(cosines, found, strict=True):
        raw = [math.exp(sharpness * (float(value) - 1)) if value > INF else 0.0 for value in row]
        np.testing.assert_allclose(shares, [value / (sum(raw) or 1) for value in raw], rtol=1e-12)


def test_a_missing_voter_has_no_share_and_the_others_sum_to_one():
    cosines = np.array([[0.5, 0.4, INF], [1.0, 0.2, -1.0]], np.float32)
    for kind in ("similarity", "uniform"):
        shares = voter_weights(cosines, kind)
        assert shares[0, 2] == 0
        np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-12)


@pytest.mark.parametrize("sharpness", [1e3, 1e5, 1e9, 1e300])
@pytest.mark.parametrize("best", [1.0000001, 0.9, 0.1, -0.4])
def test_however_sharp_the_nearest_keeps_its_vote(sharpness, best):
    # exp(1000 · (0.1 − 1)) is zero in float64: shares are ratios, and must not be lost with it.
    shares = voter_weights(np.array([[best, best - 0.3, INF]], np.float32), "similarity", sharpness)
    np.testing.assert_allclose(shares, [[1, 0, 0]], atol=1e-12)


@pytest.mark.parametrize("kind", ["rank", None])
def test_a_weight_that_is_not_known_is_refused(kind):
    with pytest.raises(ParameterError, match=f"vote_weight.*{kind!r}"):
        voter_weights(np.zeros((1, 1), np.float32), kind)

"""Probabilities from vote shares: near the truth, never falling, and thresholds that keep their word."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from neartag.core.errors import ParameterError
from neartag.evaluation.thresholds import threshold_cuts
from neartag.tagging.calibration import Calibration, calibrate


def answered(points: int, seed: int = 0, curve=lambda share: share**2):
    """Return labels, scores and truths where a label with some share is right as often as the curve says."""
    chance = np.random.default_rng(seed)
    scores = -np.sort(-chance.uniform(0.01, 1, (points, 5)), axis=1)
    labels = np.tile(np.arange(5), (points, 1))
    Y = csr_matrix((chance.uniform(size=scores.shape) < curve(scores)).astype(np.float32))
    return labels, scores, Y


@pytest.mark.parametrize("kind", ["isotonic", "platt"])
def test_the_curve_is_found_again(kind):
    # Platt's curve is a logistic function of log-odds: a true curve of that form.
    curve = (lambda share: share**2) if kind == "isotonic" else (lambda share: share / (share + 2 * (1 - share)))
    found = calibrate(*answered(6000, curve=curve), kind)
    shares = np.linspace(0.05, 0.95, 19)
    assert np.abs(found(shares) - curve(shares)).max() < 0.06
    assert (np.diff(found(np.linspace(0, 1, 200))) >= 0).all()
    assert found(np.array([0.0]))[0] == 0
    assert found.error < 0.03
    # The noise of the truths themselves is all that is left of the Brier score.
    scores = answered(6000, curve=curve)[1]
    assert found.brier == pytest.approx(float(np.mean(curve(scores) * (1 - curve(scores)))), abs=0.02)


def test_shares_as_they_are_would_be_worse():
    labels, scores, Y = answered(4000)
    found = calibrate(labels, scores, Y)
    assert found.brier < np.mean((scores - Y.toarray()) ** 2) - 0.01


def test_a_wished_precision_holds_on_new_points():
    found = calibrate(*answered(4000, seed=1))
    _, scores, Y = answered(4000, seed=2)
    for wish in (0.5, 0.7, 0.8):
        given = found(scores) >= found.threshold(f"precision={wish}")
        assert Y.toarray()[given].mean() > wish - 0.03
        assert found.for_precision[f"{wish:g}"]["precision"] >= wish


def test_the_best_f1_is_the_best_of_all_thresholds():
    found = calibrate(*answered(3000))
    _, scores, Y = answered(3000)
    truth = Y.toarray() == 1

    def f1(threshold):
        given = found(scores) >= threshold
        return 2 * (given & truth).sum() / (given.sum() + truth.sum())

    best = max(f1(threshold) for threshold in np.linspace(0, 1, 101))
    assert f1(found.threshold("f1")) > best - 0.01


@pytest.mark.parametrize("wish", ["f2", "precision", "precision=high", "precision=2", 1.5, -0.1, True])
def test_a_threshold_that_is_none(wish):
    with pytest.raises(ParameterError, match="threshold must be"):
        calibrate(*answered(500)).threshold(wish)


def test_a_precision_between_those_tried_is_reached_where_one_of_them_was_better():
    made = calibrate(*answered(1500)).to_json()
    cuts = {
        "0.8": {"threshold": 0.3, "precision": 0.86, "recall": 0.7, "f1": 0.77},
        "0.9": {"threshold": 0.5, "precision": 1.0, "recall": 0.4, "f1": 0.57},
    }
    found = Calibration.from_json({**made, "for_precision": cuts, "best_f1": cuts["0.8"]})
    assert found.threshold("precision=0.85") == 0.3
    assert found.threshold("precision=0.9") == 0.5
    assert found.threshold("precision=0.99") == 0.5


def separated(points=400):
    """Return answers of which the right ones score 0.9 and more, and the wrong ones 0.1 and less."""
    chance = np.random.default_rng(0)
    scores = np.hstack([chance.uniform(0.9, 1.0, (points, 2)), chance.uniform(0.01, 0.1, (points, 3))])
    labels = np.tile(np.arange(5), (points, 1))
    return labels, scores, csr_matrix(np.tile(np.float32([1, 1, 0, 0, 0]), (points, 1)))


@pytest.mark.parametrize("kind", ["isotonic", "platt"])
def test_where_nothing_lies_between_right_and_wrong_the_threshold_is_in_the_middle(kind):
    found = calibrate(*separated(), kind)
    highest_wrong, lowest_right = found(np.array([0.1, 0.9]))
    for wish in ("f1", "precision=0.5", "precision=0.8", "precision=0.95"):
        assert found.threshold(wish) == pytest.approx((highest_wrong + lowest_right) / 2, abs=0.05)
    assert found.best_f1["precision"] == found.best_f1["recall"] == 1


def test_where_all_answers_are_given_the_threshold_is_the_lowest_of_them():
    # Below the lowest answer nothing was seen, so nothing is known of how often such a label is right.
    cuts = threshold_cuts(np.array([0.9, 0.6, 0.4]), np.array([True, False, True]), 2)
    assert cuts.threshold.tolist() == pytest.approx([0.75, 0.5, 0.4])
    assert cuts.precision.tolist() == pytest.approx([1, 0.5, 2 / 3])


def test_a_precision_above_the_largest_one_kept():
    found = calibrate(*separated())
    assert found.threshold("precision=0.96") == found.threshold("precision=0.99") == found.threshold("precision=0.95")
    # A model of an earlier version keeps thresholds up to 0.95 only.
    kept = {wish: cut for wish, cut in found.for_precision.items() if float(wish) <= 0.95}
    imprecise = {wish: {**cut, "precision": float(wish)} for wish, cut in kept.items()}
    best = {**found.best_f1, "precision": 0.7}
    old = Calibration.from_json({**found.to_json(), "for_precision": imprecise, "best_f1": best})
    with pytest.raises(ParameterError, match=r"keeps no threshold for a precision of 0\.96.*0\.5, .*0\.95") as raised:
        old.threshold("precision=0.96")
    assert "not reached" not in str(raised.value)


def test_a_precision_out_of_reach_is_said():
    found = calibrate(*answered(3000, curve=lambda share: share / 3))
    with pytest.raises(ParameterError, match=r"0\.95 was not reached"):
        found.threshold("precision=0.95")


@pytest.mark.parametrize("kind", ["isotonic", "platt"])
def test_json_and_back(kind):
    found = calibrate(*answered(1500), kind)
    again = Calibration.from_json(json.loads(json.dumps(found.to_json())))
    assert again == found
    assert len(found.shares) <= 200


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "magic"},
        {"shares": [0.5, 0.1]},
        {"shares": [float("nan"), 1.0]},
        {"probabilities": [0.1]},
        {"shares": []},
        {"best_f1": {}},
        {"best_f1": {"threshold": "0.5", "precision": 1, "recall": 1, "f1": 1}},
        {"best_f1": {"threshold": 0.5}},
        {"shares": [0.0, 1.0], "probabilities": [5.0, -3.0]},
        {"bins": 5},
        {"bins": [{}]},
        {"for_precision": [1]},
        {"for_precision": {"high": None}},
        {"for_precision": {"0.8": {}}},
        {"points": None},
        {"error": "small"},
    ],
)
def test_json_that_is_no_calibration(change):
    document = {**calibrate(*answered(1500), "isotonic").to_json(), **change}
    with pytest.raises((ValueError, LookupError)):
        Calibration.from_json(document)


def test_too_few_answers_or_all_alike_give_none():
    labels, scores, Y = answered(10)
    assert calibrate(labels, scores, Y) is None
    labels, scores, Y = answered(500)
    assert calibrate(labels, scores, csr_matrix(np.ones(Y.shape))) is None
    assert calibrate(np.full_like(labels, -1), scores, Y) is None


def test_answers_of_one_half_only_give_none():
    labels, scores, Y = answered(500)
    scores[1::2] = 0
    assert calibrate(labels, scores, Y) is None


@pytest.mark.parametrize("kind", ["isotonic", "platt"])
def test_shares_that_are_all_the_same_give_the_share_that_is_right(kind):
    # A single neighbour that votes gives each of its labels all of the votes.
    labels, _, _ = answered(400)
    Y = csr_matrix((np.arange(2000) % 3 == 0).astype(np.float32).reshape(400, 5))
    found = calibrate(labels, np.ones((400, 5)), Y, kind)
    assert found(np.array([0.3, 1.0])) == pytest.approx(Y.mean(), abs=1e-6)
    assert Calibration.from_json(json.loads(json.dumps(found.to_json()))) == found
    assert found.error < 0.01


def test_shares_that_mislead_give_what_is_right_on_the_whole():
    # Right less often where the share is larger: the curve must not fall, and must not be off on the whole either.
    labels, scores, Y = answered(150, curve=lambda share: 0.6 - 0.5 * share)
    found = calibrate(labels, scores, Y, "platt")
    assert found(np.array([0.1, 0.9])) == pytest.approx(Y.mean(), abs=1e-6)


def test_a_threshold_of_numpy_is_a_number():
    found = calibrate(*answered(1500))
    assert found.threshold(np.float32(0.5)) == 0.5


def test_few_answers_get_the_simple_curve():
    assert calibrate(*answered(50)).kind == "platt"
    assert calibrate(*answered(400)).kind == "isotonic"
    with pytest.raises(ParameterError, match="calibration must be"):
        calibrate(*answered(50), "spline")

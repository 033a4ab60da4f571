"""Metrics: examples worked by hand, then a plain loop as oracle on random small cases."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, csr_matrix

from neartag import metrics
from neartag.core.errors import ParameterError

# Three points, four labels; the third point has no label.
#   point 0: true {0, 2}   given 2, 1, 0
#   point 1: true {3}      given 0, 3, none
#   point 2: true {}       given 1, 2, 3
TRUTH = csr_matrix(np.array([[1, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]]))
LABELS = np.array([[2, 1, 0], [0, 3, -1], [1, 2, 3]])
KNOWN = np.array([1.0, 0.5, 0.25, 0.5])  # 1/p: 1, 2, 4, 2
COMPLEX = TRUTH.astype(complex)
LOG3 = math.log2(3)


def test_precision_by_hand():
    # k=1: hits 1, 0, 0 → 1/3.  k=2: 1, 1, 0 of 2 → (1/2 + 1/2 + 0)/3 = 1/3.  k=3: 2, 1, 0 of 3 → (2/3 + 1/3)/3 = 1/3.
    for k in (1, 2, 3):
        assert metrics.precision_at(LABELS, TRUTH, k) == pytest.approx(100 / 3)


def test_dense_labels_are_taken_as_fit_takes_them():
    for dense in (TRUTH.toarray(), TRUTH.toarray().astype(bool), TRUTH.toarray().tolist()):
        arguments = {"ks": (1, 3), "Y_train": dense}
        assert metrics.evaluate(LABELS, dense, **arguments) == metrics.evaluate(LABELS, TRUTH, ks=(1, 3), Y_train=TRUTH)
        found = metrics.by_frequency(LABELS, dense, dense, ks=(1,))
        assert found == metrics.by_frequency(LABELS, TRUTH, TRUTH, ks=(1,))
        assert metrics.psp_at(LABELS, dense, KNOWN, 1) == metrics.psp_at(LABELS, TRUTH, KNOWN, 1)
        assert (metrics.propensities(dense) == metrics.propensities(TRUTH)).all()
        found = metrics.paired_bootstrap(LABELS, LABELS, dense, metric="PSP@1", Y_train=dense, samples=5)
        assert found == metrics.paired_bootstrap(LABELS, LABELS, TRUTH, metric="PSP@1", Y_train=TRUTH, samples=5)


def test_recall_by_hand():
    # k=1: 1/2, 0, 0 → 1/6.  k=2: 1/2, 1, 0 → 1/2.  k=3: 1, 1, 0 → 2/3.
    assert metrics.recall_at(LABELS, TRUTH, 1) == pytest.approx(100 / 6)
    assert metrics.recall_at(LABELS, TRUTH, 2) == pytest.approx(50)
    assert metrics.recall_at(LABELS, TRUTH, 3) == pytest.approx(200 / 3)


def test_ndcg_by_hand():
    # Discounts 1, 1/log2(3), 1/2. Point 0, k=3: (1 + 1/2) / (1 + 1/log2(3)); point 1: (1/log2(3)) / 1; point 2: 0.
    expected = (1.5 / (1 + 1 / LOG3) + 1 / LOG3) / 3
    assert metrics.ndcg_at(LABELS, TRUTH, 3) == pytest.approx(100 * expected)
    assert metrics.ndcg_at(LABELS, TRUTH, 1) == pytest.approx(100 / 3)


def test_propensity_scored_precision_by_hand():
    # k=1: point 0 hits label 2, worth 4; the best is 4. Point 1 hits nothing; the best is 2. → 4 / 6.
    assert metrics.psp_at(LABELS, TRUTH, KNOWN, 1) == pytest.approx(100 * 4 / 6)
    # k=2: reached (4 + 2)/2, best (4 + 1 + 2)/2 → 6/7.  k=3: reached (4 + 1 + 2)/3, best the same → 1.
    assert metrics.psp_at(LABELS, TRUTH, KNOWN, 2) == pytest.approx(100 * 6 / 7)
    assert metrics.psp_at(LABELS, TRUTH, KNOWN, 3) == pytest.approx(100)


def test_propensity_scored_ndcg_by_hand():
    # Point 0, k=3: ideal discounts 1 + 1/log2(3); reached 4·1 + 1·(1/2), best 4·1 + 1/log2(3).
    # Point 1: ideal 1; reached 2/log2(3), best 2.
    ideal = 1 + 1 / LOG3
    reached = 4.5 / ideal + 2 / LOG3
    best = (4 + 1 / LOG3) / ideal + 2
    assert metrics.psndcg_at(LABELS, TRUTH, KNOWN, 3) == pytest.approx(100 * reached / best)


def test_propensities_by_hand():
    # Ten points, N = 3, 0. C = (ln 10 - 1)·2.5^0.55 = 1.302585·1.655263 = 2.156121.
    # p_0 = 1/(1 + C·4.5^-0.55) = 1/(1 + C·0.437253) = 0.514729
    # p_1 = 1/(1 + C·1.5^-0.55) = 1/(1 + C·0.800110) = 0.366954
    train = csr_matrix((np.ones(3), ([0, 1, 2], [0, 0, 0])), shape=(10, 2))
    np.testing.assert_allclose(metrics.propensities(train), [0.514729, 0.366954], atol=1e-6)


def test_propensities_of_very_few_points_are_one():
    assert metrics.propensities(csr_matrix(np.eye(2))).tolist() == [1.0, 1.0]


def test_perfect_predictions_reach_all_but_unlabelled_points():
    perfect = np.array([[2, 0, 1], [3, 0, 1], [0, 1, 2]])
    scores = metrics.evaluate(perfect, TRUTH, ks=(1, 3), Y_train=TRUTH)
    assert scores["nDCG@1"] == pytest.approx(200 / 3)
    assert scores["R@3"] == pytest.approx(200 / 3)
    assert scores["PSP@1"] == pytest.approx(100)
    assert scores["PSnDCG@3"] == pytest.approx(100)


def test_k_may_be_a_number_of_numpys():
    assert metrics.precision_at(LABELS, TRUTH, np.int64(2)) == metrics.precision_at(LABELS, TRUTH, 2)
    assert metrics.by_frequency(LABELS, TRUTH, TRUTH, ks=np.array([1, 2])) == metrics.by_frequency(
        LABELS, TRUTH, TRUTH, ks=(1, 2)
    )


def test_evaluate_names_every_metric():
    plain = metrics.evaluate(LABELS, TRUTH, ks=(1, 3))
    assert list(plain) == ["P@1", "P@3", "nDCG@1", "nDCG@3", "R@1", "R@3"]
    full = metrics.evaluate(LABELS, TRUTH, ks=(1, 3), Y_train=TRUTH)
    assert set(full) - set(plain) == {"PSP@1", "PSP@3", "PSnDCG@1", "PSnDCG@3"}
    assert full["P@1"] == metrics.precision_at(LABELS, TRUTH, 1)
    assert full["PSP@3"] == metrics.psp_at(LABELS, TRUTH, metrics.propensities(TRUTH), 3)


def test_truth_without_any_label_scores_zero():
    scores = metrics.evaluate(LABELS, csr_matrix((3, 4)), ks=(1, 3), Y_train=TRUTH)
    assert set(scores.values()) == {0.0}


def test_stored_zeros_duplicates_and_csr_array_count_like_the_indicator():
    # Label 0 stored twice, label 1 stored as zero, columns out of order.
    untidy = csr_array((np.array([1.0, 1.0, 1.0, 0.0, 1.0]), np.array([2, 0, 0, 1, 3]), np.array([0, 4, 5, 5])), (3, 4))
    before = untidy.data.copy(), untidy.indices.copy()
    assert metrics.evaluate(LABELS, untidy, ks=(1, 3), Y_train=untidy) == metrics.evaluate(
        LABELS, TRUTH, ks=(1, 3), Y_train=TRUTH
    )
    np.testing.assert_array_equal(untidy.data, before[0])
    np.testing.assert_array_equal(untidy.indices, before[1])


def oracle(labels, truth, known, k):
    """The same metrics by loops over points and ranks."""
    sums = dict.fromkeys(("P", "nDCG", "R", "PSP", "PSP best", "PSnDCG", "PSnDCG best"), 0.0)
    for row, given_labels in enumerate(labels):
        true = {label for label in range(truth.shape[1]) if truth[row, label]}
        hits = [(rank, label) for rank, label in enumerate(given_labels[:k]) if label in true]
        best = sorted((1 / known[label] for label in true), reverse=True)[:k]
        ideal = sum(1 / math.log2(rank + 2) for rank in range(min(k, len(true))))
        sums["P"] += len(hits) / k
        sums["PSP"] += sum(1 / known[label] for _, label in hits) / k
        sums["PSP best"] += sum(best) / k
        if true:
            sums["R"] += len(hits) / len(true)
            sums["nDCG"] += sum(1 / math.log2(rank + 2) for rank, _ in hits) / ideal
            sums["PSnDCG"] += sum(1 / known[label] / math.log2(rank + 2) for rank, label in hits) / ideal
            sums["PSnDCG best"] += sum(weight / math.log2(rank + 2) for rank, weight in enumerate(best)) / ideal
    points = len(labels)
    return {
        f"P@{k}": 100 * sums["P"] / points,
        f"nDCG@{k}": 100 * sums["nDCG"] / points,
        f"R@{k}": 100 * sums["R"] / points,
        f"PSP@{k}": 100 * sums["PSP"] / sums["PSP best"] if sums["PSP best"] else 0.0,
        f"PSnDCG@{k}": 100 * sums["PSnDCG"] / sums["PSnDCG best"] if sums["PSnDCG best"] else 0.0,
    }


@st.composite
def cases(draw):
    points, labels = draw(st.integers(1, 6)), draw(st.integers(1, 7))
    seed, columns = draw(st.integers(0, 2**32 - 1)), draw(st.integers(1, 8))
    generator = np.random.default_rng(seed)
    density = draw(st.sampled_from([0.0, 0.2, 0.6, 1.0]))
    truth = (generator.random((points, labels)) < density).astype(float)
    train = (generator.random((draw(st.integers(1, 30)), labels)) < 0.3).astype(float)
    given_labels = np.full((points, columns), -1)
    for row in given_labels:
        order = generator.permutation(labels)[: generator.integers(0, min(columns, labels) + 1)]
        row[: order.size] = order
    return given_labels, truth, train, draw(st.integers(1, columns))


@settings(max_examples=150, deadline=None)
@given(cases())
def test_metrics_equal_a_plain_loop(case):
    labels, truth, train, k = case
    known = metrics.propensities(csr_matrix(train))
    scores = metrics.evaluate(labels, csr_matrix(truth), ks=(k,), Y_train=csr_matrix(train))
    expected = oracle(labels.tolist(), truth, known, k)
    assert scores.keys() == expected.keys()
    for name, value in expected.items():
        assert scores[name] == pytest.approx(value, abs=1e-9), name


# Training frequencies 6, 1, 0, 3 of six points.
TRAIN = csr_matrix(np.array([[1, 1, 0, 1], [1, 0, 0, 1], [1, 0, 0, 1], [1, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]]))


def test_bands_by_hand():
    # Edges (0, 3) make the bands 0 (label 2), 1-3 (labels 1, 3), 4+ (label 0).
    bands = metrics.by_frequency(LABELS, TRUTH, TRAIN, ks=(1, 3), edges=(0, 3))
    assert list(bands) == ["0", "1-3", "4+"]
    # Hits: label 2 at rank 1 of point 0, label 0 at its rank 3, label 3 at rank 2 of point 1. n·k is 3 and 9.
    # Each band has one true pair, whose propensity cancels; of its three points only one can score in nDCG.
    whole, third, ninth, rank_2 = (pytest.approx(100 / part) for part in (1, 3, 9, LOG3))
    assert bands["0"] == {
        **{"labels": 1, "pairs": 1, "P@1": third, "R@1": 100, "P@3": ninth, "R@3": 100},
        **{"nDCG@1": third, "PSP@1": whole, "PSnDCG@1": whole, "nDCG@3": third, "PSP@3": whole, "PSnDCG@3": whole},
    }
    assert bands["1-3"] == {
        **{"labels": 2, "pairs": 1, "P@1": 0, "R@1": 0, "P@3": ninth, "R@3": 100},
        **{"nDCG@1": 0, "PSP@1": 0, "PSnDCG@1": 0, "PSP@3": whole, "PSnDCG@3": rank_2},
        "nDCG@3": pytest.approx(100 / LOG3 / 3),
    }
    assert bands["4+"] == {
        **{"labels": 1, "pairs": 1, "P@1": 0, "R@1": 0, "P@3": ninth, "R@3": 100},
        **{"nDCG@1": 0, "PSP@1": 0, "PSnDCG@1": 0, "PSP@3": whole, "PSnDCG@3": pytest.approx(50)},
        "nDCG@3": pytest.approx(100 / 2 / 3),
    }


def test_propensities_in_a_band_by_hand():
    # The band 0-3 has labels 1, 2, 3: true are 2 in point 0 and 3 in point 1, found at ranks 1 and 2.
    # C = (ln 6 - 1)·2.5^0.55 = 0.791759·1.655263 = 1.310570; 1/p is 1 + C·(N + 1.5)^-0.55:
    # of label 2, N = 0, 1 + C·0.800110 = 2.048600; of label 3, N = 3, 1 + C·0.437253 = 1.573050.
    band = metrics.by_frequency(LABELS, TRUTH, TRAIN, ks=(1, 3), edges=(3,))["0-3"]
    assert band["PSP@1"] == pytest.approx(100 * 2.048600 / (2.048600 + 1.573050), abs=1e-3)
    assert band["PSP@3"] == pytest.approx(100)
    assert band["nDCG@3"] == pytest.approx(100 * (1 + 1 / LOG3) / 3)
    assert band["PSnDCG@3"] == pytest.approx(100 * (2.048600 + 1.573050 / LOG3) / (2.048600 + 1.573050), abs=1e-3)
    even = metrics.by_frequency(LABELS, TRUTH, TRAIN, ks=(1,), edges=(3,), a=0.0)["0-3"]
    assert even["PSP@1"] == pytest.approx(50)  # with a = 0 every label weighs the same


def test_default_band_names():
    wide = np.column_stack([LABELS, np.full((3, 2), -1)])
    assert list(metrics.by_frequency(wide, TRUTH, TRUTH)) == ["0-5", "6-20", "21-100", "101+"]


@settings(max_examples=80, deadline=None)
@given(cases(), st.sets(st.integers(0, 12), min_size=1, max_size=4))
def test_bands_add_up(case, edges):
    labels, truth, train, k = case
    bands = metrics.by_frequency(labels, csr_matrix(truth), csr_matrix(train), ks=(k,), edges=sorted(edges))
    total = sum(band[f"P@{k}"] for band in bands.values())
    assert total == pytest.approx(metrics.precision_at(labels, csr_matrix(truth), k))
    assert sum(band["labels"] for band in bands.values()) == truth.shape[1]
    pairs = sum(band["pairs"] for band in bands.values())
    assert pairs == truth.sum()
    found = sum(band["pairs"] * band[f"R@{k}"] for band in bands.values())
    hits = metrics.precision_at(labels, csr_matrix(truth), k) * len(labels) * k
    assert found == pytest.approx(hits)


@settings(max_examples=80, deadline=None)
@given(cases(), st.sets(st.integers(0, 12), min_size=1, max_size=4))
def test_bands_equal_a_plain_loop_over_the_truth_within_them(case, edges):
    labels, truth, train, k = case
    bands = metrics.by_frequency(labels, csr_matrix(truth), csr_matrix(train), ks=(k,), edges=sorted(edges))
    known = metrics.propensities(csr_matrix(train))
    frequency = train.sum(axis=0)
    lows, highs = [0, *(edge + 1 for edge in sorted(edges))], [*sorted(edges), math.inf]
    for band, low, high in zip(bands.values(), lows, highs, strict=True):
        inside = truth * ((low <= frequency) & (frequency <= high))
        expected = oracle(labels.tolist(), inside, known, k)
        for name in (f"P@{k}", f"nDCG@{k}", f"PSP@{k}", f"PSnDCG@{k}"):
            assert band[name] == pytest.approx(expected[name], abs=1e-9), name


def two_models(points: int, share_a: float, share_b: float, seed: int):
    """Every point has label 0; a model names it with its own probability, label 1 otherwise."""
    generator = np.random.default_rng(seed)
    truth = csr_matrix(np.column_stack([np.ones(points), np.zeros(points)]))
    first = (generator.random((points, 1)) >= share_a).astype(int)
    second = (generator.random((points, 1)) >= share_b).astype(int)
    return first, second, truth


@pytest.mark.parametrize("metric", ["P@1", "nDCG@1", "R@1", "PSP@1", "PSnDCG@1"])
def test_bootstrap_interval_covers_a_known_difference(metric):
    first, second, truth = two_models(4000, 0.7, 0.6, seed=1)
    interval = metrics.paired_bootstrap(first, second, truth, metric=metric, Y_train=truth, samples=400)
    # The difference of two independent shares: standard error sqrt(.7·.3/4000 + .6·.4/4000) = 1.06 points.
    assert interval.low < 10.0 < interval.high
    assert 0 < interval.low < interval.difference < interval.high
    assert interval.high - interval.low == pytest.approx(2 * 1.96 * 1.06, rel=0.15)
    by_metric = metrics.evaluate(first, truth, ks=(1,), Y_train=truth)[metric]
    assert interval.difference == pytest.approx(
        by_metric - metrics.evaluate(second, truth, ks=(1,), Y_train=truth)[metric]
    )


def test_bootstrap_covers_as_often_as_it_says():
    # 80% intervals of 60 independent data sets: binomial(60, 0.8) is below 38 once in ten thousand.
    covered = 0
    for seed in range(60):
        first, second, truth = two_models(300, 0.7, 0.6, seed)
        interval = metrics.paired_bootstrap(first, second, truth, samples=200, level=0.8, seed=seed)
        covered += interval.low <= 10.0 <= interval.high
    assert 38 <= covered <= 58


@pytest.mark.parametrize("metric", ["P@3", "nDCG@3", "R@3", "PSP@3", "PSnDCG@3"])
def test_bootstrap_of_equal_predictions_is_exactly_zero(metric):
    interval = metrics.paired_bootstrap(LABELS, LABELS.copy(), TRUTH, metric=metric, Y_train=TRUTH, samples=50)
    assert interval == (0.0, 0.0, 0.0)


def test_bootstrap_is_the_same_for_the_same_seed():
    first, second, truth = two_models(200, 0.7, 0.6, seed=3)
    one, same, other = (metrics.paired_bootstrap(first, second, truth, samples=100, seed=seed) for seed in (5, 5, 6))
    assert one == same
    assert one != other
    assert one.difference == other.difference


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: metrics.precision_at(LABELS, TRUTH, 4), "k is 4"),
        (lambda: metrics.precision_at(LABELS, TRUTH, 0), "k must be at least 1: 0"),
        (lambda: metrics.precision_at(LABELS, TRUTH, 1.5), "k must be a whole number: 1.5"),
        (lambda: metrics.ndcg_at(LABELS, TRUTH, 1.0), "k must be a whole number: 1.0"),
        (lambda: metrics.recall_at(LABELS, TRUTH, "1"), "k must be a whole number: '1'"),
        (lambda: metrics.psp_at(LABELS, TRUTH, KNOWN, None), "k must be a whole number: None"),
        (lambda: metrics.psndcg_at(LABELS, TRUTH, KNOWN, True), "k must be a whole number: True"),
        (lambda: metrics.evaluate(LABELS, TRUTH, ks=(1, 1.5)), "k must be a whole number: 1.5"),
        (lambda: metrics.evaluate(LABELS, TRUTH, ks=(1.5,), Y_train=TRUTH), "k must be a whole number: 1.5"),
        (lambda: metrics.by_frequency(LABELS, TRUTH, TRUTH, ks=(1.5,)), "k must be a whole number: 1.5"),
        (lambda: metrics.precision_at(LABELS, COMPLEX, 1), "Y must hold zeros and ones, not complex128"),
        (lambda: metrics.evaluate(LABELS, COMPLEX, ks=(1,)), "Y must hold zeros and ones, not complex128"),
        (lambda: metrics.evaluate(LABELS, TRUTH, ks=(1,), Y_train=COMPLEX), "Y_train must hold .* complex128"),
        (lambda: metrics.by_frequency(LABELS, COMPLEX, TRUTH, ks=(1,)), "Y must hold .* complex128"),
        (lambda: metrics.by_frequency(LABELS, TRUTH, COMPLEX, ks=(1,)), "Y_train must hold .* complex128"),
        (lambda: metrics.paired_bootstrap(LABELS, LABELS, COMPLEX), "Y must hold .* complex128"),
        (lambda: metrics.propensities(COMPLEX), "Y_train must hold .* complex128"),
        (lambda: metrics.precision_at([[10**400]] * 3, TRUTH, 1), "integer label ids"),
        (lambda: metrics.evaluate(LABELS, TRUTH), "k is 5"),
        (lambda: metrics.by_frequency(LABELS, TRUTH, TRUTH, ks=(4,)), "k is 4"),
        (lambda: metrics.precision_at(LABELS[:2], TRUTH, 1), r"3 rows.*\(2, 3\)"),
        (lambda: metrics.precision_at(LABELS[0], TRUTH, 1), r"\(3,\)"),
        (lambda: metrics.precision_at(LABELS.astype(float), TRUTH, 1), "integer"),
        (lambda: metrics.precision_at(LABELS + 1, TRUTH, 1), "the id 4; ids run from 0 to 3"),
        (lambda: metrics.precision_at(LABELS - 1, TRUTH, 1), "the id -2"),
        (lambda: metrics.precision_at(np.array([[0, 0]]), TRUTH[:1], 1), "point 0 name a label twice"),
        (lambda: metrics.precision_at(LABELS[:0], TRUTH[:0], 1), "no points"),
        (lambda: metrics.precision_at(LABELS, [0, 3, 1], 1), "Y must be an indicator matrix .* not a vector"),
        (lambda: metrics.propensities([["a"], ["b"]]), "Y_train must be a matrix of zeros and ones"),
        (lambda: metrics.precision_at(LABELS, [[0.0, np.nan]] * 3, 1), "Y contains NaN"),
        (lambda: metrics.psp_at(LABELS, TRUTH, KNOWN[:3], 1), r"propensities .* are for \(3,\) labels: Y has 4"),
        (lambda: metrics.psp_at(LABELS, TRUTH, KNOWN - 0.5, 1), "above 0"),
        (lambda: metrics.psp_at(LABELS, TRUTH, np.full(4, np.nan), 1), "above 0"),
        (lambda: metrics.psp_at(LABELS, TRUTH, KNOWN[None], 1), r"for \(1, 4\) labels"),
        (
            lambda: metrics.evaluate(LABELS, TRUTH, ks=(1,), Y_train=TRUTH[:, :2]),
            r"Y_train\) are for \(2,\) labels: Y has 4",
        ),
        (lambda: metrics.propensities(TRUTH[:0]), "no points"),
        (lambda: metrics.propensities(TRUTH, b=0.0), "b is 0.0"),
        (lambda: metrics.by_frequency(LABELS, TRUTH, TRUTH[:, :2], ks=(1,)), "Y_train has 2 labels"),
        (lambda: metrics.by_frequency(LABELS, TRUTH, TRUTH, ks=(1,), edges=(5, 5)), "edges"),
        (lambda: metrics.paired_bootstrap(LABELS, LABELS, TRUTH, metric="F1"), "metric must be .*'F1'"),
        (lambda: metrics.paired_bootstrap(LABELS, LABELS, TRUTH, metric="PSP@1"), "needs Y_train"),
        (lambda: metrics.paired_bootstrap(LABELS, LABELS, TRUTH, metric="P@0"), "k must be at least 1"),
        (lambda: metrics.paired_bootstrap(LABELS, LABELS, TRUTH, samples=0), "samples"),
        (lambda: metrics.paired_bootstrap(LABELS, LABELS, TRUTH, level=1.0), "level"),
    ],
)
def test_what_cannot_be_measured_is_named(call, words):
    with pytest.raises(ParameterError, match=words):
        call()


def test_no_dense_array_of_points_by_labels():
    # A dense (200000, 1000000) array would need 200 GB a byte an entry.
    points, labels = 200_000, 1_000_000
    generator = np.random.default_rng(0)
    columns = generator.integers(labels, size=points)
    truth = csr_matrix((np.ones(points), (np.arange(points), columns)), shape=(points, labels))
    given_labels = np.column_stack([columns, np.full(points, -1)])
    scores = metrics.evaluate(given_labels, truth, ks=(1, 2), Y_train=truth)
    assert scores["P@1"] == 100
    assert scores["P@2"] == 50
    assert scores["PSP@1"] == pytest.approx(100)


def test_no_scikit_learn():
    program = "import sys, neartag.metrics; assert not any(name.split('.')[0] == 'sklearn' for name in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)

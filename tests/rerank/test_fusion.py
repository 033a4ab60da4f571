"""The fusion: a logistic regression in hat functions, held against one that is written out in dense arrays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from kernel_helpers import UNTOUCHED, frozen, outside, quick, ranges, seeds
from neartag.core.threads import single_threaded_blas
from neartag.rerank import fusion_kernels
from neartag.rerank.candidates import Candidates
from neartag.rerank.fusion import L2_PENALTY, Fusion, count_terms, fixed_subsample


@pytest.fixture(autouse=True)
def held():
    """Hold BLAS to one thread, as fit does."""
    with single_threaded_blas():
        yield


def basis(parts, fine, coarse):
    """Return the share that each candidate has in each height (m, terms): hats of a part, and products of two hats."""
    count = parts.shape[1]

    def hats(values, knots):
        return np.stack([np.interp(values, knots, one) for one in np.eye(len(knots))], axis=1)  # (m, knots)

    single = [hats(parts[:, j], fine[j]) for j in range(count)]
    last = hats(parts[:, -1], coarse[-1])
    double = [
        (hats(parts[:, j], coarse[j])[:, :, None] * last[:, None]).reshape(len(parts), -1) for j in range(count - 1)
    ]
    return np.hstack(single + double)


def made(seed, m=300, count=5, knots=(8, 4)):
    """Return parts, whether each candidate is right, rising knots of two kinds, and heights."""
    random = np.random.default_rng(seed)
    parts = random.standard_normal((m, count)).astype(np.float32)
    right = random.random(m) < 1 / (1 + np.exp(-parts.sum(axis=1)))
    fine, coarse = (np.sort(random.standard_normal((count, number)), axis=1) for number in knots)
    return parts, right, fine, coarse, random.standard_normal(count_terms(fine, coarse) + 1)


def loss_of(design, right, weights):
    """Return the summed logistic loss, the penalty included."""
    odds = design @ weights[:-1] + weights[-1]
    return np.logaddexp(0, np.where(right, -odds, odds)).sum() + L2_PENALTY / 2 * (weights[:-1] ** 2).sum()


def gradient_of(design, right, weights):
    odds = design @ weights[:-1] + weights[-1]
    return design.T @ (1 / (1 + np.exp(-odds)) - right) + L2_PENALTY * weights[:-1]


# ---- log-odds


@quick
@given(rows=ranges(), seed=seeds, count=st.integers(2, 5), knots=st.tuples(st.integers(2, 9), st.integers(2, 5)))
def test_log_odds_are_a_product_with_the_basis(rows, seed, count, knots):
    m, start, stop = rows
    parts, _, fine, coarse, weights = made(seed, m, count, knots)
    design = basis(parts, fine, coarse)
    assert design.shape[1] == len(weights) - 1
    out = np.full(m, UNTOUCHED)
    fusion_kernels.log_odds(*frozen(parts), frozen(*Fusion(fine, coarse, weights).tables), out, start, stop)
    np.testing.assert_allclose(out[start:stop], (design @ weights[:-1] + weights[-1])[start:stop], atol=1e-6)
    assert (outside(out, start, stop) == UNTOUCHED).all()


def test_knots_that_fall_together_are_one():
    parts, _, fine, coarse, weights = made(3)
    fine, coarse = np.sort(fine, axis=1), coarse.copy()
    coarse[:, [0, -1]] = fine[:, [0, -1]]  # the same smallest and largest value, as of the same candidates
    coarse = np.sort(coarse, axis=1)
    found = Fusion(fine, coarse, weights)
    assert np.isinf(found.tables[0]).sum(axis=1).min() >= 2
    np.testing.assert_allclose(
        found.log_odds(parts), basis(parts, fine, coarse) @ weights[:-1] + weights[-1], atol=1e-6
    )


def test_beyond_the_last_knot_nothing_changes():
    *_, fine, coarse, weights = made(1)
    fusion = Fusion(fine, coarse, weights)
    for side in (-1, 1):
        far = fusion.log_odds(np.full((2, 5), side * np.array([[1e3], [1e9]]), np.float32))
        assert far[0] == far[1]
    at_knots = np.array([fine[:, 3]], np.float32)
    np.testing.assert_allclose(
        fusion.log_odds(at_knots), basis(at_knots, fine, coarse) @ weights[:-1] + weights[-1], atol=1e-5
    )


@pytest.mark.parametrize("threads", [1, 2])
def test_many_rows_and_none(threads):
    parts, _, fine, coarse, weights = made(2, 5000)
    fusion = Fusion(fine, coarse, weights)
    wanted = basis(parts, fine, coarse) @ weights[:-1] + weights[-1]
    np.testing.assert_allclose(fusion.log_odds(parts, threads), wanted, atol=1e-5)
    assert fusion.log_odds(parts[:0], threads).shape == (0,)


# ---- gradient and Hessian


def sums_of(parts, right, fine, coarse, weights, start=0, stop=None):
    count = len(weights)
    gradient, hessian = np.zeros(count), np.zeros((count, count))
    stop = len(parts) if stop is None else stop
    known = frozen(*terms_of(parts, fine, coarse)), *frozen(right, weights)
    fusion_kernels.normal_equations(*known, gradient, hessian, start, stop)
    return gradient, hessian


def terms_of(parts, fine, coarse, start=0, stop=None):
    m, most = len(parts), 6 * parts.shape[1] - 4
    terms = np.full((m, most), -7, np.int32), np.full((m, most), UNTOUCHED, np.float64), np.full(m, -7)
    frozen_knots = frozen(fine, coarse)
    fusion_kernels.write_terms(*frozen(parts), frozen_knots, *terms, start, m if stop is None else stop)
    return terms


@quick
@given(rows=ranges(), seed=seeds, count=st.integers(2, 5), knots=st.tuples(st.integers(2, 9), st.integers(2, 5)))
def test_terms_are_the_rows_of_the_basis(rows, seed, count, knots):
    m, start, stop = rows
    parts, _, fine, coarse, _ = made(seed, m, count, knots)
    design = basis(parts, fine, coarse)
    places, shares, counts = terms_of(parts, fine, coarse, start, stop)
    for i in range(start, stop):
        own = slice(counts[i])
        assert (np.diff(places[i, own]) > 0).all()
        written = np.zeros(design.shape[1])
        written[places[i, own]] = shares[i, own]
        np.testing.assert_allclose(written, design[i], atol=1e-6)
    assert (outside(counts, start, stop) == -7).all()
    assert (outside(places, start, stop) == -7).all()


@quick
@given(rows=ranges(), seed=seeds, count=st.integers(2, 5))
def test_gradient_and_hessian_are_those_of_the_dense_loss(rows, seed, count):
    m, start, stop = rows
    parts, right, fine, coarse, weights = made(seed, m, count)
    gradient, hessian = sums_of(parts, right, fine, coarse, weights, start, stop)
    design, right = basis(parts, fine, coarse)[start:stop], right[start:stop]
    chance = 1 / (1 + np.exp(-(design @ weights[:-1] + weights[-1])))
    np.testing.assert_allclose(gradient[:-1], design.T @ (chance - right), atol=1e-6)
    whole = design.T @ (design * (chance * (1 - chance))[:, None])
    np.testing.assert_allclose(hessian[:-1, :-1], np.tril(whole), atol=1e-6)
    without_penalty = loss_of(design, right, weights) - L2_PENALTY / 2 * (weights[:-1] ** 2).sum()
    np.testing.assert_allclose(gradient[-1], without_penalty, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("count", [0, 1, 3, 5000])
def test_a_part_of_the_candidates_is_no_pattern(count):
    part = fixed_subsample(count, 4)
    assert (np.diff(part) > 0).all()
    assert (part < count).all()
    if count == 5000:
        assert 0.2 < len(part) / count < 0.3
        assert np.bincount(part % 4, minlength=4).min() > 0.2 * len(part)


def test_the_gradient_alone():
    parts, right, fine, coarse, weights = made(4)
    gradient, none = np.zeros(len(weights)), np.zeros((0, len(weights)))
    known = frozen(*terms_of(parts, fine, coarse)), *frozen(right, weights)
    fusion_kernels.normal_equations(*known, gradient, none, 0, len(parts))
    np.testing.assert_array_equal(gradient, sums_of(parts, right, fine, coarse, weights)[0])


def test_gradient_and_hessian_are_differences_of_the_kernels_own_loss():
    parts, right, fine, coarse, weights = made(3, 200, 3, (4, 3))
    gradient, hessian = sums_of(parts, right, fine, coarse, weights)
    step = 1e-5
    for term in range(len(weights) - 1):
        ahead, behind = weights.copy(), weights.copy()
        ahead[term] += step
        behind[term] -= step
        more, less = (sums_of(parts, right, fine, coarse, each)[0] for each in (ahead, behind))
        np.testing.assert_allclose((more[-1] - less[-1]) / (2 * step), gradient[term], rtol=1e-5, atol=1e-5)
        slope = (more[:-1] - less[:-1]) / (2 * step)
        np.testing.assert_allclose(slope[: term + 1], hessian[term, : term + 1], rtol=1e-4, atol=1e-5)


def test_the_loss_of_what_is_all_but_certain_is_finite():
    parts, right, fine, coarse, weights = made(4)
    gradient, hessian = sums_of(parts, right, fine, coarse, 1e6 * weights)
    assert np.isfinite(gradient).all()
    assert np.isfinite(hessian).all()


# ---- the fit

EXACT = {"min_loss_fall": 0.0, "max_steps": 100}


@pytest.mark.parametrize("seed", range(3))
def test_newton_reaches_the_optimum(seed):
    parts, right, *_ = made(seed, 2000)
    found = Fusion.fit(parts, right, **EXACT)
    design = basis(parts, found.fine, found.coarse)
    assert np.abs(gradient_of(design, right, found.weights)).max() < 1e-5
    assert found.loss == pytest.approx(loss_of(design, right, found.weights) / 2000)
    # A solver that knows nothing of ours ends at the same loss.
    other = minimize(
        lambda heights: loss_of(design, right, np.append(heights, found.weights[-1])),
        np.zeros(design.shape[1]),
        jac=lambda heights: gradient_of(design, right, np.append(heights, found.weights[-1])),
        method="L-BFGS-B",
        options={"maxiter": 5000, "gtol": 1e-6, "ftol": 1e-15},
    )
    assert other.fun / 2000 == pytest.approx(found.loss, rel=1e-6)


def test_where_it_ends_by_default_is_near_the_optimum():
    parts, right, *_ = made(4, 3000)
    assert Fusion.fit(parts, right).loss <= 1.001 * Fusion.fit(parts, right, **EXACT).loss


def test_from_another_fusion_it_goes_on_to_the_same_optimum():
    parts, right, *_ = made(5, 1000)
    first = Fusion.fit(parts, right, **EXACT)
    before = first.weights.copy()
    again = Fusion.fit(parts, right, start=first, **EXACT)
    np.testing.assert_allclose(again.weights, first.weights, atol=1e-5)
    half = Fusion.fit(parts[:500], right[:500], start=first, **EXACT)
    design = basis(parts[:500], first.fine, first.coarse)
    assert np.abs(gradient_of(design, right[:500], half.weights)).max() < 1e-5
    assert np.array_equal(first.weights, before), "what it starts from is left as it was"


def test_the_same_bytes_whatever_the_threads():
    parts, right, *_ = made(6, 20_000)
    one, two, again = (Fusion.fit(parts, right, threads) for threads in (1, 2, 1))
    assert one.weights.tobytes() == two.weights.tobytes() == again.weights.tobytes()
    assert one.fine.tobytes() == two.fine.tobytes()


ODD = {
    "none": (0, 0.5),
    "one": (1, 0.5),
    "all right": (40, 2),
    "all wrong": (40, -1),
    "one right of many": (2000, None),
}


@pytest.mark.parametrize("case", ODD)
@pytest.mark.parametrize("constant", [False, True])
def test_odd_sets(case, constant):
    count, chance = ODD[case]
    random = np.random.default_rng(7)
    parts = np.full((count, 5), 2.5, np.float32) if constant else random.standard_normal((count, 5)).astype(np.float32)
    right = np.arange(count) == 3 if chance is None else random.random(count) < chance
    found = Fusion.fit(parts, right)
    for knots in (found.fine, found.coarse):
        assert np.isfinite(knots).all()
        assert (np.diff(knots, axis=1) > 0).all()
    assert np.isfinite(found.weights).all()
    asked = np.vstack([parts, random.standard_normal((20, 5))]).astype(np.float32)
    odds = found.log_odds(asked)
    assert np.isfinite(odds).all()
    if case == "all right":
        assert (odds[:40] > 4).all()
    if case in ("all wrong", "one right of many"):
        assert np.median(odds) < -4


def test_knots_are_quantiles_of_right_and_wrong_alike():
    # Few are right, and all that matters lies where they are.
    random = np.random.default_rng(8)
    right = np.arange(5000) < 100
    parts = np.where(right[:, None], random.normal(5, 1, (5000, 2)), random.normal(-5, 1, (5000, 2))).astype(np.float32)
    found = Fusion.fit(parts, right)
    for knots in (found.fine, found.coarse):
        assert ((knots > 0).sum(axis=1) == knots.shape[1] // 2).all()
    odds = found.log_odds(np.array([[5, 5], [-5, -5]], np.float32))
    assert odds[0] > 3
    assert odds[1] < -3


def test_rounding_decides_nothing():
    # Voters that all have a label give it 1, within the rounding of their sum; here the higher of these are right.
    random = np.random.default_rng(11)
    parts = random.standard_normal((2000, 2)).astype(np.float32)
    one = np.arange(2000) < 800
    right = random.random(2000) < 0.3
    parts[one, 0] = np.where(right[one], 1 + 1e-7, 1 - 1e-7)
    found = Fusion.fit(parts, right)
    odds = found.log_odds(np.array([[1 - 1e-7, 0], [1 + 1e-7, 0]], np.float32))
    assert abs(odds[1] - odds[0]) < 1e-3
    for knots in (found.fine, found.coarse):
        assert (np.diff(knots, axis=1) > 1e-4).all()


def world(m, seed):
    """Return parts, what is right, and the true chance: what a margin is worth depends on the frequency."""
    random = np.random.default_rng(seed)
    parts = random.standard_normal((m, 5)).astype(np.float32)
    frequency = parts[:, 4]
    odds = (
        -1 + (1.5 + frequency) * parts[:, 0] + np.maximum(parts[:, 1], 0) - 0.5 * np.abs(parts[:, 2]) + 0.3 * frequency
    )
    chance = 1 / (1 + np.exp(-odds))
    return parts, random.random(m) < chance, chance


def test_what_it_gives_are_probabilities():
    parts, right, _ = world(20_000, 9)
    fusion = Fusion.fit(parts, right)
    others, truth, chance = world(20_000, 10)
    told = 1 / (1 + np.exp(-fusion.log_odds(others)))
    order = np.argsort(told)
    for tenth in np.array_split(order, 10):
        spread = np.sqrt((told[tenth] * (1 - told[tenth])).sum()) / len(tenth)
        assert abs(told[tenth].mean() - truth[tenth].mean()) < 4 * spread + 0.01
    # Point by point too, the interaction included: nearly as good as who knows the truth.
    entropy = -(np.log(np.where(truth, chance, 1 - chance))).mean()
    assert -(np.log(np.where(truth, told, 1 - told))).mean() < 1.02 * entropy
    assert np.abs(told - chance).mean() < 0.03


def test_a_few_thousand_suffice():
    parts, right, _ = world(3000, 11)
    told = 1 / (1 + np.exp(-Fusion.fit(parts, right).log_odds(world(20_000, 12)[0])))
    _, truth, chance = world(20_000, 12)
    entropy = -(np.log(np.where(truth, chance, 1 - chance))).mean()
    assert -(np.log(np.where(truth, told, 1 - told))).mean() < 1.05 * entropy


@pytest.mark.parametrize(("earlier", "sources"), [(False, 3), (True, 3), (False, 5)])
@pytest.mark.parametrize("later", [False, True])
def test_probabilities_of_candidates_are_those_of_their_written_parts(later, earlier, sources):
    random = np.random.default_rng(5)
    labels = random.integers(-1, 6, (30, 8)).astype(np.int32)
    told = random.random((30, 8, sources)).astype(np.float32) * (random.random((30, 8, sources)) < 0.7)
    told[:, :, 2::2] -= 0.1  # a mean may speak against a label
    margins, frequency = random.standard_normal((30, 8)).astype(np.float32), random.integers(1, 50, 6)
    found = Candidates(labels, told.astype(np.float32))
    ranked, without = np.ones(5 if later else 6, bool), np.zeros(6, bool)
    described = found.fusion_features(margins, np.append(ranked, False)[:6], frequency)
    if later:
        without[4] = True
        described[labels[labels >= 0] == 4, 3] = -0.5
        described[labels[labels >= 0] == 5, 4] = -0.25  # it came when the rankers were there
        if sources == 5:
            described[labels[labels >= 0] == 4, 6] = -0.75
    if earlier:  # a fusion of a version that did not ask how far a margin is behind
        described = np.delete(described, 4, axis=1)
    fusion = Fusion.fit(described, random.random(len(described)) < 0.3)
    out = np.empty((30, 8))
    evidence = *frozen(found.labels, found.evidence, margins, frequency, ranked, without), (-0.5, -0.25, -0.75)
    fusion_kernels.probabilities(*evidence, frozen(*fusion.tables), frozen(np.empty(0, bool))[0], out, 0, 30)
    assert (out[labels < 0] == -1).all()
    np.testing.assert_allclose(out[labels >= 0], 1 / (1 + np.exp(-fusion.log_odds(described))), atol=1e-5)
    asked, some = np.array([True, False, True, False, True, True]), np.empty((30, 8))
    fusion_kernels.probabilities(*evidence, frozen(*fusion.tables), *frozen(asked), some, 0, 30)
    np.testing.assert_array_equal(some, np.where((labels >= 0) & asked[labels], out, -1))

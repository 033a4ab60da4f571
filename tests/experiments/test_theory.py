"""The bounds of the paper's section 2, the losses they speak of, and the experiment that sets them side by side."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from neartag.data import synthetic
from neartag.experiments.plan import Cell, Plan
from neartag.experiments.report.blocks import Figure, Number, Table, Text
from neartag.experiments.results import Record, Results
from neartag.experiments.runner import Work
from neartag.experiments.theory import bounds
from neartag.experiments.theory import experiment as theory
from neartag.experiments.theory.bounds import Conditions
from neartag.experiments.theory.draws import Draws, slope
from neartag.experiments.theory.pairs import (
    joint_minimiser,
    largest_inner,
    norms,
    pairs_between,
    pairs_within,
    threshold_for,
)
from neartag.linalg.rows import normalise


def labels(n, L, seed, share=0.3):
    return csr_matrix((np.random.default_rng(seed).random((n, L)) < share).astype(np.float32))


def plain_loss(Y, X, A, Y_other, X_other, tau, same):
    """The mean loss of pairs, a pair at a time."""
    total = count = 0
    for i in range(len(Y)):
        for j in range(len(Y_other)):
            if same and i == j:
                continue
            count += 1
            product = float(Y[i] @ Y_other[j])
            total += (product >= tau) * (product - float(X[i] @ A @ X_other[j])) ** 2
    return total / count


# ---- losses


def test_the_loss_is_the_mean_over_pairs_of_different_points():
    random = np.random.default_rng(0)
    Y, Y_other = labels(12, 8, 1), labels(7, 8, 2)
    X, X_other, V = random.standard_normal((12, 5)), random.standard_normal((7, 5)), random.standard_normal((3, 5))
    A = V.T @ V
    within = pairs_within(Y, 2).loss(X @ V.T, X @ V.T)
    between = pairs_between(Y, Y_other, 2).loss(X @ V.T, X_other @ V.T)
    assert within == pytest.approx(plain_loss(Y.toarray(), X, A, Y.toarray(), X, 2, True))
    assert between == pytest.approx(plain_loss(Y.toarray(), X, A, Y_other.toarray(), X_other, 2, False))


def test_many_pairs_are_summed_in_blocks():
    Y, V = labels(30, 8, 3), np.random.default_rng(1).standard_normal((30, 4))
    whole = pairs_within(Y, 1).loss(V, V)
    assert pairs_within(Y, 1).loss(V, V, block=7) == pytest.approx(whole)


def test_points_without_labels_are_in_no_pair_that_counts():
    Y = csr_matrix(np.array([[1, 1, 0], [0, 0, 0], [1, 1, 1]], np.float32))
    pairs = pairs_within(Y, 1)
    assert pairs.products.toarray().tolist() == [[0, 0, 2], [0, 0, 0], [2, 0, 0]]
    assert pairs.count == 6


@pytest.mark.parametrize("rows", [1, 5, 256])
def test_the_largest_product_is_that_of_all_different_pairs(rows):
    for seed in range(10):
        Y = labels(20, 30, seed, share=0.2 + 0.05 * seed)
        products = (Y @ Y.T).toarray()
        np.fill_diagonal(products, 0)
        assert largest_inner(Y, block_rows=rows) == products.max()


def test_the_threshold_is_the_least_that_leaves_few_pairs():
    Y = labels(60, 12, 4, share=0.4)
    products = (Y @ Y.T).toarray()[~np.eye(60, dtype=bool)]
    for share in (0.9, 0.5, 0.1, 0.01, 0.0):
        tau = threshold_for(Y, share)
        assert (products >= tau).mean() <= share
        assert tau == 1 or (products >= tau - 1).mean() > share


def test_norm_and_trace_are_those_of_a():
    V = np.random.default_rng(2).standard_normal((3, 6)).astype(np.float32)
    A = (V.T @ V).astype(np.float64)
    assert norms(V.T) == pytest.approx((np.linalg.norm(A), np.trace(A)), rel=1e-5)


# ---- eq. 3


def test_the_minimiser_in_one_dimension_is_the_closed_form():
    # With a single feature A is a number a ≥ 0: a mean of squares plus λa, whose minimum is known.
    random = np.random.default_rng(3)
    x, Y, l2 = random.random((25, 1)).astype(np.float32), labels(25, 6, 5), 0.01
    pairs = pairs_within(Y, 1)
    counts = pairs.products.toarray()
    products = (x @ x.T) * (counts > 0)
    wanted = ((counts * products).sum() / pairs.count - l2 / 2) / ((products**2).sum() / pairs.count)
    found = joint_minimiser(x, pairs, l2, np.full((1, 1), 0.1, np.float32))
    assert float(found[0, 0]) ** 2 == pytest.approx(wanted, rel=1e-3)


def test_the_minimiser_beats_all_matrices_near_it_and_its_start():
    random = np.random.default_rng(4)
    X = csr_matrix((random.random((40, 15)) * (random.random((40, 15)) < 0.4)).astype(np.float32))
    pairs, l2 = pairs_within(labels(40, 6, 6), 1), 1e-3

    def objective(weights):
        embedded = X @ weights
        return pairs.loss(embedded, embedded) + l2 * float((weights.astype(np.float64) ** 2).sum())

    start = random.standard_normal((15, 8)).astype(np.float32)
    found = joint_minimiser(X, pairs, l2, start, max_iter=500)
    least = objective(found)
    assert least < 0.5 * objective(start)
    for _ in range(20):
        assert objective(found + 0.02 * random.standard_normal(found.shape).astype(np.float32)) > least
    # From elsewhere to the same value: with enough dimensions every local minimum is one of all.
    other = joint_minimiser(X, pairs, l2, random.standard_normal((15, 8)).astype(np.float32), max_iter=500)
    assert objective(other) == pytest.approx(least, rel=1e-2)


# ---- lemmata


def test_the_capacity_needs_the_square_that_the_paper_loses():
    # All pairs have ⟨y, y'⟩ = 5 and x = 1: the loss is (5 − a)² + λa, and Tr(Â) = 5 − λ/2.
    Y, x = csr_matrix(np.ones((6, 5), np.float32)), np.ones((6, 1), np.float32)
    for l2 in (4.0, 6.0, 8.0):
        weights = joint_minimiser(x, pairs_within(Y, 1), l2, np.ones((1, 1), np.float32))
        _, trace = norms(weights)
        assert trace == pytest.approx(5 - l2 / 2, rel=1e-2)
        assert trace <= bounds.capacity(Conditions(5), l2)
    assert norms(joint_minimiser(x, pairs_within(Y, 1), 4.0, np.ones((1, 1), np.float32)))[1] > 5 / 4.0, "L̄/λ is less"


def test_one_point_moves_the_mean_loss_by_what_mcdiarmid_is_told():
    # The worst case: a point that had every label and the opposite features of all others loses its labels.
    n, largest, norm = 10, 4, 3.0
    X, Y = np.ones((n, 1)), np.ones((n, largest), np.float32)
    X[0] = -1
    V = np.full((1, 1), math.sqrt(norm))
    before = pairs_within(csr_matrix(Y), 1).loss(X @ V.T, X @ V.T)
    Y[0] = 0
    change = before - pairs_within(csr_matrix(Y), 1).loss(X @ V.T, X @ V.T)
    # With this doubt log(1/δ) = 2n, and the inequality's root is 1.
    allowed = bounds.deviation_bound(Conditions(largest, doubt=math.exp(-2 * n)), norm, n) / n
    assert change == pytest.approx(2 * (largest + norm) ** 2 / n)
    assert 0.9 * allowed < change <= allowed


def test_the_slope_of_a_square_is_twice_its_reach():
    reach = 3.0
    w = np.linspace(-reach, reach, 2001)
    assert np.abs(np.diff(w**2) / np.diff(w)).max() == pytest.approx(2 * reach, rel=1e-3)
    # The paper's rR² would be half: its Rademacher term is too small wherever rR² > 0.
    mended, printed = 2 * (reach + 1), reach + 2
    assert mended > printed


def test_the_rademacher_average_is_bounded_as_the_lemma_uses_it():
    random = np.random.default_rng(6)
    m, norm = 40, 2.5
    X, X_other = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in random.standard_normal((2, m, 4)))
    # sup over ‖A‖ ≤ norm of a linear form is norm times the length of what it is applied to
    averages = [norm * np.linalg.norm((X * random.choice([-1, 1], m)[:, None]).T @ X_other) / m for _ in range(2000)]
    sure = Conditions(1e-12, doubt=1 - 1e-15)  # labels and doubt that add nothing: the average alone is left
    alone = (bounds.uniform_bound(sure, norm, 2 * m) - bounds.deviation_bound(sure, norm, 2 * m)) / (4 * norm)
    assert np.mean(averages) <= alone
    assert np.mean(averages) > 0.8 * alone


def test_the_gap_of_all_matrices_at_once_stays_below_the_lemma():
    # The supremum over ‖A‖ ≤ r of L − L̂ for one feature, where it is known: a in [0, r].
    conditions, norm, n = Conditions(2, doubt=0.05), 1.5, 60
    grid = np.linspace(0, norm, 30)
    random = np.random.default_rng(7)

    def losses(count):
        x, Y = random.uniform(-1, 1, count), (random.random((count, 2)) < 0.6).astype(float)
        products, own = Y @ Y.T, np.outer(x, x)
        off = (products >= 1) & ~np.eye(count, dtype=bool)
        return np.array([((products - a * own) ** 2)[off].sum() / (count * (count - 1)) for a in grid])

    truth = losses(800)
    gaps = [float((truth - losses(n)).max()) for _ in range(100)]
    assert np.quantile(gaps, 0.95) <= bounds.uniform_bound(conditions, norm, n)
    assert max(gaps) > 0


# ---- theorems


def test_theorem_one_by_hand():
    # B = 2, R = 1, r = 3, ‖A*‖ = 1, n = 8, δ = 2e⁻⁴: √(2/n) = ½ and √(log(2/δ)/2n) = √(4/16) = ½.
    conditions = Conditions(2, doubt=2 * math.exp(-4))
    rademacher, straying, point = 4 * (3 + 2) * 3 * 0.5, 4 * (4 + 9) * 0.5, 4 * (4 + 1) * 0.5
    assert bounds.excess_risk(conditions, 3, 1, 8) == pytest.approx(rademacher + straying + point)


def test_the_second_theorem_by_hand():
    conditions = Conditions(2, doubt=4 * math.exp(-4))
    rademacher, straying, point = 4 * (3 + 2) * 3 * 0.5, 4 * (4 + 9) * 0.5, 4 * (4 + 1) * 0.5
    assert bounds.excess_risk_to_train(conditions, 3, 1, 8) == pytest.approx(2 * (rademacher + straying + point))


def test_the_radius_counts_with_its_square_and_fourth_power():
    wide, unit = Conditions(2, radius=2.0), Conditions(2)
    assert bounds.uniform_bound(wide, 3, 50) == pytest.approx(bounds.uniform_bound(unit, 12, 50))


def test_bounds_fall_with_the_root_of_n():
    conditions = Conditions(5)
    for bound in (bounds.excess_risk, bounds.excess_risk_to_train, bounds.excess_risk_for_any):
        assert bound(conditions, 7, 3, 400) == pytest.approx(bound(conditions, 7, 3, 100) / 2)
    needed = bounds.points_needed(bounds.excess_risk(conditions, 7, 3, 1), 0.25)
    assert bounds.excess_risk(conditions, 7, 3, needed) == pytest.approx(0.25)


def test_a_norm_known_afterwards_costs_a_factor_and_some_doubt():
    conditions = Conditions(4)
    # Up to B/R² the first radius serves, with half of δ.
    assert bounds.uniform_bound_for_any(conditions, 1.0, 100) == bounds.uniform_bound(
        conditions.split_doubt(2), 4.0, 100
    )
    assert bounds.uniform_bound_for_any(conditions, 0.0, 100) == bounds.uniform_bound(
        conditions.split_doubt(2), 4.0, 100
    )
    assert bounds.uniform_bound_for_any(conditions, 9.0, 100) == bounds.uniform_bound(
        conditions.split_doubt(12), 16.0, 100
    )
    assert sum(1 / ((k + 1) * (k + 2)) for k in range(100_000)) == pytest.approx(1, abs=1e-4)
    for norm in (0.5, 4.0, 5.0, 100.0):
        assert bounds.uniform_bound_for_any(conditions, norm, 100) > bounds.uniform_bound(conditions, norm, 100)


def test_the_universal_constant_gives_the_printed_form():
    conditions = Conditions(3, doubt=0.01)
    constant = bounds.universal_constant(conditions, 5, 2)
    printed = constant * (9 + 25 + 4) * math.sqrt(math.log(100) / 200)
    assert printed == pytest.approx(bounds.excess_risk(conditions, 5, 2, 200))


def test_the_penalty_that_the_bound_would_choose():
    conditions = Conditions(3)
    chosen = bounds.best_penalty(conditions, 10.0, 4.0, 1000)

    def total(l2):
        return l2 * 10.0 + bounds.excess_risk(conditions, bounds.capacity(conditions, l2), 4.0, 1000)

    assert total(chosen) <= min(total(chosen * factor) for factor in (0.5, 0.9, 1.1, 2.0))


def test_every_slip_is_told():
    told = " ".join(bounds.SLIPS)
    for word in ("factor 8", "largest", "2rR²-Lipschitz", "wrong way round", "n(n − 1)", "joint minimiser"):
        assert word in told


# ---- the experiment


def test_the_slope_is_that_of_a_power():
    sizes = [10, 20, 40, 80]
    random = np.random.default_rng(8)
    values = 3 * np.array(sizes) ** -0.5 * (1 + 0.01 * random.standard_normal((10, 4)))
    found, error = slope(sizes, values)
    assert found == pytest.approx(-0.5, abs=0.02)
    assert 0 < error < 0.02
    assert slope(sizes, values - 10) is None


@pytest.fixture(scope="module")
def toy_records():
    data = synthetic.make(300, 120, 30, 12, 3, seed=1)
    points = theory.Sample(data.X, data.Y)
    population = theory.Population.of(data.Y, 0.2)
    records = {}
    for method in theory.METHODS:
        for seed in range(3):
            cell = Cell("theory", "debian", method, seed)
            settings = {**theory.EXPERIMENT.settings(cell), "sizes": [20, 40, 80], "held_out": 100}
            measured = theory.measure(points, population, settings, seed, Work(1))
            records[cell] = Record(cell, measured)
    return data, records


def test_the_measured_losses_are_those_of_the_matrix(toy_records):
    data, records = toy_records
    measured = records[Cell("theory", "debian", "x1-joint", 1)].measured
    assert [row["n"] for row in measured["sizes"]] == [20, 40, 80]
    assert measured["reference_points"] == 160
    order = np.random.default_rng([1, 1]).permutation(300)
    X, Y = normalise(data.X).toarray(), data.Y.toarray()
    held, nothing = order[:75], np.zeros((120, 120))
    zero = plain_loss(Y[held], X[held], nothing, Y[held], X[held], measured["threshold"], True)
    assert measured["held_out_points"] == 75
    assert measured["empty_loss"] == pytest.approx(zero)
    for row in measured["sizes"]:
        assert row["train"] < row["to_train"] < row["held_out"] * 1.2, "the nearer the training points, the smaller"
        assert row["trace"] >= row["norm"]


def test_a_population_is_known_before_points_are_drawn():
    Y = labels(40, 8, 9)
    found = theory.Population.of(Y, 0.2)
    products = (Y @ Y.T).toarray().astype(np.float64)[~np.eye(40, dtype=bool)]
    assert found.threshold == threshold_for(Y, 0.2)
    assert found.largest == products.max()
    assert found.empty_loss == pytest.approx((products**2 * (products >= found.threshold)).mean())


def test_chance_is_taken_out_of_the_gap_and_its_mean_is_kept():
    # The gap is 2/n and what chance adds is known: regression finds it, whatever its size.
    random = np.random.default_rng(9)
    cells = {}
    for seed in range(40):
        chance = random.standard_normal(3)
        sizes = [
            {"n": n, "train": 1.0 - 0.7 * extra, "held_out": 1.0 + 2 / n, "empty_train": 3.0 - extra}
            for n, extra in zip((10, 20, 40), chance, strict=True)
        ]
        cell = Cell("theory", "debian", "x1", seed)
        cells[cell] = Record(cell, {"sizes": sizes, "penalty": 0.0, "largest": 2.0, "empty_loss": 3.0})
    draws = Draws(Results(cells, Plan()), "x1")
    assert draws.gap.std(axis=0).min() > 0.4
    np.testing.assert_allclose(draws.steady_gap, np.tile([0.2, 0.1, 0.05], (40, 1)), atol=1e-9)
    assert slope(draws.sizes, draws.steady_gap)[0] == pytest.approx(-1)


def test_eq_3_is_fitted_better_by_its_own_minimiser(toy_records):
    _, records = toy_records
    for seed in range(3):
        x1, joint = (records[Cell("theory", "debian", method, seed)].measured for method in theory.METHODS)
        for one, other in zip(x1["sizes"], joint["sizes"], strict=True):
            penalty = joint["penalty"]
            assert other["train"] + penalty * other["trace"] < one["train"] + penalty * one["trace"]


def test_every_measured_gap_and_excess_is_within_its_bound(toy_records):
    _, records = toy_records
    for record in records.values():
        measured = record.measured
        conditions = Conditions(measured["largest"])
        for row in measured["sizes"]:
            assert row["held_out"] - row["train"] <= bounds.uniform_bound_for_any(conditions, row["norm"], row["n"])


def test_the_report_has_tables_slopes_figures_and_slips(toy_records):
    _, records = toy_records
    blocks = theory.EXPERIMENT.report(Results(records, Plan()))
    tables = [block for block in blocks if isinstance(block, Table)]
    assert len(tables) == 5
    for table in tables:
        assert all(len(row) == len(table.columns) for row in table.rows)
    slopes = next(table for table in tables if "how fast" in table.title)
    assert all(isinstance(entry, Number) and entry.printed in (-0.5, None) for entry in slopes.rows[0][1:])
    figures = [block for block in blocks if isinstance(block, Figure)]
    assert len(figures) == 1
    assert figures[0].x_log
    assert isinstance(blocks[-1], Text)
    assert list(blocks[-1].paragraphs) == list(bounds.SLIPS)


def test_cells_are_ten_draws_of_each_matrix():
    plan = Plan(quick=True)
    cells = theory.EXPERIMENT.cells(plan)
    assert len(cells) == 20
    assert {cell.data for cell in cells} == {"debian"}
    assert len(theory.EXPERIMENT.settings(cells[0])["sizes"]) >= 6
    assert [cell.method for cell in theory.EXPERIMENT.cells(Plan(methods=("leml",)))] == []
    assert len(theory.SIZES) >= 6


def test_nothing_measured_gives_no_section():
    assert theory.EXPERIMENT.report(Results({}, Plan())) == []

"""What tasks cost, learned from tasks that were measured."""

from __future__ import annotations

import pytest

from neartag.work.rates import Measured, Rates


def measured(*amounts):
    """Tasks that take 0.5 s each and 0.01 s for each point, 8 bytes written for a point, and 100 bytes at the peak."""
    return [
        Measured("sort", {"task": 1.0, "points": points}, 0.5 + 0.01 * points, 100.0, 8 * points) for points in amounts
    ]


def test_costs_that_are_sums_of_amounts_are_found_again():
    rates = Rates.fit(measured(10, 200, 3000))
    amounts = {"task": 1.0, "points": 10_000}
    assert rates.cost("sort", amounts) == pytest.approx(100.5)
    assert rates.cost("sort", amounts, "written") == pytest.approx(80_000)
    assert rates.cost("sort", amounts, "peak") == pytest.approx(100)


def test_no_rate_is_negative_and_what_costs_nothing_costs_nothing():
    falling = [Measured("odd", {"task": 1.0, "points": points}, 1 / points) for points in (1, 2, 4)]
    rates = Rates.fit([*falling, Measured("free", {"task": 1.0}, 0.0)])
    assert rates.cost("odd", {"task": 1.0, "points": 1000}) > 0
    assert rates.cost("free", {"task": 1.0}) == 0


def test_the_sum_of_all_costs_is_met_where_tasks_of_an_amount_differ():
    rates = Rates.fit([Measured("noisy", {"points": 1.0}, seconds) for seconds in (0.5, 1.0, 1.5)])
    assert 3 * rates.cost("noisy", {"points": 1.0}) == pytest.approx(3.0)


def test_what_nobody_looked_at_counts_for_nothing():
    known = Measured("some", {"task": 1.0}, 1.0, peak=100.0)
    rates = Rates.fit([known, Measured("some", {"task": 1.0}, 2.0), Measured("none", {"task": 1.0}, 1.0)])
    assert rates.cost("some", {"task": 1.0}, "peak") == pytest.approx(100)
    assert rates.cost("none", {"task": 1.0}, "peak") == 0


def test_a_kind_that_was_never_measured_is_refused():
    with pytest.raises(KeyError, match="sing"):
        Rates.fit(measured(1)).cost("sing", {})


def test_it_is_told_how_far_a_task_is_beyond_what_was_measured():
    rates = Rates.fit(measured(10, 200, 3000))
    assert rates.extrapolates("sort", {"task": 1.0, "points": 2000}) == 1
    assert rates.extrapolates("sort", {"task": 1.0, "points": 9000}) == pytest.approx(3)


def test_rates_go_through_json():
    rates = Rates.fit(measured(10, 200, 3000))
    assert Rates.from_json(rates.to_json()) == rates

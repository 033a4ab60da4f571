"""The large shapes: fractions that have them, and limits that end a training."""

from __future__ import annotations

import pytest

from experiment_helpers import of, record
from neartag.core.errors import NeartagError
from neartag.experiments import printed
from neartag.experiments.plan import Cell, Plan
from neartag.experiments.results import Record
from neartag.experiments.runner import Work
from neartag.experiments.scale import experiment, limited_process
from neartag.experiments.scale.limited_process import ALARM, Forecast, make_fraction, run_apart
from neartag.experiments.scale.limits import LIMITS, Limits, too_slow_to_try


def test_a_fraction_has_the_shape_of_its_model():
    parts = make_fraction("synthetic-wiki10", 20)
    sizes = printed.TABLE_2["Wiki10"]
    assert parts.X.shape == (sizes.train // 20, sizes.features // 20)
    assert parts.Y_test.shape == (sizes.test // 20, sizes.labels // 20)
    assert parts.Y.nnz / parts.Y.shape[0] == pytest.approx(sizes.labels_per_point, rel=0.1)


def test_there_is_a_cell_for_each_shape_and_method():
    plan = Plan(data=("debian", "synthetic-wiki10", "synthetic-amazon"), methods=("leml", "x1"))
    cells = experiment.EXPERIMENT.cells(plan)
    assert {(cell.data, cell.method) for cell in cells} == {
        (data, method) for data in plan.data[1:] for method in ("x1", "x1-refined", "leml")
    }
    assert {experiment.EXPERIMENT.probe(cell) for cell in cells} == {"x1-paper", "x1-refined", "leml"}


def cell(method, fraction, data="synthetic-amazon"):
    return Cell("scale", data, method, options=(("fraction", fraction),))


def test_small_fractions_come_first_and_may_be_all_that_is_wanted():
    data = ("synthetic-wiki10", "synthetic-amazon")
    cells = experiment.EXPERIMENT.cells(Plan(data=data, methods=("leml",), seeds=2))
    assert [(each.option("fraction"), each.data) for each in cells] == [(of, name) for of in (100, 30) for name in data]
    assert len(experiment.EXPERIMENT.cells(Plan(data=data, methods=("leml",)))) == 2 * len(LIMITS.fractions)


def test_a_fraction_is_tried_unless_the_one_before_it_tells_that_it_would_end_at_a_limit(monkeypatch):
    monkeypatch.setattr(experiment, "LIMITS", Limits(10, 5, (100, 30, 10, 1)))
    took = {100: 60.0, 30: 300.0}
    kept = {cell("leml", of): Record(cell("leml", of), {"fraction": of, "train_seconds": s}) for of, s in took.items()}
    foresee = experiment.EXPERIMENT.foresee
    assert foresee(cell("leml", 100), kept) is None
    assert foresee(cell("leml", 30), kept) is None
    slow = foresee(cell("leml", 10), kept)
    assert slow == {"ended": "1/10: not tried, 1/30 took 5.0 min, so that at least 15 min are to be expected"}
    assert foresee(cell("leml", 1), {cell("leml", 10): Record(cell("leml", 10), slow)}) == slow
    assert foresee(cell("leml", 1), {}) is None
    assert foresee(cell("fastxml", 10), kept) is None


@pytest.mark.parametrize("reason", ["", "over 5 GB"])
def test_a_cell_is_what_the_fraction_gave_or_which_limit_ended_it(monkeypatch, reason):
    given = {} if reason else {"fraction": 10, "train_seconds": 60.0}
    monkeypatch.setattr(experiment, "run_apart", lambda task, limits: (given, reason))
    found = experiment.EXPERIMENT.run(cell("leml", 10), Work(1))
    assert found == (given or {"ended": "1/10: over 5 GB"})


def test_what_would_take_too_long_is_not_tried():
    limits, before = Limits(30, 20, (30, 10, 1)), {"fraction": 10, "train_seconds": 300.0}
    assert "at least 50 min" in too_slow_to_try([before], 1, limits)
    assert too_slow_to_try([before], 3, limits) == ""


def test_what_grew_too_fast_is_not_tried():
    limits, last = Limits(30, 20, (30, 10, 1)), {"fraction": 10, "train_seconds": 150.0}
    grew = {"fraction": 30, "train_seconds": 50.0 / 3}  # nine times the time for three times the points
    assert "250 min are to be expected" in too_slow_to_try([last, grew], 1, limits)
    assert too_slow_to_try([last, grew], 3, limits) == ""
    assert too_slow_to_try([last, {**grew, "train_seconds": 50.0}], 1, limits) == ""


def test_a_method_is_measured_in_a_process_of_its_own_and_ended_at_its_limit():
    task = {"cell": cell("knn", 400, "synthetic-wiki10").as_json(), "settings": {}, "jobs": 1}
    measured, reason = run_apart(task, Limits(5, 8, (400,)))
    assert reason == ""
    assert measured["points"] == printed.TABLE_2["Wiki10"].train // 400
    assert measured["peak_mb"] > 0
    assert run_apart(task, Limits(5, 1e-3, (400,))) == ({}, "over 0.001 GB")
    if ALARM:
        assert run_apart(task, Limits(1e-6, 8, (400,))) == ({}, "over 1e-06 min")
    wrong = {**task, "cell": {**task["cell"], "method": "x9"}}
    with pytest.raises(NeartagError, match="x9"):
        run_apart(wrong, Limits(5, 8, (400,)))


def test_a_method_that_would_need_too_much_memory_has_met_a_limit(monkeypatch):
    words = "lpsr would need about 45.2 GB of memory to learn 9 labels, and 22.2 GB are there: use fewer"
    monkeypatch.setattr(limited_process, "_PROGRAM", f"raise ValueError({words!r})")
    assert run_apart({}, Limits(0.1, 8, (400,))) == ({}, "would need about 45.2 GB of memory")


def test_a_process_that_complains_at_length_ends(monkeypatch):
    monkeypatch.setattr(limited_process, "_PROGRAM", "raise ValueError('much to say\\n' * 50_000 + 'that is all')")
    with pytest.raises(NeartagError, match="that is all"):
        run_apart({}, Limits(0.1, 8, (400,)))


def test_equal_parts_tell_early_that_all_would_take_too_long():
    now, said = [0.0], []
    work = Forecast(2, 30 * 60, said.append, lambda: now[0])
    work.start(None, "training").start(50, "growing trees")
    for tree in range(1, 8):
        now[0] = 44.0 * tree  # of 50 trees 36.7 minutes, which is not clearly more than 30
        work.advance()
    assert said == []
    now[0] = 8 * 60.0
    work.advance()
    assert said == ["8 of 50 parts took 8.0 min, at which rate 50 min are to be expected"]


def test_a_few_parts_are_needed_to_tell():
    now, said = [0.0], []
    work = Forecast(2, 60, said.append, lambda: now[0])
    work.start(50, "growing trees")
    for tree in range(4):
        now[0] = 100.0 * tree
        work.advance()
    assert said == []


def test_a_process_that_ends_early_says_why(monkeypatch):
    program = "from neartag.experiments.scale.limited_process import _end_here; _end_here('8 of 50 parts took long')"
    monkeypatch.setattr(limited_process, "_PROGRAM", program)
    assert run_apart({}, Limits(1, 8, (400,))) == ({}, "8 of 50 parts took long")


def test_a_training_that_takes_longer_than_allowed_is_ended():
    task = {"cell": cell("fastxml", 400, "synthetic-wiki10").as_json(), "settings": {}, "jobs": 1}
    _, reason = run_apart(task, Limits(1e-5, 8, (400,)))
    assert "parts took 0.0 min, at which rate 0 min" in reason or reason == "over 1e-05 min"


def test_the_table_says_why_there_is_no_more():
    found = {"points": 1, "features": 2, "labels": 3, "P@1": 1.0, "P@3": 1.0, "P@5": 1.0}
    found |= {"train_seconds": 60.0, "peak_mb": 2000.0, "predict_ms_a_point": 0.1}

    def made(method, fraction, ended="", **failed):
        measured = {"ended": ended} if ended else {**found, "fraction": fraction}
        return record(
            "scale", "synthetic-amazon", method, 0, {} if failed else measured, options={"fraction": fraction}, **failed
        )

    records = [
        *(made("x1", 30), made("x1", 10), made("x1", 3, "1/3: over 20 GB"), made("x1", 1, "1/3: over 20 GB")),
        *(made("x1-refined", 3), made("x1-refined", 1)),
        made("leml", 100, failed="a bug"),
        made("fastxml", 100),
    ]
    _, table = experiment.EXPERIMENT.report(of(*records))
    rows = {row[1]: row for row in table.rows}
    assert {name: (row[2], row[-1]) for name, row in rows.items()} == {
        "X1 (paper)": ("1/10", "1/3: over 20 GB"),
        "refined": ("whole", ""),
        "LEML": ("–", "a bug"),
        "FastXML": ("1/100", "1/30: not measured yet"),
        "LPSR-NB": ("–", "not measured"),
    }

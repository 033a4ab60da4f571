"""The large shapes: fractions that have them, and limits that end a training."""

from __future__ import annotations

import pytest

from experiment_helpers import of, record
from neartag.experiments import printed, scale
from neartag.experiments.plan import Cell, Plan
from neartag.experiments.process_memory import resident_bytes
from neartag.experiments.runner import Work
from neartag.experiments.scale import Limits, run_apart, too_slow_to_try


def test_a_fraction_has_the_shape_of_its_model():
    parts = scale.make_fraction("synthetic-wiki10", 20)
    sizes = printed.TABLE_2["Wiki10"]
    assert parts.X.shape == (sizes.train // 20, sizes.features // 20)
    assert parts.Y_test.shape == (sizes.test // 20, sizes.labels // 20)
    assert parts.Y.nnz / parts.Y.shape[0] == pytest.approx(sizes.labels_per_point, rel=0.1)


def test_there_is_a_cell_for_each_shape_and_method():
    plan = Plan(data=("debian", "synthetic-wiki10", "synthetic-amazon"), methods=("leml", "x1"))
    cells = scale.EXPERIMENT.cells(plan)
    assert {(cell.data, cell.method) for cell in cells} == {
        (data, method) for data in plan.data[1:] for method in ("x1", "x1-refined", "leml")
    }
    assert {scale.EXPERIMENT.probe(cell) for cell in cells} == {"x1-paper", "x1-refined", "leml"}


def test_the_largest_fraction_within_the_limits_is_kept(monkeypatch):
    monkeypatch.setattr(scale, "LIMITS", Limits(10, 5, (100, 30, 10, 1)))

    def run(task, limits):
        fraction = task["fraction"]
        if fraction == 10:
            return {}, "over 5 GB"
        return {"fraction": fraction, "train_seconds": 60.0}, ""

    monkeypatch.setattr(scale, "run_apart", run)
    found = scale.EXPERIMENT.run(Cell("scale", "synthetic-amazon", "leml"), Work(1))
    assert (found["fraction"], found["ended"]) == (30, "1/10: over 5 GB")


def test_what_would_take_too_long_is_not_tried():
    limits, before = Limits(30, 20, (10, 1)), {"fraction": 10, "train_seconds": 300.0}
    assert "at least 50 min" in too_slow_to_try(before, 1, limits)
    assert too_slow_to_try(before, 3, limits) == ""


def test_a_method_is_measured_in_a_process_of_its_own_and_ended_at_its_limit():
    task = {"cell": Cell("scale", "synthetic-wiki10", "knn").as_json(), "fraction": 400, "jobs": 1}
    measured, reason = run_apart(task, Limits(5, 8, (400,)))
    assert reason == ""
    assert measured["points"] == printed.TABLE_2["Wiki10"].train // 400
    assert measured["peak_mb"] > 0
    assert run_apart(task, Limits(5, 1e-3, (400,))) == ({}, "over 0.001 GB")
    wrong = {**task, "cell": {**task["cell"], "method": "x9"}}
    assert "x9" in run_apart(wrong, Limits(5, 8, (400,)))[1]


def test_memory_of_a_process_that_is_not_there_is_nothing():
    assert resident_bytes(2**22 + 1) == 0


def test_the_table_says_why_there_is_no_more():
    found = {"fraction": 10, "points": 1, "features": 2, "labels": 3, "P@1": 1.0, "P@3": 1.0, "P@5": 1.0}
    found |= {"train_seconds": 60.0, "peak_mb": 2000.0, "predict_ms_a_point": 0.1, "ended": "1/3: over 20 GB"}
    made = [
        record("scale", "synthetic-amazon", "x1", 0, found),
        record("scale", "synthetic-amazon", "leml", 0, {}, failed="not even the smallest"),
    ]
    _, table = scale.EXPERIMENT.report(of(*made))
    rows = {row[1]: row for row in table.rows}
    assert rows["X1 (paper)"][2] == "1/10"
    assert rows["X1 (paper)"][-1] == "1/3: over 20 GB"
    assert rows["LEML"][-1] == "not even the smallest"
    assert rows["FastXML"][-1] == "not measured"

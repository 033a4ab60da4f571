"""The forecast for clusters: measured, fitted, compared and written, on a tiny shape."""

from __future__ import annotations

import json

import pytest


@pytest.fixture
def simulate(module, monkeypatch, tmp_path):
    script = module("simulate")
    monkeypatch.setattr(script.pages, "RESULTS", tmp_path / "results")
    page = tmp_path / "scaling.md"
    places = ("scaling check", "scaling forecast")
    page.write_text("".join(f"<!-- {place} begin -->\nold\n<!-- {place} end -->\n" for place in places))
    monkeypatch.setattr(script, "PAGE", page)
    tiny = script.Shape(500, 300, 60, 10.0, 2.0)
    monkeypatch.setattr(script, "SHAPES", {"wikilshtc": tiny})
    monkeypatch.setattr(script, "WORKERS", {"wikilshtc": (1, 4)})
    return script


def twice_as_slow_beside_each_other(tasks):
    """Return the tasks of a run, each twice as long and all the time beside a copy of itself in another process."""
    slow = [{**task, "seconds": 2 * task["seconds"], "begun": 1000.0 * place} for place, task in enumerate(tasks)]
    return [*slow, *({**task, "process": "another"} for task in slow)]


def test_a_real_run_gives_rates_that_explain_it_and_a_forecast(simulate, tmp_path, capsys):
    run = str(tmp_path / "run.json")
    simulate.main(["measure", run, "--fraction", "1", "--clusters", "2"])
    measured = json.loads((tmp_path / "run.json").read_text())
    assert measured["seconds"] > 0
    assert measured["task overhead"] > 0
    assert sum(task["seconds"] for task in measured["tasks"]) <= measured["seconds"]
    simulate.main(["fit", run])
    simulate.main(["check", run, "--write"])
    (row,) = json.loads((tmp_path / "results" / "scaling.json").read_text())["checked"]
    assert row["tasks"] == [len(measured["tasks"])] * 2
    spent = sum(task["seconds"] for task in measured["tasks"]) + measured["around"]["seconds"]
    sent = len(measured["tasks"]) * measured["task overhead"]
    assert row["predicted seconds"] == pytest.approx(spent + sent, rel=0.02), "on one worker the sum of all tasks"
    beside = {**measured, "workers": 2, "tasks": twice_as_slow_beside_each_other(measured["tasks"])}
    rates = simulate.Rates.from_json(json.loads((tmp_path / "results" / "scaling.json").read_text())["rates"])
    assert simulate.contention(rates, [beside], "seconds") == pytest.approx(1.0, rel=0.05)
    assert simulate.contention(rates, [measured], "seconds") == 0, "one process has one task at a time"
    simulate.main(["table", "--write"])
    page = (tmp_path / "scaling.md").read_text()
    assert "\nold\n" not in page
    assert page.count("| wikilshtc | ") == 2
    capsys.readouterr()
    simulate.main(["predict", "--clusters", "2", "--workers", "2", "--failing"])
    assert "| cluster | " in capsys.readouterr().out

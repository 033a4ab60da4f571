"""What is told of the machine that a measurement is from."""

from __future__ import annotations

from dataclasses import replace

from experiment_helpers import of, record
from neartag.experiments import timings
from neartag.experiments.machine import describe, name_processor

INFO = (
    "processor\t: 0\ncpu family\t: 26\nmodel\t\t: 2\nmodel name\t: A processor\nflags\t\t: a: b\n\n"
    "processor\t: 1\nmodel\t\t: 7\n"
)


def test_processors_of_one_name_are_told_apart():
    assert name_processor(INFO) == "A processor (family 26, model 2)"
    assert name_processor(INFO.replace(": 26", ": 25")) != name_processor(INFO)
    assert name_processor("model name\t: Another\n") == "Another"
    assert name_processor("Processor: ARM\n\nmodel name: none of the first\n") == ""
    assert "cores" in describe()


def test_times_of_different_machines_are_said_to_be():
    times = {"predict_ms_alone": 2.0, "predict_ms_a_point": 1.0, "train_seconds": 3.0}
    one, other = (record("timings", "debian", "x1", seed, times) for seed in (0, 1))
    (table,) = timings.EXPERIMENT.report(of(one, other))
    assert "different machines" not in table.note
    (table,) = timings.EXPERIMENT.report(of(one, replace(other, machine="another")))
    assert "different machines" in table.note

"""Results made up for the tests of experiments and of their report."""

from __future__ import annotations

from neartag.experiments.plan import Cell, Plan
from neartag.experiments.results import Record, Results


def record(experiment, data, method, seed, measured, **more):
    options = tuple(more.pop("options", {}).items())
    return Record(
        Cell(experiment, data, method, seed, options), measured, machine="a machine", date="2020-01-02", **more
    )


def of(*records, plan=None):
    return Results({each.cell: each for each in records}, plan or Plan())

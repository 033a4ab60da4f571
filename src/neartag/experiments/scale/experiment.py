"""The paper's large sets cannot be had here: how far each method goes on synthetic sets of their shapes.

A method is trained on growing fractions of a shape, each in a process of its own, as long as it stays within the
limits of time and memory. The table has the largest fraction that it finishes, and why the next one is not there. The
labels of such a set are made up: precision shows that a method learns something at that size, not which is better.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from neartag.experiments import datasets, methods
from neartag.experiments.plan import Cell, Plan
from neartag.experiments.report.blocks import Block, Entry, Number, Table, Text
from neartag.experiments.results import Record, Results, warn_of_machines
from neartag.experiments.runner import Experiment, Work
from neartag.experiments.scale.limited_process import run_apart
from neartag.experiments.scale.limits import LIMITS, QUICK_LIMITS, Limits, find_reach, name_fraction, too_slow_to_try

METHODS = (methods.STRICT, methods.REFINED, "leml", "fastxml", "lpsr-nb")


class Scale(Experiment):
    """A cell is a method on a fraction of the shape of one of the paper's large sets."""

    name = "scale"
    title = "Table 1 (a), at scale: synthetic sets of the large shapes"

    def cells(self, plan: Plan) -> list[Cell]:
        """Return one cell per fraction, shape of a missing set and method; small fractions first."""
        wanted = [method for method in METHODS if plan.wants(method)]
        limits = QUICK_LIMITS if plan.quick else LIMITS
        return [
            plan.cell(self.name, data, method, fraction=fraction)
            for fraction in limits.fractions[: plan.seeds]  # each is a run
            for data in datasets.synthetic_sets(plan.data)
            for method in wanted
        ]

    def settings(self, cell: Cell) -> dict[str, Any]:
        """Return the settings of large sets, which have no presets, and the limits."""
        limits = _limits(cell)
        own = methods.settings_for(cell.method, cell.data, large=True, quick=cell.quick)
        return {"method": own, "limits": {"minutes": limits.minutes, "gigabytes": limits.gigabytes}}

    def probe(self, cell: Cell) -> str:
        """Return the method's, by its own settings."""
        from neartag.experiments.behaviour import find_probe

        return find_probe(methods.find_variant(cell.method).method, self.settings(cell)["method"])

    def foresee(self, cell: Cell, kept: Mapping[Cell, Record]) -> dict[str, Any] | None:
        """Return why a fraction is not tried, told by the one before it; None to try it."""
        limits, own = _limits(cell), cell.option("fraction")
        smaller = sorted(fraction for fraction in limits.fractions if fraction > own)  # the next smaller one first
        keys = [replace(cell, options=tuple({**cell.settings, "fraction": each}.items())) for each in smaller]
        before = [record.measured for key in keys if (record := kept.get(key)) is not None and not record.failed]
        if not before or kept.get(keys[0]) is None or kept[keys[0]].failed:
            return None
        if "train_seconds" not in before[0]:
            return {"ended": before[0]["ended"]}
        slow = too_slow_to_try(before, own, limits)
        return {"ended": slow} if slow else None

    def run(self, cell: Cell, work: Work) -> dict[str, Any]:
        """Return what the fraction gave, or which limit ended it."""
        fraction = cell.option("fraction")
        task = {"cell": cell.as_json(), "settings": self.settings(cell)["method"], "jobs": work.jobs}
        measured, reason = run_apart(task, _limits(cell))
        return {"ended": f"{name_fraction(fraction)}: {reason}"} if reason else measured

    def report(self, results: Results) -> list[Block]:
        """Return what stands for each of the paper's large sets, and how far each method went."""
        own = results.select(self.name)
        if not own.records:
            return []
        rows: list[list[Entry]] = []
        limits = QUICK_LIMITS if results.plan.quick else LIMITS
        for data in datasets.in_table_order(cell.data for cell in own.records):
            for method in METHODS:
                rows += [_row(data, method, own.select(data=data, method=method), limits)]
        intro = (
            f"Each method on growing fractions (1/{', 1/'.join(map(str, limits.fractions))}) of the points, features "
            f"and labels of a shape, within {limits.minutes:g} minutes of training and {limits.gigabytes:g} GB: the "
            "largest that it finished, and why there is no larger one. A row with “not measured yet” is a lower bound. "
            "Precisions are of made-up labels, and say nothing across different fractions."
        )
        headings = ["shape", "method", "fraction", "n / d / L", *methods.PRECISIONS]
        headings += ["training, min", "peak memory, GB", "predicting a point, ms", "why no more"]
        return [Text([intro + warn_of_machines(own)]), Table("", headings, rows)]


def _limits(cell: Cell) -> Limits:
    return QUICK_LIMITS if cell.quick else LIMITS


def _row(data: str, method: str, own: Results, limits: Limits) -> list[Entry]:
    shape, name, failed = datasets.shape_of(data), methods.title(method), next(iter(own.failed.values()), "")
    reach = find_reach(own)
    if reach is None:
        ended = next((str(each["ended"]) for each in own.values() if "ended" in each), failed)
        return [shape, name, "–", "–", *(Number(None) for _ in range(6)), ended or "not measured"]
    measured, reason = reach.measured, reach.ended or failed
    if not reason:
        larger = [each for each in limits.fractions if each < reach.fraction]
        reason = f"{name_fraction(max(larger))}: not measured yet" if larger else ""
    return [
        shape,
        name,
        reach.name,
        "\N{NO-BREAK SPACE}/\N{NO-BREAK SPACE}".join(
            f"{measured[what]:,}" for what in ("points", "features", "labels")
        ),
        *(Number(measured[precision]) for precision in methods.PRECISIONS),
        Number(measured["train_seconds"] / 60),
        Number(measured["peak_mb"] / 1000),
        Number(measured["predict_ms_a_point"], digits=3),
        reason,
    ]


EXPERIMENT = Scale()

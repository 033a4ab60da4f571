"""The paper's large sets cannot be had here: how far each method goes on synthetic sets of their shapes.

A method is trained on growing fractions of a shape, each in a process of its own, as long as it stays within the
limits of time and memory. The table has the largest fraction that it finishes, and why the next one is not there. The
labels of such a set are made up: precision shows that a method learns something at that size, not which is better.
"""

from __future__ import annotations

import json
import math
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from tempfile import TemporaryFile
from typing import IO, Any, NamedTuple

from neartag.core.errors import NeartagError
from neartag.core.usage import peak_memory
from neartag.data import synthetic
from neartag.evaluation import metrics
from neartag.experiments import datasets, methods
from neartag.experiments.datasets import Parts
from neartag.experiments.plan import Cell, Plan
from neartag.experiments.printed import TABLE_2
from neartag.experiments.process_memory import resident_bytes
from neartag.experiments.report.blocks import Block, Entry, Number, Table, Text
from neartag.experiments.results import Record, Results, warn_of_machines
from neartag.experiments.runner import Experiment, Work

METHODS = (methods.STRICT, methods.REFINED, "leml", "fastxml", "lpsr-nb")


class Limits(NamedTuple):
    """What a training may take, and on which fractions of a shape it is tried, the smallest first."""

    minutes: float
    gigabytes: float
    fractions: tuple[int, ...]  # 1/fraction of the points, features and labels


LIMITS = Limits(30, 20, (100, 30, 10, 3, 1))
QUICK_LIMITS = Limits(0.5, 4, (200,))
MAX_TEST_POINTS = 10_000
BEYOND = 1.25  # times the limit: what a rate of growth tells is not exact
ALARM = int(getattr(signal, "SIGALRM", 0))  # what ends a process unless it says otherwise; 0: Windows has none
_PAUSE = 0.2  # seconds between two looks at a process
_PROGRAM = "from neartag.experiments.scale import work_apart; work_apart()"
_MARK = "measured: "  # before the line that a process writes
_REFUSED = re.compile(r"would need about [\d.]+ [A-Z]?B of memory")


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
        measured, reason = run_apart({"cell": cell.as_json(), "jobs": work.jobs}, _limits(cell))
        return {"ended": f"{_name(fraction)}: {reason}"} if reason else measured

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
            "largest that it finished, and why there is no larger one. Precisions are of made-up labels, and say "
            "nothing across different fractions."
        )
        headings = ["shape", "method", "fraction", "n / d / L", *methods.PRECISIONS]
        headings += ["training, min", "peak memory, GB", "predicting a point, ms", "why no more"]
        return [Text([intro + warn_of_machines(own)]), Table("", headings, rows)]


def _limits(cell: Cell) -> Limits:
    return QUICK_LIMITS if cell.quick else LIMITS


def too_slow_to_try(before: Sequence[Mapping[str, Any]], fraction: int, limits: Limits) -> str:
    """Say why a larger fraction is not tried, from those before it, the largest first; "" to try it.

    No method's time grows more slowly than its points. Where it grew faster from the second to the first of them, and
    would at that rate be clearly beyond the limit, that is a reason too.
    """
    times = [each["train_seconds"] / 60 for each in before]
    sizes = [1 / each["fraction"] for each in before]
    expected = times[0] / fraction / sizes[0]
    took = f"1/{before[0]['fraction']} took {times[0]:.1f} min"
    if expected > limits.minutes:
        return f"{_name(fraction)}: not tried, {took}, so that at least {expected:.0f} min are to be expected"
    if len(before) > 1:
        rate = math.log(times[0] / times[1]) / math.log(sizes[0] / sizes[1])  # time ∝ size^rate
        expected = times[0] * (1 / fraction / sizes[0]) ** rate
        if expected > BEYOND * limits.minutes:
            took += f" and 1/{before[1]['fraction']} {times[1]:.1f}"
            return f"{_name(fraction)}: not tried, {took}, at which rate {expected:.0f} min are to be expected"
    return ""


def run_apart(task: dict[str, Any], limits: Limits) -> tuple[dict[str, Any], str]:
    """Return what a process of its own measured, and "" — or nothing, and which limit it met."""
    allowed = 60 * limits.minutes * 2 + 600  # making the data and predicting take time too; training alone is judged
    # Files, not pipes: nobody reads while it runs, and a full pipe would stop it.
    with TemporaryFile("w+") as given, TemporaryFile("w+") as said, TemporaryFile("w+") as errors:
        given.write(json.dumps({**task, "minutes": limits.minutes}))
        given.seek(0)
        process = subprocess.Popen([sys.executable, "-c", _PROGRAM], stdin=given, stdout=said, stderr=errors)
        started, reason = time.monotonic(), ""
        while process.poll() is None and not reason:
            time.sleep(_PAUSE)
            if resident_bytes(process.pid) > 1e9 * limits.gigabytes:
                reason = f"over {limits.gigabytes:g} GB"
            elif time.monotonic() - started > allowed:
                reason = f"over {limits.minutes:g} min"
        if reason:
            process.kill()
            process.wait()
            return {}, reason
        answers, complaints = _lines_of(said), _lines_of(errors)
    lines = [line.removeprefix(_MARK) for line in answers if line.startswith(_MARK)]
    if not lines and ALARM and process.returncode == -ALARM:
        return {}, f"over {limits.minutes:g} min"
    if not lines:
        last = next((line for line in reversed(complaints) if line.strip()), f"ended with {process.returncode}")
        if last.startswith("MemoryError") or "ArrayMemoryError" in last:
            return {}, "no memory was left"
        if refused := _REFUSED.search(last):  # by the method itself, before it begins
            return {}, refused[0]
        raise NeartagError(f"its process failed: {last}")  # which is no limit: the next run tries it again
    measured = json.loads(lines[-1])
    minutes = measured["train_seconds"] / 60
    return (measured, "") if minutes <= limits.minutes else ({}, f"training took {minutes:.0f} min")


def _lines_of(file: IO[str]) -> list[str]:
    file.seek(0)
    return file.read().splitlines()


def work_apart() -> None:
    """Train on one fraction as the line on standard input says; print what was measured."""
    task = json.loads(sys.stdin.read())
    cell = Cell.from_json(task["cell"])
    print(_MARK + json.dumps(measure_fraction(cell, task["jobs"], 60 * task["minutes"])), flush=True)


def measure_fraction(cell: Cell, jobs: int, seconds: float = 0) -> dict[str, Any]:
    """Return time, memory and precision of a method on a fraction of a shape.

    A training that takes longer than so many seconds ends this process, where the system has alarms; 0: no limit.
    """
    fraction = int(cell.option("fraction"))
    parts = make_fraction(cell.data, fraction)
    settings = EXPERIMENT.settings(cell)["method"]
    _set_alarm(seconds)
    classifier, cost = methods.train(cell.method, settings, parts, cell.seed, Work(jobs))
    _set_alarm(0)
    started = time.perf_counter()
    labels, _ = classifier.predict_topk(parts.X_test, max(methods.CUTS))
    predicting = 1000 * (time.perf_counter() - started) / parts.X_test.shape[0]
    scores = metrics.evaluate(labels, parts.Y_test)
    return {
        **methods.round_all({name: scores[name] for name in methods.PRECISIONS}),
        **cost,
        "predict_ms_a_point": round(predicting, 5),
        "peak_mb": round((peak_memory() or 0) / 1e6, 1),
        "fraction": fraction,
        "points": int(parts.X.shape[0]),
        "features": int(parts.X.shape[1]),
        "labels": int(parts.Y.shape[1]),
    }


def _set_alarm(seconds: float) -> None:
    if ALARM:
        signal.setitimer(signal.ITIMER_REAL, seconds)


def make_fraction(data: str, fraction: int) -> Parts:
    """Return a made-up set of a shape, with so many times fewer points, features and labels."""
    shape = TABLE_2[datasets.shape_of(data)]
    train, test, features, labels = (
        max(2, (count or 0) // fraction) for count in (shape.train, shape.test, shape.features, shape.labels)
    )
    test = min(test, MAX_TEST_POINTS)
    # In a small fraction a point cannot have as many features as in the whole.
    pairs = ((shape.features_per_point, features), (shape.labels_per_point, labels))
    averages = [min(float(average or 1), most / 2) for average, most in pairs]
    made = synthetic.make(train + test, features, labels, *averages)
    return Parts(made.X[:train], made.Y[:train], made.X[train:], made.Y[train:])


def _name(fraction: int) -> str:
    return "whole" if fraction == 1 else f"1/{fraction}"


def _row(data: str, method: str, own: Results, limits: Limits) -> list[Entry]:
    shape, name = datasets.shape_of(data), methods.title(method)
    finished = {each["fraction"]: each for each in own.values() if "train_seconds" in each}
    reason = next((str(each["ended"]) for each in own.values() if "ended" in each), "")
    reason = reason or next(iter(own.failed.values()), "")
    if not finished:
        return [shape, name, "–", "–", *(Number(None) for _ in range(6)), reason or "not measured"]
    measured = finished[min(finished)]
    if not reason:
        larger = [each for each in limits.fractions if each < measured["fraction"]]
        reason = f"{_name(max(larger))}: not measured yet" if larger else ""
    return [
        shape,
        name,
        _name(measured["fraction"]),
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

"""The paper's large sets cannot be had here: how far each method goes on synthetic sets of their shapes.

A method is trained on growing fractions of a shape, each in a process of its own, as long as it stays within the
limits of time and memory. Kept is the largest fraction that it finishes, and why the next one is not there. The labels
of such a set are made up: precision shows that a method learns something at that size, not which method is better.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import Any, NamedTuple

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
from neartag.experiments.results import Results
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
_PAUSE = 0.2  # seconds between two looks at a process
_MARK = "measured: "  # before the line that a process writes


class Scale(Experiment):
    """A cell is a method on the shape of one of the paper's large sets."""

    name = "scale"
    title = "Table 1 (a), at scale: synthetic sets of the large shapes"

    def cells(self, plan: Plan) -> list[Cell]:
        """Return one cell per shape of a missing set and method."""
        wanted = [method for method in METHODS if plan.wants(method)]
        return [plan.cell(self.name, data, method) for data in datasets.synthetic_sets(plan.data) for method in wanted]

    def settings(self, cell: Cell) -> dict[str, Any]:
        """Return the settings of large sets, which have no presets, and the limits."""
        limits = QUICK_LIMITS if cell.quick else LIMITS
        own = methods.settings_for(cell.method, cell.data, large=True, quick=cell.quick)
        return {"method": own, "limits": limits._asdict()}

    def probe(self, cell: Cell) -> str:
        """Return the method's, by its own settings."""
        from neartag.experiments.behaviour import find_probe

        return find_probe(methods.find_variant(cell.method).method, self.settings(cell)["method"])

    def run(self, cell: Cell, work: Work) -> dict[str, Any]:
        """Return what the largest fraction gave that the method finishes, and why there is none larger."""
        limits = QUICK_LIMITS if cell.quick else LIMITS
        best: dict[str, Any] = {}
        reason = "the whole shape"
        with work.start(len(limits.fractions), "growing"):
            for fraction in limits.fractions:
                if best and (reason := too_slow_to_try(best, fraction, limits)):
                    break
                task = {"cell": cell.as_json(), "fraction": fraction, "jobs": work.jobs}
                measured, reason = run_apart(task, limits)
                if reason:
                    reason = f"1/{fraction}: {reason}"
                    break
                best = measured
                work.advance()
        if not best:
            raise NeartagError(f"not even the smallest fraction: {reason}")
        return {**best, "ended": reason or ("the whole shape" if best["fraction"] == 1 else "")}

    def report(self, results: Results) -> list[Block]:
        """Return what stands for each of the paper's large sets, and how far each method went."""
        own = results.select(self.name)
        if not own.records:
            return []
        rows: list[list[Entry]] = []
        for data in datasets.in_table_order(cell.data for cell in own.records):
            for method in METHODS:
                rows += [_row(data, method, own.select(data=data, method=method))]
        limits = QUICK_LIMITS if results.plan.quick else LIMITS
        intro = (
            f"Each method on growing fractions (1/{', 1/'.join(map(str, limits.fractions))}) of the points, features "
            f"and labels of a shape, within {limits.minutes:g} minutes of training and {limits.gigabytes:g} GB: the "
            "largest that it finishes. Precisions are of made-up labels, and say nothing across different fractions."
        )
        headings = ["shape", "method", "fraction", "n / d / L", *methods.PRECISIONS]
        headings += ["training, min", "peak memory, GB", "predicting a point, ms", "why no more"]
        return [Text([intro]), Table("", headings, rows)]


def too_slow_to_try(before: dict[str, Any], fraction: int, limits: Limits) -> str:
    """Say why a larger fraction is not tried: no method's time grows more slowly than its points; "" to try it."""
    expected = before["train_seconds"] / 60 * before["fraction"] / fraction
    if expected <= limits.minutes:
        return ""
    took = f"1/{before['fraction']} took {before['train_seconds'] / 60:.1f} min"
    return f"1/{fraction}: not tried, {took}, so that at least {expected:.0f} min are to be expected"


def run_apart(task: dict[str, Any], limits: Limits) -> tuple[dict[str, Any], str]:
    """Return what a process of its own measured, and "" — or nothing, and which limit it met."""
    command = [sys.executable, "-c", "from neartag.experiments.scale import work_apart; work_apart()"]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    process.stdin.write(json.dumps(task))
    process.stdin.close()
    process.stdin = None
    allowed = 60 * limits.minutes * 2 + 600  # making the data and predicting take time too; training alone is judged
    started, reason = time.monotonic(), ""
    while process.poll() is None and not reason:
        time.sleep(_PAUSE)
        if resident_bytes(process.pid) > 1e9 * limits.gigabytes:
            reason = f"over {limits.gigabytes:g} GB"
        elif time.monotonic() - started > allowed:
            reason = f"over {limits.minutes:g} min"
    if reason:
        process.kill()
    said, errors = process.communicate()
    if reason:
        return {}, reason
    lines = [line.removeprefix(_MARK) for line in said.splitlines() if line.startswith(_MARK)]
    if not lines:
        return {}, (errors.strip().splitlines() or [f"ended with {process.returncode}"])[-1]
    measured = json.loads(lines[-1])
    minutes = measured["train_seconds"] / 60
    return (measured, "") if minutes <= limits.minutes else ({}, f"training took {minutes:.0f} min")


def work_apart() -> None:
    """Train on one fraction as the line on standard input says; print what was measured."""
    task = json.loads(sys.stdin.read())
    cell = Cell.from_json(task["cell"])
    print(_MARK + json.dumps(measure_fraction(cell, task["fraction"], task["jobs"])), flush=True)


def measure_fraction(cell: Cell, fraction: int, jobs: int) -> dict[str, Any]:
    """Return time, memory and precision of a method on a fraction of a shape."""
    parts = make_fraction(cell.data, fraction)
    settings = EXPERIMENT.settings(cell)["method"]
    classifier, cost = methods.train(cell.method, settings, parts, cell.seed, Work(jobs))
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


def _row(data: str, method: str, own: Results) -> list[Entry]:
    shape, name = datasets.shape_of(data), methods.title(method)
    if not own:
        reason = next(iter(own.failed.values()), "not measured")
        return [shape, name, "–", "–", *(Number(None) for _ in range(6)), reason]
    (measured,) = own.values()
    fraction = "whole" if measured["fraction"] == 1 else f"1/{measured['fraction']}"
    return [
        shape,
        name,
        fraction,
        " / ".join(f"{measured[what]:,}" for what in ("points", "features", "labels")),
        *(Number(measured[precision]) for precision in methods.PRECISIONS),
        Number(measured["train_seconds"] / 60),
        Number(measured["peak_mb"] / 1000),
        Number(measured["predict_ms_a_point"], digits=3),
        "" if measured["fraction"] == 1 else measured["ended"],
    ]


EXPERIMENT = Scale()

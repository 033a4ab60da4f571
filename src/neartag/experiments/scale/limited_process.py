"""A method trained on a fraction of a shape in a process of its own, which ends at a limit of time or memory."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from tempfile import TemporaryFile
from typing import IO, Any

from neartag.core.errors import NeartagError
from neartag.core.usage import peak_memory, read_status
from neartag.data import synthetic
from neartag.evaluation import metrics
from neartag.experiments import datasets, methods
from neartag.experiments.datasets import Parts
from neartag.experiments.plan import Cell
from neartag.experiments.printed import TABLE_2
from neartag.experiments.runner import Work
from neartag.experiments.scale.limits import BEYOND, Limits

MAX_TEST_POINTS = 10_000
# Methods whose parts take about equally long, so that the first few tell how long all will take; and how few.
EVEN_PARTS, MIN_SHARE = ("fastxml",), 0.1
ALARM = int(getattr(signal, "SIGALRM", 0))  # what ends a process unless it says otherwise; 0: Windows has none
_PAUSE = 0.2  # seconds between two looks at a process
_PROGRAM = "from neartag.experiments.scale.limited_process import work_apart; work_apart()"
_MARK, _ENDED = "measured: ", "ended: "  # before the line that a process writes
_REFUSED = re.compile(r"would need about [\d.]+ [A-Z]?B of memory")


class Forecast(Work):
    """Work of equal parts that is ended once the first of them tell that all would take clearly longer than allowed."""

    def __init__(self, jobs: int, seconds: float, end: Callable[[str], None], clock: Callable[[], float]) -> None:
        super().__init__(jobs)
        self._seconds, self._end, self._clock, self._begun = seconds, end, clock, 0.0
        self._lock = threading.Lock()  # parts may be done by several threads

    def start(self, total: int | None, description: str) -> Work:
        """Begin parts, and look at the clock."""
        self._begun = self._clock()
        return super().start(total, description)

    def advance(self, steps: int = 1, note: str = "") -> None:
        """Count parts, and end the work where it would take too long."""
        with self._lock:
            super().advance(steps, note)
            took = self._clock() - self._begun
            if self._total and self._done >= MIN_SHARE * self._total:
                expected = took * self._total / self._done
                if expected > BEYOND * self._seconds:
                    self._end(
                        f"{self._done} of {self._total} parts took {took / 60:.1f} min, at which rate "
                        f"{expected / 60:.0f} min are to be expected"
                    )


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
            if (read_status("VmRSS", process.pid) or 0) > 1e9 * limits.gigabytes:
                reason = f"over {limits.gigabytes:g} GB"
            elif time.monotonic() - started > allowed:
                reason = f"over {limits.minutes:g} min"
        if reason:
            process.kill()
            process.wait()
            return {}, reason
        answers, complaints = _lines_of(said), _lines_of(errors)
    ended = [line.removeprefix(_ENDED) for line in answers if line.startswith(_ENDED)]
    if ended:
        return {}, ended[-1]
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
    print(_MARK + json.dumps(measure_fraction(cell, task["settings"], task["jobs"], 60 * task["minutes"])), flush=True)


def measure_fraction(cell: Cell, settings: dict[str, Any], jobs: int, seconds: float = 0) -> dict[str, Any]:
    """Return time, memory and precision of a method on a fraction of a shape.

    A training that takes longer than so many seconds ends this process, where the system has alarms; 0: no limit.
    """
    fraction = int(cell.option("fraction"))
    parts = make_fraction(cell.data, fraction)
    work = Forecast(jobs, seconds, _end_here, time.monotonic) if seconds and cell.method in EVEN_PARTS else Work(jobs)
    _set_alarm(seconds)
    classifier, cost = methods.train(cell.method, settings, parts, cell.seed, work)
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


def _end_here(reason: str) -> None:
    print(_ENDED + reason, flush=True)
    os._exit(0)  # threads are at work, and what they do is not wanted


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

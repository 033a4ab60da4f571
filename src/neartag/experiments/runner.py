"""Runs the cells of experiments one after another, keeping each result as it ends, so that a run can go on later.

An experiment is a module with an object EXPERIMENT. It says which cells it has, measures one, and makes tables and
figures of what was measured. Its cells must not depend on each other, on the number of jobs, or on anything but the
data: all that makes a cell is in the cell.
"""

from __future__ import annotations

import datetime
import gc
import json
import time
import traceback
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from neartag.core.errors import NeartagError, ParameterError
from neartag.core.progress import Progress
from neartag.experiments import machine, results
from neartag.experiments.blocks import Block
from neartag.experiments.plan import Cell, Plan
from neartag.experiments.results import Record, Results, Summary

__all__ = ["NAMES", "Cell", "Experiment", "Plan", "Record", "Results", "Summary", "Work", "get", "run", "valid"]

# Experiments by name, in the order of the report; each is the module of that name.
NAMES = (
    "table1",
    "table2",
    "table3",
    "table4",
    "figure1a",
    "figure1b",
    "figure1c",
    "figure2",
    "timings",
    "theory",
    "claims",
)


class Work(Progress):
    """What a cell is given to run with: the number of jobs, and a place to tell how far it is."""

    def __init__(self, jobs: int = -1, shown: Progress | None = None, title: str = "") -> None:
        self.jobs = jobs
        self._shown, self._title, self._task, self._total, self._done = shown or Progress(), title, "", 0, 0

    def start(self, total: int | None, description: str) -> Work:
        """Begin a part of the cell's work; what it tells stands beside the bar of all cells."""
        self._task, self._total, self._done = description, total or 0, 0
        self._tell()
        return self

    def advance(self, steps: int = 1, note: str = "") -> None:
        """Count steps of the part."""
        self._done += steps
        self._tell()

    def _tell(self) -> None:
        count = f" {self._done}/{self._total}" if self._total else ""
        self._shown.advance(0, f"{self._title}: {self._task}{count}")


class Experiment:
    """What every experiment has; `name` is its module's."""

    name: str
    title: str  # such as "Table 3: small data sets"

    def cells(self, plan: Plan) -> list[Cell]:
        """Return what is to be measured under a plan."""
        raise NotImplementedError

    def settings(self, cell: Cell) -> dict[str, Any]:
        """Return the settings of a cell's method, as JSON has them; a kept result of others is measured again."""
        return {}

    def run(self, cell: Cell, work: Work) -> dict[str, Any]:
        """Return a cell's measured numbers, as JSON has them."""
        raise NotImplementedError

    def report(self, results: Results) -> list[Block]:
        """Return the tables, figures and words that the results of all experiments give for this one."""
        raise NotImplementedError


def get(name: str) -> Experiment:
    """Return the experiment of that name; ParameterError names those there are."""
    if name not in NAMES:
        raise ParameterError(f"there is no experiment {name!r}: choose among {', '.join(NAMES)}")
    return import_module(f"neartag.experiments.{name}").EXPERIMENT


def pending(plan: Plan, names: Sequence[str], kept: Mapping[Cell, Record]) -> list[Cell]:
    """Return the cells that are not yet measured, or were with other settings, those of low seeds first."""
    found = []
    for name in names:
        experiment = get(name)
        wanted = dict.fromkeys(experiment.cells(plan))
        todo = [cell for cell in wanted if not _is_done(experiment, cell, kept.get(cell))]
        found += sorted(todo, key=lambda cell: cell.seed)  # so that each place has a figure before any has ten
    return found


def run(plan: Plan, names: Sequence[str], folder: Path, progress: Progress) -> Results:
    """Measure what is pending, keep it in the folder, and return all that the folder then has of the plan's kind.

    A cell that fails is kept with its reason, does not stop the others, and is tried again by the next run.
    """
    kept = results.kept(folder)
    todo = pending(plan, names, kept)
    with progress.start(len(todo), "measuring"):
        for number, cell in enumerate(todo):
            title = " ".join(filter(None, (cell.experiment, cell.data, cell.method, f"run {cell.seed + 1}")))
            title = ", ".join(filter(None, (_time_left(todo[number:], kept.values()), title)))
            progress.advance(0, title)
            record = measure(get(cell.experiment), cell, Work(plan.jobs, progress, title))
            results.keep(folder, record)
            kept[cell] = record
            progress.advance(1, f"{title}: {'failed' if record.failed else 'done'}")
    return valid(kept, plan)


def valid(kept: Mapping[Cell, Record], plan: Plan) -> Results:
    """Return the results of the plan's kind, quick or not, that were measured with the settings of today."""
    fitting = {cell: record for cell, record in kept.items() if cell.quick == plan.quick and cell.experiment in NAMES}
    current = {cell: record for cell, record in fitting.items() if not _is_outdated(get(cell.experiment), record)}
    return Results(current, plan, outdated=len(fitting) - len(current))


def measure(experiment: Experiment, cell: Cell, work: Work) -> Record:
    """Return the record of a cell, measured now or failed."""
    begun, cpu = time.perf_counter(), time.process_time()
    measured: dict[str, Any] = {}
    failed, bug = "", False
    settings: dict[str, Any] = {}
    try:
        settings = _settings(experiment, cell)
        measured = experiment.run(cell, work)
    except (NeartagError, MemoryError) as error:
        failed = str(error) or type(error).__name__
    except Exception as error:  # a bug in one cell must not cost the others' hours
        place = traceback.extract_tb(error.__traceback__)[-1]
        failed, bug = f"{type(error).__name__} in {place.name}, line {place.lineno}: {error}", True
    gc.collect()
    return Record(
        cell=cell,
        measured=measured,
        failed=failed,
        bug=bug,
        settings=settings,
        seconds=round(time.perf_counter() - begun, 3),
        cpu_seconds=round(time.process_time() - cpu, 3),
        jobs=machine.cores(work.jobs),
        machine=machine.described(),
        versions=machine.versions(),
        date=datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
    )


def _is_done(experiment: Experiment, cell: Cell, record: Record | None) -> bool:
    return record is not None and not record.failed and not _is_outdated(experiment, record)


def _is_outdated(experiment: Experiment, record: Record) -> bool:
    """Return whether the settings have been changed since; means must not be taken over different ones."""
    return not record.failed and record.settings != _settings(experiment, record.cell)


def _settings(experiment: Experiment, cell: Cell) -> dict[str, Any]:
    return json.loads(json.dumps(experiment.settings(cell)))  # as a file gives them back


def _time_left(cells: Sequence[Cell], known: Iterable[Record]) -> str:
    """Return how long cells will take, in words: as those like them took; "" where nothing like them is known."""
    seconds: dict[tuple, list[float]] = {}
    for record in known:
        if not record.failed:
            for kind in _kinds(record.cell):
                seconds.setdefault(kind, []).append(record.seconds)
    total = 0.0
    for cell in cells:
        like = next((seconds[kind] for kind in _kinds(cell) if kind in seconds), None)
        if like is None:
            return ""
        total += sum(like) / len(like)
    return f"about {total:.0f} s left" if total < 100 else f"about {total / 60:.0f} min left"


def _kinds(cell: Cell) -> list[tuple]:
    """Return what a cell is alike to, from the nearest kind to the widest."""
    quick = cell.quick
    return [
        (cell.experiment, cell.data, cell.method, cell.options),
        (cell.experiment, cell.data, cell.method, quick),
        (cell.experiment, cell.method, quick),
        (cell.experiment, quick),
        (quick,),
    ]

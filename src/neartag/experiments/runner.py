"""Runs the cells of experiments one after another, and keeps each result when it ends: a later run continues there.

An experiment is a module, or a package, with an object EXPERIMENT. It says which cells it has, measures one, and makes
tables and figures of the results. A cell must not depend on other cells or on the number of jobs: all that makes a
cell is in the cell. Only whether it is run at all may be told by others (`foresee`).
"""

from __future__ import annotations

import datetime
import gc
import json
import time
import traceback
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from neartag.core.errors import NeartagError, ParameterError
from neartag.core.progress import Progress
from neartag.core.threads import resolve_jobs
from neartag.experiments import machine
from neartag.experiments.behaviour import Behaviours, find_probe
from neartag.experiments.plan import Cell, Plan
from neartag.experiments.report.blocks import Block
from neartag.experiments.results import Record, Results
from neartag.experiments.results_folder import read_records, write_record

# Experiments by name, in the order of the report; each is the module or package of that name.
NAMES = (
    "summary",
    "table1",
    "scale",
    "table2",
    "table3",
    "table4",
    "dimensions",
    "figure1a",
    "figure1b",
    "figure1c",
    "figure2",
    "timings",
    "readings",
    "ladder",
    "sparsity",
    "theory",
    "claims",
)


class Work(Progress):
    """What a cell gets to run with: the number of jobs, and a place to report its progress."""

    def __init__(self, jobs: int = -1, shown: Progress | None = None, title: str = "") -> None:
        self.jobs = jobs
        self._shown, self._title, self._task, self._total, self._done = shown or Progress(), title, "", 0, 0

    def start(self, total: int | None, description: str) -> Work:
        """Begin a part of the work; its progress is shown beside the bar of all cells."""
        self._task, self._total, self._done = description, total or 0, 0
        self._show()
        return self

    def advance(self, steps: int = 1, note: str = "") -> None:
        """Count steps of the part."""
        self._done += steps
        self._show()

    def _show(self) -> None:
        count = f" {self._done}/{self._total}" if self._total else ""
        self._shown.advance(0, f"{self._title}: {self._task}{count}")


class Experiment:
    """What every experiment has; `name` is its module's name."""

    name: str
    title: str  # such as "Table 3: small data sets"

    def cells(self, plan: Plan) -> list[Cell]:
        """Return what is to be measured under a plan."""
        raise NotImplementedError

    def settings(self, cell: Cell) -> dict[str, Any]:
        """Return the settings of a cell's method as JSON; a kept result with other settings is measured again."""
        return {}

    def probe(self, cell: Cell) -> str:
        """Return the probe whose answers tell whether a kept result is fresh; "" if no method is trained."""
        from neartag.experiments.methods import find_variant  # which needs this module

        return find_probe(find_variant(cell.method).method, self.settings(cell)) if cell.method else ""

    def foresee(self, cell: Cell, kept: Mapping[Cell, Record]) -> dict[str, Any] | None:
        """Return what is known of a cell from others, so that it need not be run; None: nothing is."""
        return None

    def run(self, cell: Cell, work: Work) -> dict[str, Any]:
        """Return the measured numbers of a cell as JSON."""
        raise NotImplementedError

    def report(self, results: Results) -> list[Block]:
        """Return the tables, figures and texts of this experiment, given the results of all experiments."""
        raise NotImplementedError


class Overview(Experiment):
    """A part of the report that measures nothing of its own: it is made of what the others measured."""

    def cells(self, plan: Plan) -> list[Cell]:
        """Return nothing."""
        return []


def get(name: str) -> Experiment:
    """Return the experiment of that name; ParameterError names those that there are."""
    if name not in NAMES:
        raise ParameterError(f"there is no experiment {name!r}: choose among {', '.join(NAMES)}")
    return import_module(f"neartag.experiments.{name}").EXPERIMENT


def load_experiments(names: Sequence[str] = NAMES) -> dict[str, Experiment]:
    """Return experiments by name."""
    return {name: get(name) for name in names}


def pending_cells(
    plan: Plan, experiments: Iterable[Experiment], kept: Mapping[Cell, Record], behaviours: Behaviours
) -> list[Cell]:
    """Return the cells that are not measured yet, or whose result is not fresh; those of low seeds first."""
    pending = []
    for experiment in experiments:
        wanted = dict.fromkeys(experiment.cells(plan))
        cells = [cell for cell in wanted if not _is_done(experiment, kept.get(cell), behaviours)]
        pending += sorted(cells, key=lambda cell: cell.seed)  # so that each place has one number before any has ten
    return list(dict.fromkeys(pending))  # two experiments may ask for the same


def run(
    plan: Plan,
    names: Sequence[str],
    folder: Path,
    progress: Progress,
    experiments: Mapping[str, Experiment] | None = None,
    behaviours: Behaviours | None = None,
) -> Results:
    """Measure the pending cells of the named experiments, keep them in the folder, and return all current results.

    A cell that fails is kept with its reason. It does not stop the others, and the next run tries it again.
    `experiments` are those that there are; None: the paper's.
    """
    experiments = load_experiments() if experiments is None else experiments
    behaviours = behaviours or Behaviours(folder)
    kept = read_records(folder)
    pending = pending_cells(plan, [experiments[name] for name in names], kept, behaviours)
    with progress.start(len(pending), "measuring"):
        for number, cell in enumerate(pending):
            title = " ".join(filter(None, (cell.experiment, cell.data, cell.method, f"run {cell.seed + 1}")))
            title = ", ".join(filter(None, (_time_left(pending[number:], kept.values()), title)))
            progress.advance(0, title)
            experiment = experiments[cell.experiment]
            digest = behaviours.keep(experiment.probe(cell))
            record = measure(experiment, cell, Work(plan.jobs, progress, title), experiment.foresee(cell, kept))
            record = replace(record, behaviour=digest)
            write_record(folder, record)
            kept[cell] = record
            progress.advance(1, f"{title}: {'failed' if record.failed else 'done'}")
    return current_results(kept, plan, behaviours, experiments)


def current_results(
    kept: Mapping[Cell, Record],
    plan: Plan,
    behaviours: Behaviours,
    experiments: Mapping[str, Experiment] | None = None,
) -> Results:
    """Return the results of the plan's kind, quick or not, that were measured with today's settings.

    Nothing is trained here: results of a behaviour that is not the newest known one are marked as stale.
    """
    experiments = load_experiments() if experiments is None else experiments
    fitting = {
        cell: record for cell, record in kept.items() if cell.quick == plan.quick and cell.experiment in experiments
    }
    current = {
        cell: record for cell, record in fitting.items() if not _is_outdated(experiments[cell.experiment], record)
    }
    probes = {cell: experiments[cell.experiment].probe(cell) for cell in current}
    stale = [
        cell
        for cell, probe in probes.items()
        if probe and not (current[cell].behaviour and current[cell].behaviour == behaviours.newest(probe))
    ]
    return Results(current, plan, outdated=len(fitting) - len(current), stale=stale)


def find_stale(
    kept: Mapping[Cell, Record], behaviours: Behaviours, experiments: Mapping[str, Experiment] | None = None
) -> dict[Cell, str]:
    """Return the kept cells that are not fresh, each with the reason; every method that they need is probed."""
    experiments = load_experiments() if experiments is None else experiments
    reasons = {}
    for cell, record in kept.items():
        experiment = experiments.get(cell.experiment)
        if experiment is None:
            reasons[cell] = "no such experiment"
        elif record.failed:
            reasons[cell] = f"failed: {record.failed}"
        elif _is_outdated(experiment, record):
            reasons[cell] = "measured with other settings"
        elif not _is_fresh(experiment, record, behaviours):
            reasons[cell] = "the method answers otherwise now" if record.behaviour else "measured before digests"
    return reasons


def measure(experiment: Experiment, cell: Cell, work: Work, known: dict[str, Any] | None = None) -> Record:
    """Measure a cell, unless its numbers are known, and return its record; a failure is a record too."""
    started, cpu = time.perf_counter(), time.process_time()
    measured: dict[str, Any] = {}
    failed, bug = "", False
    settings: dict[str, Any] = {}
    try:
        settings = _settings_as_json(experiment, cell)
        measured = experiment.run(cell, work) if known is None else known
    except (NeartagError, MemoryError) as error:
        failed = str(error) or type(error).__name__
    except Exception as error:  # a bug in one cell must not cost the hours of the others
        place = traceback.extract_tb(error.__traceback__)[-1]
        failed, bug = f"{type(error).__name__} in {place.name}, line {place.lineno}: {error}", True
    gc.collect()
    return Record(
        cell=cell,
        measured=measured,
        failed=failed,
        bug=bug,
        settings=settings,
        seconds=round(time.perf_counter() - started, 3),
        cpu_seconds=round(time.process_time() - cpu, 3),
        jobs=resolve_jobs(work.jobs),
        machine=machine.describe(),
        versions=machine.versions(),
        date=datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
    )


def _is_done(experiment: Experiment, record: Record | None, behaviours: Behaviours) -> bool:
    if record is None or record.failed or _is_outdated(experiment, record):
        return False
    return _is_fresh(experiment, record, behaviours)


def _is_fresh(experiment: Experiment, record: Record, behaviours: Behaviours) -> bool:
    """Return whether the method still does what it did when the cell was measured."""
    probe = experiment.probe(record.cell)
    if probe and not record.behaviour:
        return False  # without a probing that takes a second
    return record.behaviour == behaviours.today(probe)


def _is_outdated(experiment: Experiment, record: Record) -> bool:
    """Return whether the settings were changed since; no mean may be taken over different settings."""
    try:
        return not record.failed and record.settings != _settings_as_json(experiment, record.cell)
    except ParameterError:
        return True  # there is no such method any more


def _settings_as_json(experiment: Experiment, cell: Cell) -> dict[str, Any]:
    return json.loads(json.dumps(experiment.settings(cell)))  # as a file returns them


def _time_left(cells: Sequence[Cell], records: Iterable[Record]) -> str:
    """Say how long cells will take, judged by similar ones; "" if there are none."""
    seconds: dict[tuple, list[float]] = {}
    for record in records:
        if not record.failed:
            for group in _similar_groups(record.cell):
                seconds.setdefault(group, []).append(record.seconds)
    total = 0.0
    for cell in cells:
        similar = next((seconds[group] for group in _similar_groups(cell) if group in seconds), None)
        if similar is None:
            return ""
        total += sum(similar) / len(similar)
    return f"about {total:.0f} s left" if total < 100 else f"about {total / 60:.0f} min left"


def _similar_groups(cell: Cell) -> list[tuple]:
    """Return the groups of similar cells to which a cell belongs, from the most to the least similar."""
    quick = cell.quick
    return [
        (cell.experiment, cell.data, cell.method, cell.options),
        (cell.experiment, cell.data, cell.method, quick),
        (cell.experiment, cell.method, quick),
        (cell.experiment, quick),
        (quick,),
    ]

"""Settings of one method chosen on held-out points of one training part; peer_run.py --tune starts it.

All methods are judged by the same points, those that `neartag tune` holds out, and by the same figure, the mean of P@1,
P@3 and P@5. The training with the defaults on all points is measured first: trainings that choose may take ten times as
long, together. That is counted in CPU seconds, so that others on the same machine do not shorten a search. neartag's
own methods are tuned by `neartag.tune`, whose whole search, with all predictions, has that time.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import peer_data
from peer_grids import GRIDS, Grid
from peer_methods import METHODS, make, settings
from peer_search import TIMES, Choice, Settings, Trial, choose
from peer_settings import COMPARATORS, KNN_NEIGHBOURS_ELSEWHERE, MAX_MINUTES_TO_TUNE, PRESETS_ONLY

from neartag import presets
from neartag.core.errors import ParameterError
from neartag.data import Dataset
from neartag.methods import tune
from neartag.methods.time_budget import TimeBudget
from neartag.metrics import evaluate

SEED = 0  # draws the held-out points
FIGURES = ("P@1", "P@3", "P@5")
FIXED: dict[str, Settings] = {"x1-refined": {"refine": True}}  # x1-any may choose votes alone


def first_settings(name: str, data: str) -> Settings:
    """Return the settings that a search begins with: the defaults, never what was chosen on the test part."""
    if name == "knn":
        return {"n_neighbors": KNN_NEIGHBOURS_ELSEWHERE}
    return settings(name, data) or {}


def start_of(name: str, data: str) -> Settings:
    """Return the settings of the first trial: those settings, with what the search must know in numbers."""
    return {**first_settings(name, data), **GRIDS[name].first}


def preset(name: str, data: str) -> Settings | None:
    """Return the settings that were chosen for a comparator long ago; None where there are none."""
    try:
        return presets.get(data, COMPARATORS[name])
    except (KeyError, ParameterError):
        return None


def plan(name: str, data: str) -> dict[str, Any] | None:
    """Return what a search consists of: while it stays the same, what was found is kept. None: there is none."""
    if name not in GRIDS:
        known = preset(name, data)
        if name in COMPARATORS and known is None and data in PRESETS_ONLY:
            return None
        return {"preset": known} if known is not None else {"fixed": FIXED.get(name, {}), "times": TIMES}
    return {**GRIDS[name]._asdict(), "first": start_of(name, data), "times": TIMES}


def tuned_settings(data: str, name: str, threads: int, timer: Callable[[], Any]) -> dict[str, Any]:
    """Return the chosen settings, and all that was tried for them."""
    if name not in GRIDS and (known := preset(name, data)) is not None:
        return {"settings": known, "by": "preset"}
    train, _ = peer_data.load(data)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        cost = measure_default(train, data, name, threads, timer, folder / "default")
        minutes = cost.cpu / threads / 60  # wall time would blame it for what others run meanwhile
        if minutes > MAX_MINUTES_TO_TUNE:
            raise RuntimeError(
                f"training with the defaults takes {minutes:.0f} minutes, and choosing {TIMES} times that"
            )
        if name not in GRIDS:
            return by_neartag(train, name, threads, cost.cpu)
        rest, held = tune.hold_out(train.n_points, SEED)
        parts = [Dataset(train.X[rows], train.Y[rows]) for rows in (np.sort(rest), held)]
        attempt = attempts(*parts, name, GRIDS[name], threads, timer, folder)
        choice = choose(start_of(name, data), GRIDS[name].axes, attempt, TIMES * cost.cpu)
    return describe(choice, len(held), cost.cpu)


def measure_default(train: Dataset, data: str, name: str, threads: int, timer: Callable[[], Any], folder: Path) -> Any:
    """Return what training with the defaults on all points takes."""
    method = make(name, first_settings(name, data), threads)
    method.longest_minutes = MAX_MINUTES_TO_TUNE  # a method that can tell before it begins how long it will take
    folder.mkdir()
    file = peer_data.training_file(train, folder.parent) if method.reads_file else None
    given = method.train_input(train.X, train.Y, file)
    with timer() as measured:
        method.fit(given, folder)
    return measured


def attempts(
    rest: Dataset, held: Dataset, name: str, grid: Grid, threads: int, timer: Callable[[], Any], folder: Path
) -> Callable[[Settings], Trial]:
    """Return a function that trains with some settings on one part and judges by the other."""
    method = make(name, {}, threads)
    file = peer_data.training_file(rest, folder) if method.reads_file else None
    given, asked = method.train_input(rest.X, rest.Y, file), method.test_input(held.X)

    def attempt(chosen: Settings) -> Trial:
        method.settings = chosen
        with tempfile.TemporaryDirectory(dir=folder) as stored, timer() as measured:
            try:
                return train_and_judge(chosen, Path(stored))
            except Exception as error:  # any tool, any reason: it is not chosen, and the time counts
                failed = f"{type(error).__name__}: {error}"[:200]
        return Trial(chosen, measured.cpu, failed=failed)

    def train_and_judge(chosen: Settings, stored: Path) -> Trial:
        with timer() as measured:
            method.fit(given, stored)
        if not method.saves_in_fit:
            method.save(stored)
        method.load(stored)
        judged = []
        for changes in grid.prediction:
            method.settings = {**chosen, **changes}
            scores = evaluate(method.labels(method.predict(asked)), held.Y)
            judged.append(Trial(chosen, measured.cpu, {key: scores[key] for key in FIGURES}, changes))
        return max(judged, key=lambda trial: trial.score)

    return attempt


def describe(choice: Choice, held: int, default_seconds: float) -> dict[str, Any]:
    """Return a choice as it is kept in the results."""
    return {
        "settings": {**choice.best.settings, **choice.best.prediction},
        "by": "search",
        "held out": held,
        "default CPU s": default_seconds,
        "allowed CPU s": TIMES * default_seconds,
        "used CPU s": choice.used,
        "tried": [asdict(trial) for trial in choice.tried],
        "no time for": choice.skipped,
    }


def by_neartag(train: Dataset, name: str, threads: int, default_seconds: float) -> dict[str, Any]:
    """Return what `neartag tune` chooses within its time."""
    method, allowed = COMPARATORS.get(name, "x1"), TIMES * default_seconds
    given = {"fixed": FIXED.get(name, {}), "random_state": SEED, "n_jobs": threads, "minutes": allowed / 60}
    with mock.patch.object(
        tune, "TimeBudget", partial(TimeBudget, clock=time.process_time)
    ):  # CPU time, as of the peers
        found = tune.tune(train.X, train.Y, method, **given)
    tried = [
        {"settings": trial.settings, "points": trial.points, "seconds": trial.seconds, "figures": trial.metrics}
        for trial in found.trials
    ]
    cost = {"default CPU s": default_seconds, "allowed CPU s": allowed, "used CPU s": found.seconds}
    return {"settings": found.settings, "by": "neartag tune", "held out": found.held_out, **cost, "tried": tried}


def title(name: str) -> str:
    """Return a tuned method's name for people."""
    return f"{METHODS[name][0]}, tuned"

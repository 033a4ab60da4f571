"""Settings chosen on a validation part of the training data, as the paper chose k of kNN and SVP's neighbours.

Each combination of a small grid is trained on few points, the best third again on three times as many, and so on until
the last few are trained on all: successive halving (Jamieson and Talwalkar 2016). What only prediction uses, such as k,
is chosen for each of them without training again. A setting is judged by the mean of P@1, P@3 and P@5 on points that
nothing was trained on.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from neartag.core.errors import DataError, ParameterError
from neartag.core.method import Settings
from neartag.core.parameters import MACHINE, check_settings
from neartag.core.progress import Progress
from neartag.linalg.validation import check_training
from neartag.methods import registry
from neartag.methods.search_space import choose_grid, combinations
from neartag.methods.trial import Split, Trial, run_trial

# Points held out to judge by: this share, at most so many. With fewer points in all nothing can be told.
HELD_OUT_SHARE, MAX_HELD_OUT, MIN_POINTS = 0.2, 3000, 100
# Of a round's combinations one in so many goes on, with so many times the points; no round has fewer points or
# combinations than these, and there are at most so many rounds.
KEPT_ONE_IN, MIN_ROUND_POINTS, MIN_ROUND_TRIALS, MAX_ROUNDS = 3, 2000, 3, 4


@dataclass(frozen=True)
class Tuned:
    """What was chosen, and all that was tried."""

    method: str
    settings: Settings  # the best, and what was fixed: a preset
    best: Trial
    trials: list[Trial]  # in the order in which they were made
    held_out: int  # points that judged


def tune(
    X: Any,
    Y: Any,
    method: str = registry.DEFAULT_METHOD,
    *,
    fixed: Mapping[str, Any] | None = None,
    tried: Mapping[str, Sequence[Any]] | None = None,
    random_state: int = 0,
    n_jobs: int | None = -1,
    max_memory: int | str | None = None,
    progress: Progress | None = None,
    min_round_points: int = MIN_ROUND_POINTS,
) -> Tuned:
    """Choose the settings of a method that are best on a part of these points.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        Feature rows.
    Y : array or sparse matrix of shape (n, L)
        Indicator rows of their labels.
    method : str, default "x1"
        The method's name.
    fixed : dict, optional
        Settings that are not tried.
    tried : dict, optional
        Values of settings, in place of those of the method's own grid, or beside it.
    random_state : int, default 0
        Draws the held-out part, and is the seed of every training.
    n_jobs : int, default -1
        Cores used; -1: all.
    max_memory : int or str, optional
        Memory that a training may use.
    progress : Progress, optional
        What is told of the work.
    min_round_points : int, default 2000
        Points that a round trains on at least.

    Returns
    -------
    Tuned
        The settings, and every trial with its figures.

    Raises
    ------
    DataError
        If there are too few points, or they cannot be learned from.
    ParameterError
        If a setting cannot be used, nothing is left to choose, or no settings could be trained.

    Examples
    --------
    >>> from neartag import tune
    >>> X, Y = [[1, 0], [0, 1]] * 60, [[1, 0], [0, 1]] * 60
    >>> found = tune.tune(X, Y, "knn", fixed={"metric": "cosine"}, tried={"neighbours": [3, 5]})
    >>> found.settings["metric"], found.best.metrics["P@1"]
    ('cosine', 100.0)
    """
    chosen, progress = registry.get(method), progress or Progress()
    X, Y = check_training(X, Y, "tune")
    if X.shape[0] < MIN_POINTS:
        raise DataError(
            f"there are {X.shape[0]} points, too few to choose settings on: at least {MIN_POINTS} are needed"
        )
    fixed = check_settings(dict(fixed or {}), chosen.parameters, chosen.name)
    grid = choose_grid(chosen, int(X.shape[0]), fixed, tried or {})
    always = {"random_state": random_state, "n_jobs": n_jobs, "max_memory": max_memory, **fixed}
    rest, held = hold_out(X.shape[0], random_state)
    alive, trials = combinations(grid.training), []
    sizes = rounds(len(rest), len(alive), min_round_points)
    total = sum(math.ceil(len(alive) / KEPT_ONE_IN**number) for number in range(len(sizes)))
    with progress.start(total, f"trying settings of {chosen.title}"):
        for size in sizes:
            train = np.sort(rest[:size])
            split = Split(X[train], Y[train], X[held], Y[held])
            made: list[Trial] = []
            for settings in alive:
                made.append(run_trial(chosen, settings, grid.prediction, always, split))
                progress.advance(1, f"{size:,} points, {max(trial.score for trial in made):.2f} at best")
            trials += made
            ranked = sorted(made, key=lambda trial: -trial.score)  # stable: the likeliest first among equals
            if ranked[0].error:
                raise ParameterError(f"no settings of {chosen.name} could be trained: {ranked[0].error}")
            going_on = ranked[: math.ceil(len(alive) / KEPT_ONE_IN)]
            alive = [{name: trial.settings[name] for name in grid.training} for trial in going_on]
    preset = {name: value for name, value in {**fixed, **ranked[0].settings}.items() if name not in MACHINE}
    return Tuned(chosen.name, preset, ranked[0], trials, len(held))


def hold_out(points: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows to learn from and those that judge; the former in random order: the first few are a fair part."""
    order = np.random.default_rng(seed).permutation(points)
    held = min(MAX_HELD_OUT, int(HELD_OUT_SHARE * points))
    return order[held:], np.sort(order[:held])


def rounds(points: int, trials: int, min_points: int = MIN_ROUND_POINTS) -> list[int]:
    """Return the points that each round trains on, from few to all."""
    sizes = [points]
    while (
        len(sizes) < MAX_ROUNDS
        and sizes[0] // KEPT_ONE_IN >= min_points
        and math.ceil(trials / KEPT_ONE_IN ** len(sizes)) >= MIN_ROUND_TRIALS
    ):
        sizes.insert(0, sizes[0] // KEPT_ONE_IN)
    return sizes

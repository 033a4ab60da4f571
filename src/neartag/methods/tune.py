"""Settings chosen on a validation part of the training data, as the paper chose k of kNN and SVP's neighbours.

Settings are trained on few points, the best third again on three times as many, and so on until the last few are
trained on all: successive halving (Jamieson and Talwalkar 2016). The default settings are among them in every round.
What only prediction uses, such as k, is chosen for each of them without training again, unless what was trained depends
on it. A setting is judged by the mean of P@1, P@3 and P@5 on points that nothing was trained on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from neartag.core.errors import DataError
from neartag.core.method import Settings
from neartag.core.parameters import MACHINE, check_settings
from neartag.core.progress import Progress
from neartag.core.version import __version__
from neartag.evaluation.point_precision import standard_error
from neartag.linalg.validation import check_training
from neartag.methods import registry
from neartag.methods.halving import MIN_ROUND_POINTS, TrialRunner, choose_best, rounds, run_rounds, settle_features
from neartag.methods.points import Points, RowPoints, digest_of
from neartag.methods.search_options import SearchOptions
from neartag.methods.search_space import FEATURES, MAX_COMBINATIONS, Search, plan_search
from neartag.methods.time_budget import TimeBudget
from neartag.methods.trial import Trial
from neartag.methods.trial_log import TrialLog

__all__ = ["SearchOptions", "Trial", "Tuned", "tune", "tune_points"]

# Points held out to judge by: this share, at most so many. With fewer points in all nothing can be told.
VALIDATION_SHARE, MAX_VALIDATION_POINTS, MIN_POINTS = 0.2, 3000, 100
# Combinations that are tried at most within a time budget: more are hardly worth it, and begin to fit what judges.
MAX_COMBINATIONS_IN_TIME = 64


@dataclass(frozen=True)
class Tuned:
    """What was chosen, and all that was tried."""

    method: str
    settings: Settings  # the best, and what was fixed: a preset
    best: Trial
    trials: list[Trial]  # in the order in which they were made
    held_out: int  # points that judged
    default: Trial | None = None  # the default settings, trained on as many points as the best; None: they failed
    features: str | None = None  # the kind of features chosen for texts
    seconds: float = 0.0  # that the search took
    minutes: float | None = None  # that it was allowed
    resumed: int = 0  # trials that an earlier, interrupted search had made

    @property
    def gain(self) -> float | None:
        """Percentage points above the default on the held-out points, at least 0; None where the default failed."""
        return None if self.default is None else self.best.score - self.default.score

    @property
    def gain_error(self) -> float | None:
        """The standard error of the gain: both were judged by the same points. None where there is no gain."""
        if self.default is None or not self.default.precisions:
            return None
        return standard_error(np.array(self.best.precisions) - np.array(self.default.precisions))


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
    minutes: float | None = None,
    resume: Path | str | None = None,
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
        Values of settings, in place of those of the method's own grid, or beside it. The defaults are tried too.
    random_state : int, default 0
        Draws the held-out part, and is the seed of every training.
    n_jobs : int, default -1
        Cores used; -1: all.
    max_memory : int or str, optional
        Memory that a training may use.
    progress : Progress, optional
        What is told of the work.
    minutes : float, optional
        How long the search may take. It then tries as much as it has time for, so that the result depends on the speed
        of the machine. A training is begun only if it is predicted to end in time.
    resume : path, optional
        File in which finished trials are kept. If it is there already, the search goes on from it. Delete it at the
        end.
    min_round_points : int, default 2000
        Points that a round trains on at least.

    Returns
    -------
    Tuned
        The settings, and every trial with its figures. On the held-out points they are never worse than the defaults.

    Raises
    ------
    DataError
        If there are too few points, or they cannot be learned from.
    ParameterError
        If a setting cannot be used, nothing is left to choose, no settings could be trained, or `resume` is the file
        of another search.

    Examples
    --------
    >>> from neartag import tune
    >>> X, Y = [[1, 0], [0, 1]] * 60, [[1, 0], [0, 1]] * 60
    >>> found = tune.tune(X, Y, "knn", fixed={"metric": "cosine"}, tried={"neighbours": [3, 5]})
    >>> found.settings["metric"], found.best.metrics["P@1"]
    ('cosine', 100.0)
    """
    options = SearchOptions(fixed, tried, random_state, n_jobs, max_memory, minutes, resume, min_round_points)
    return tune_points(RowPoints(*check_training(X, Y, "tune")), method, options, progress)


def tune_points(points: Points, method: str, options: SearchOptions, progress: Progress | None = None) -> Tuned:
    """Choose settings, and features where the points are texts; DataError and ParameterError as `tune` says."""
    shown, budget = progress or Progress(), TimeBudget(options.seconds)
    chosen, n = registry.get(method), int(points.Y.shape[0])
    if n < MIN_POINTS:
        raise DataError(f"there are {n} points, too few to choose settings on: at least {MIN_POINTS} are needed")
    fixed = check_settings(dict(options.fixed or {}), chosen.parameters, chosen.name)
    search = plan_search(chosen, n, fixed, options.tried or {}, points.features, points.default_features)
    seed, min_points = options.random_state, options.min_round_points
    rest, held = hold_out(n, seed)
    log = TrialLog(options.resume, "" if options.resume is None else _digest(points, chosen.name, fixed, search, seed))
    runner = TrialRunner(chosen, points, {**options.shared_settings, **fixed}, rest, held, budget, log)
    if budget.limit is not None:
        runner.warm_up(search.default)
    limit = MAX_COMBINATIONS if budget.limit is None else MAX_COMBINATIONS_IN_TIME
    with shown.start(None, "choosing features by default") if points.features else nullcontext():
        search = search.settle_features(settle_features(runner, rounds(len(rest), limit, min_points)[0]))
    candidates = search.candidates(seed, limit)
    run_rounds(runner, search, candidates, rounds(len(rest), len(candidates), min_points), shown)
    best, default = choose_best(runner.trials)
    preset = {**fixed, **best.settings}
    features = preset.pop(FEATURES, points.default_features)
    return Tuned(
        chosen.name,
        {name: value for name, value in preset.items() if name not in MACHINE},
        best,
        runner.trials,
        len(held),
        default,
        features,
        budget.used,
        options.minutes,
        log.resumed,
    )


def hold_out(points: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows to learn from and those that judge; the former in random order: the first few are a fair part."""
    order = np.random.default_rng(seed).permutation(points)
    held = min(MAX_VALIDATION_POINTS, int(VALIDATION_SHARE * points))
    return order[held:], np.sort(order[:held])


def _digest(points: Points, method: str, fixed: Settings, search: Search, seed: int) -> str:
    """Return a text that is the same for the same search only; machine settings change nothing."""
    import json

    kept = {name: value for name, value in fixed.items() if name not in MACHINE}
    return digest_of(points.digest(), json.dumps([__version__, method, kept, search.describe(), seed], sort_keys=True))

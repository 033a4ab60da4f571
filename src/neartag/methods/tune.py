"""Settings chosen on a validation part of the training data, as the paper chose k of kNN and SVP's neighbours.

Each combination of a small grid is trained on few points, the best third again on three times as many, and so on until
the last few are trained on all: successive halving (Jamieson and Talwalkar 2016). What only prediction uses, such as k,
is chosen for each of them without training again. A setting is judged by the mean of P@1, P@3 and P@5 on points that
nothing was trained on.
"""

from __future__ import annotations

import itertools
import math
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from neartag import comparators
from neartag.comparators import Method
from neartag.core.errors import DataError, NeartagError, ParameterError
from neartag.core.parameters import MACHINE, check_settings
from neartag.core.progress import Progress
from neartag.evaluation.metrics import evaluate
from neartag.linalg.validation import check_training
from neartag.methods.search_spaces import Choices, Grid, grid

KS = (1, 3, 5)
# Points held out to judge by: this share, at most so many. With fewer points in all nothing can be told.
PART, MOST, FEWEST = 0.2, 3000, 100
# Of a round's combinations this share goes on, with so many times the points; no round has fewer points or
# combinations than these, and there are at most so many rounds.
KEPT, LEAST_POINTS, LEAST_TRIALS, MOST_ROUNDS = 3, 2000, 3, 4
_PASSES = 2  # over what only prediction uses: the choice of one setting may change that of another


@dataclass(frozen=True)
class Trial:
    """Settings that were tried, on how many points, and how good they were."""

    settings: dict[str, Any]  # those that were to be chosen
    points: int  # trained on
    metrics: dict[str, float] = field(default_factory=dict)  # P@1, P@3, P@5 in percent; none where training failed
    seconds: float = 0.0  # of training
    error: str = ""  # why it failed

    @property
    def score(self) -> float:
        """The mean of P@1, P@3 and P@5; less than any where training failed."""
        return float(np.mean(list(self.metrics.values()))) if self.metrics else -1.0


@dataclass(frozen=True)
class Tuned:
    """What was chosen, and all that was tried."""

    method: str
    settings: dict[str, Any]  # the best, and what was fixed: a preset
    best: Trial
    trials: list[Trial]  # in the order in which they were made
    held_out: int  # points that judged


def tune(
    X: Any,
    Y: Any,
    method: str = "x1",
    *,
    fixed: Mapping[str, Any] | None = None,
    tried: Mapping[str, Sequence[Any]] | None = None,
    random_state: int = 0,
    n_jobs: int | None = -1,
    max_memory: int | str | None = None,
    progress: Progress | None = None,
) -> Tuned:
    """Return the settings of a method that are best on a part of these points, feature rows (n, d) and labels (n, L).

    `fixed` settings are not tried, and `tried` gives the values of others in place of the method's own grid, or beside
    it. The random state draws the held-out part, and is that of every training.
    """
    chosen, progress = comparators.get(method), progress or Progress()
    X, Y = check_training(X, Y, "tune")
    if X.shape[0] < FEWEST:
        raise DataError(f"there are {X.shape[0]} points, too few to choose settings on: at least {FEWEST} are needed")
    fixed = check_settings(dict(fixed or {}), chosen.parameters, method)
    choices = _choices(chosen, int(X.shape[0]), fixed, tried or {})
    machine = {"n_jobs": n_jobs, "max_memory": max_memory}
    always = {"random_state": random_state, **machine, **fixed}
    order = np.random.default_rng(random_state).permutation(X.shape[0])
    held = np.sort(order[: min(MOST, int(PART * len(order)))])
    rest = order[len(held) :]  # at random: the first few are a fair part of all
    alive, trials = every(choices.training), []
    sizes = rounds(len(rest), len(alive))
    total = sum(math.ceil(len(alive) / KEPT**number) for number in range(len(sizes)))
    with progress.start(total, f"trying settings of {chosen.title}"):
        for size in sizes:
            train = np.sort(rest[:size])
            parts = (X[train], Y[train], X[held], Y[held])
            made = []
            for settings in alive:
                made.append(attempt(chosen, settings, choices.prediction, always, parts))
                best = max(made, key=lambda trial: trial.score)
                progress.advance(1, f"{size:,} points, {best.score:.2f} at best")
            trials += made
            ranked = sorted(made, key=lambda trial: -trial.score)  # stable: the likeliest first among equals
            if ranked[0].error:
                raise ParameterError(f"no settings of {method} could be trained: {ranked[0].error}")
            going_on = ranked[: math.ceil(len(alive) / KEPT)]
            alive = [{name: trial.settings[name] for name in choices.training} for trial in going_on]
    preset = {name: value for name, value in {**fixed, **ranked[0].settings}.items() if name not in MACHINE}
    return Tuned(method, preset, ranked[0], trials, len(held))


def rounds(points: int, combinations: int) -> list[int]:
    """Return the points that each round trains on, from few to all."""
    sizes = [points]
    while (
        len(sizes) < MOST_ROUNDS
        and sizes[0] // KEPT >= LEAST_POINTS
        and math.ceil(combinations / KEPT ** len(sizes)) >= LEAST_TRIALS
    ):
        sizes.insert(0, sizes[0] // KEPT)
    return sizes


def every(choices: Choices) -> list[dict[str, Any]]:
    """Return each combination of values, that of the first ones first."""
    return [dict(zip(choices, values, strict=True)) for values in itertools.product(*choices.values())]


def attempt(
    method: Method,
    settings: dict[str, Any],
    prediction: Choices,
    always: Mapping[str, Any],
    parts: tuple[Any, Any, Any, Any],
) -> Trial:
    """Return how good settings are once trained, what only prediction uses chosen by the points held out.

    `parts` are the rows and labels to learn from and those to judge by.
    """
    X, Y, X_held, Y_held = parts
    start = {name: values[0] for name, values in prediction.items()}
    largest = {name: max(values) for name, values in prediction.items() if name == "feature_share"}  # or none are kept
    begun = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of odd settings: how good they are is what is asked here
            classifier = method.classifier()(**{**always, **settings, **start, **largest}).fit(X, Y)
        seconds = time.perf_counter() - begun
        found: dict[tuple[Any, ...], dict[str, float]] = {}

        def judged(changes: dict[str, Any]) -> float:
            key = tuple(changes.values())
            if key not in found:
                labels, _ = classifier.set_params(**changes).predict_topk(X_held, KS[-1])
                measured = evaluate(labels, Y_held, ks=KS)
                found[key] = {f"P@{k}": measured[f"P@{k}"] for k in KS}
            return float(np.mean(list(found[key].values())))

        best = start
        for _ in range(_PASSES):
            for name, values in prediction.items():
                best = _better(best, name, values, judged)
        judged(best)
    except (NeartagError, MemoryError) as error:
        reason = str(error) or "there was not enough memory"
        return Trial({**settings, **start}, int(X.shape[0]), seconds=time.perf_counter() - begun, error=reason)
    return Trial({**settings, **best}, int(X.shape[0]), found[tuple(best.values())], seconds)


def _better(best: dict[str, Any], name: str, values: list[Any], judged: Callable[[dict[str, Any]], float]) -> dict:
    """Return the settings with the best value of one of them; of numbers, the best on the way up or down from it."""
    if any(isinstance(value, str | bool) for value in values):
        return max([best, *({**best, name: value} for value in values)], key=judged)
    order = sorted(values)
    for step in (1, -1):
        place = order.index(best[name])
        while 0 <= place + step < len(order) and judged(other := {**best, name: order[place + step]}) > judged(best):
            best, place = other, place + step
    return best


def _choices(method: Method, points: int, fixed: Mapping[str, Any], tried: Mapping[str, Sequence[Any]]) -> Grid:
    """Return what is to be tried: the method's grid without what is fixed, with the values given for it."""
    usual = grid(method.name, points)
    merged: dict[str, list[Any]] = {**usual.training, **usual.prediction}
    for name, values in tried.items():
        if name in fixed:
            raise ParameterError(f"{name} is both fixed and to be tried: leave one of the two out")
        if not values:
            raise ParameterError(f"{name} is to be tried, but no value of it was given")
        merged[name] = list(
            dict.fromkeys(check_settings({name: value}, method.parameters, method.name)[name] for value in values)
        )
    later = _prediction(method)
    left = {name: values for name, values in merged.items() if name not in fixed}
    if not left:
        raise ParameterError("every setting is fixed: there is nothing to choose")
    return Grid(
        {name: values for name, values in left.items() if name not in later},
        {name: values for name, values in left.items() if name in later},
    )


def _prediction(method: Method) -> tuple[str, ...]:
    """Return the settings that may be changed after training."""
    if method.name == "x1":
        from neartag.x1.classifier import PREDICTION

        return PREDICTION
    return tuple(method.classifier().prediction)

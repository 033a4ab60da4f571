"""How a peer's settings are chosen: one after the other, each with the best of those before, within a time.

The default is tried first. Then come the values of the first axis (mostly the cost), each as a change of the default;
those of the second as changes of the best so far, and so on. A trial begins only if it is predicted to end in time.
What prediction alone uses needs no training, and costs none of the time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

Settings = dict[str, Any]
TIMES = 10  # the trainings that choose may take so many times the training with the defaults
MULTIPLIERS = ("n_trees", "ensemble")  # settings that multiply the time of training


@dataclass(frozen=True)
class Trial:
    """Settings that were trained, how long that took, and the best that prediction made of them."""

    settings: Settings
    seconds: float
    figures: dict[str, float] = field(default_factory=dict)  # P@1, P@3, P@5 on the held-out points; none if it failed
    prediction: Settings = field(default_factory=dict)
    failed: str = ""

    @property
    def score(self) -> float:
        """The mean of the figures, as `neartag tune` judges; less than any where training failed."""
        return sum(self.figures.values()) / len(self.figures) if self.figures else -math.inf


@dataclass(frozen=True)
class Choice:
    """The best of all trials, and what there was no time for."""

    best: Trial
    tried: list[Trial]
    skipped: list[Settings]

    @property
    def used(self) -> float:
        """Seconds of all trainings."""
        return sum(trial.seconds for trial in self.tried)


def choose(
    default: Settings, axes: Sequence[Sequence[Settings]], attempt: Callable[[Settings], Trial], limit: float
) -> Choice:
    """Return the settings with the best score; among equals those that were tried first."""
    best = attempt(default)
    if best.failed:
        raise RuntimeError(best.failed)
    choice = Choice(best, [best], [])
    for axis in axes:
        base = choice.best
        for change in axis:
            settings = {**base.settings, **change}
            if any(settings == trial.settings for trial in choice.tried):
                continue
            if choice.used + predict_seconds(base, settings, default) > limit:
                choice.skipped.append(settings)
                continue
            trial = attempt(settings)
            best = trial if trial.score > choice.best.score else choice.best
            choice = Choice(best, [*choice.tried, trial], choice.skipped)
    return choice


def predict_seconds(base: Trial, settings: Settings, default: Settings) -> float:
    """Return how long a training will take: as the one that it changes, more with more trees."""
    ratio = 1.0
    for name in MULTIPLIERS:
        if name in settings:
            before = base.settings.get(name, default.get(name, 1))
            ratio *= settings[name] / before
    return base.seconds * ratio

"""Successive halving: many settings on few points, the best third on three times as many, the last on all.

The default settings are trained first in every round, so that the choice can be compared with them on the same points.
With a time budget, a round ends when its share of the time is used, and rounds that would take too long are left out.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from neartag.core.errors import DataError, ParameterError
from neartag.core.method import Method
from neartag.core.progress import Progress
from neartag.methods.points import Points
from neartag.methods.search_space import FEATURES, Candidate, Search
from neartag.methods.time_budget import MARGIN, TimeBudget, growth
from neartag.methods.trial import Trial, run_trial
from neartag.methods.trial_log import TrialLog

# Of a round's combinations one in so many goes on, with so many times the points; no round has fewer points or
# combinations than these, and there are at most so many rounds.
KEPT_ONE_IN, MIN_ROUND_POINTS, MIN_ROUND_TRIALS, MAX_ROUNDS = 3, 2000, 3, 4
# A last round is left out unless the default and one other, predicted, take at most this share of the time left. The
# rest is for the rounds before it: with a larger share these try less, with a smaller one a last round is seldom made.
# A guess.
LAST_ROUND_SHARE = 0.6
# The choice of features that is the default may take this share of the time. It spares a choice in each round; what is
# left is for the trials. A guess.
FEATURES_SHARE = 0.2
# Points of a training before all others: the first one of a process also compiles or loads kernels.
WARM_UP_POINTS = 300


@dataclass
class TrialRunner:
    """Makes the trials of a search, or takes those that are finished from the log."""

    method: Method
    points: Points
    always: Mapping[str, Any]  # settings that every trial has
    rest: np.ndarray  # rows to learn from, in random order
    held: np.ndarray  # rows that judge
    budget: TimeBudget
    log: TrialLog
    trials: list[Trial] = field(default_factory=list)  # in the order in which they were made
    _made: dict[str, Trial] = field(default_factory=dict)  # by what they really trained

    def run(self, candidate: Candidate, size: int, *, default: bool = False) -> Trial:
        """Return the trial of a candidate that learns from the first so many rows."""
        key = json.dumps([size, candidate.key, default])
        trial = self.log.get(key)
        if trial is None:
            begun = self.budget.used
            trial = self._train(candidate, np.sort(self.rest[:size]))
            trial = replace(trial, default=default, total_seconds=max(trial.total_seconds, self.budget.used - begun))
            self.log.add(key, trial)
        self.budget.note(candidate.key, size, trial.total_seconds)
        self.trials.append(trial)
        return trial

    def warm_up(self, candidate: Candidate) -> None:
        """Train on a few points, and again to measure it."""
        train = np.sort(self.rest[:WARM_UP_POINTS])
        for _ in range(2):
            begun = self.budget.used
            self._train(candidate, train)
            self._made.clear()
        self.budget.note(candidate.key, len(train), self.budget.used - begun)

    def _train(self, candidate: Candidate, train: np.ndarray) -> Trial:
        settings = candidate.settings
        features = settings.get(FEATURES, self.points.default_features)
        try:
            resolved = self.points.resolve_features(train, features)
            if FEATURES in settings:
                settings = {**settings, FEATURES: resolved}
            key = json.dumps([len(train), replace(candidate, settings=settings).key])
            if key not in self._made:
                begun = self.budget.used
                split = self.points.split(train, self.held, resolved)
                trial = run_trial(self.method, candidate, self.always, split)
                self._made[key] = replace(trial, total_seconds=self.budget.used - begun)
        except DataError as error:  # such as a kind of features that leaves no term
            return Trial(candidate.settings, len(train), error=str(error))
        made = self._made[key]
        return replace(made, settings={**made.settings, **candidate.settings})


def run_rounds(
    runner: TrialRunner, search: Search, candidates: Sequence[Candidate], sizes: Sequence[int], progress: Progress
) -> None:
    """Make the trials of all rounds; they stand in the runner.

    ParameterError where no settings can be trained.
    """
    budget, alive = runner.budget, list(candidates)
    total = sum(math.ceil(len(alive) / KEPT_ONE_IN**number) + 1 for number in range(len(sizes)))
    with progress.start(total if budget.limit is None else None, f"trying settings of {runner.method.title}"):
        left, first = list(sizes), True
        while left:
            left = _affordable(left, budget, search.default.key)
            if not left and not first:
                break
            if not left:  # there must be something to return, but so few points choose nothing
                left, alive = [min(WARM_UP_POINTS, sizes[0])], []
            size = left.pop(0)
            made = [(search.default, runner.run(search.default, size, default=True))]
            until = _round_end(budget, search.default.key, left)  # now: its time tells that of later rounds
            _tell(progress, made)
            for candidate in alive:
                if budget.used + budget.predict(candidate.key, size) <= until:
                    made.append((candidate, runner.run(candidate, size)))
                    _tell(progress, made)
            joined = _join(search, made) if first else None
            if joined is not None and not left and budget.used + budget.predict(joined.key, size) <= until:
                made.append((joined, runner.run(joined, size)))
            if all(trial.error for _, trial in made):
                raise ParameterError(f"no settings of {runner.method.name} could be trained: {made[0][1].error}")
            ranked = sorted(made[1:], key=lambda pair: -pair[1].score)  # stable: the likeliest first among equals
            going_on = [candidate for candidate, _ in ranked]
            alive = [*([] if joined is None else [joined]), *going_on][: math.ceil(len(going_on) / KEPT_ONE_IN)]
            first = False


def settle_features(runner: TrialRunner, first_size: int) -> str | None:
    """Return the kind of features that the default chooses by itself with all rows to learn from, for all rounds.

    None, and each round chooses, where that would take too much of the time. The clock decides that, and candidates
    depend on it: a search that goes on must not decide otherwise, so the log keeps it.
    """
    points, log = runner.points, runner.log
    if points.default_features is None:
        return None
    if not log.features_known:
        log.keep_features(_choose_features(runner, first_size))
    if log.features is not None:
        points.settle_features(log.features)
    return log.features


def _choose_features(runner: TrialRunner, first_size: int) -> str | None:
    """Return what the default chooses with all rows; None where, as the first round's tells, that takes too long."""
    budget, points, rest = runner.budget, runner.points, runner.rest
    if budget.limit is not None:
        before = budget.used
        points.resolve_features(np.sort(rest[:first_size]), points.default_features)
        expected = MARGIN * (budget.used - before) * growth(first_size, len(rest))
        if expected > FEATURES_SHARE * budget.left:
            return None
    return points.resolve_features(np.sort(rest), points.default_features)


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


def choose_best(trials: Sequence[Trial]) -> tuple[Trial, Trial | None]:
    """Return the best trial, and that of the default settings with the same points; None where these failed.

    The largest number of points counts with which the default and others were trained.
    """
    fine = [trial for trial in trials if not trial.error]
    sizes = sorted({trial.points for trial in fine}, reverse=True)
    compared: list[list[Trial]] = []
    for size in sizes:
        same = [trial for trial in fine if trial.points == size]
        if any(trial.default for trial in same):
            compared.append(same)
    if not compared:
        return max((trial for trial in fine if trial.points == sizes[0]), key=lambda trial: trial.score), None
    several = [same for same in compared if len(same) > 1] or compared
    default = next(trial for trial in several[0] if trial.default)
    return max([default, *several[0]], key=lambda trial: trial.score), default  # among equals the default


def _affordable(sizes: list[int], budget: TimeBudget, default: str) -> list[int]:
    """Return the sizes of rounds without the last ones, where these would take too long; none where no time is left."""
    sizes = list(sizes)
    while len(sizes) > 1 and 2 * budget.predict(default, sizes[-1]) > LAST_ROUND_SHARE * budget.left:
        sizes.pop()
    return sizes if budget.predict(default, sizes[0]) <= budget.left else []


def _round_end(budget: TimeBudget, default: str, later: Sequence[int]) -> float:
    """Return by when a round ends: rounds cost the same, and the default will be trained in each later one."""
    if not later:
        return budget.used + budget.left
    reserved = sum(budget.predict(default, size) for size in later)
    return budget.used + max(0.0, budget.left - reserved) / (len(later) + 1)


def _join(search: Search, made: Sequence[tuple[Candidate, Trial]]) -> Candidate | None:
    """Return the changes that were better, together; None where that was tried, or there are not several."""
    scores = {candidate.key: trial.score for candidate, trial in made}
    joined = search.join_gains(scores)
    return None if joined is None or joined.key in scores else joined


def _tell(progress: Progress, made: Sequence[tuple[Candidate, Trial]]) -> None:
    trial = made[-1][1]
    best = max(trial.score for _, trial in made)
    progress.advance(1, f"{trial.points:,} points, {best:.2f} at best, {made[0][1].score:.2f} by default")

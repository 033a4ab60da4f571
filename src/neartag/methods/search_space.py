"""What a search tries: the method's own spaces, without what is fixed, and with the values that a person gives.

A space whose combinations are few is tried whole. Of a larger one the search tries the first values, each change of one
setting, and then combinations drawn at random.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from neartag.core.errors import ParameterError
from neartag.core.method import Choices, Method, SearchSpace, Settings
from neartag.core.parameters import check_settings, defaults

# From so many points on, what a method has for many points is tried too.
MANY_POINTS = 20_000
# Combinations that are tried at most, unless there is a time budget.
MAX_COMBINATIONS = 36
FEATURES = "features"  # the kind of features of texts stands among the settings that are tried


class Grid(NamedTuple):
    """Values to be tried, by parameter."""

    training: Choices  # each needs the method to be trained again
    prediction: Choices  # used by prediction only
    when: Settings  # what holds for all of them
    train_at_largest: tuple[str, ...]


@dataclass(frozen=True)
class Candidate:
    """Settings to be trained, and what is then chosen by predicting."""

    settings: Settings
    prediction: Choices = field(default_factory=dict)
    train_at_largest: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """A text that is the same for the same candidate."""
        return json.dumps([self.settings, self.prediction], sort_keys=True)


@dataclass(frozen=True)
class Search:
    """All that is tried of a method."""

    default: Candidate  # the settings that a person gets who sets nothing but what is fixed
    grids: list[Grid]
    twin: Candidate | None = None  # the default with the kind of features that "auto" stands for

    def settle_features(self, features: str | None) -> Search:
        """Return the search with the kind of features that the default stands for in its place.

        The default itself keeps its own: who trains with it lets neartag choose again, on all texts.
        """
        own = self.default.settings.get(FEATURES)
        if own is None or features is None or features == own:
            return self
        grids = [
            grid._replace(
                training={
                    name: list(dict.fromkeys(features if value == own else value for value in values))
                    if name == FEATURES
                    else values
                    for name, values in grid.training.items()
                }
            )
            for grid in self.grids
        ]
        return Search(self.default, grids, Candidate({**self.default.settings, FEATURES: features}))

    def candidates(self, seed: int, limit: int = MAX_COMBINATIONS) -> list[Candidate]:
        """Return what is tried besides the default, the likeliest first, at most so many; a seed draws some of it."""
        made: dict[str, Candidate] = {}
        for candidate in self._all_candidates(seed, limit):
            made.setdefault(candidate.key, candidate)
            if len(made) > limit + 1:
                break
        made.pop(self.default.key, None)
        if self.twin is not None:
            made.pop(self.twin.key, None)
        return list(made.values())[:limit]

    def _all_candidates(self, seed: int, limit: int) -> Iterator[Candidate]:
        counts = [math.prod(len(values) for values in grid.training.values()) for grid in self.grids]
        if sum(counts) <= limit:
            for grid in self.grids:
                yield from (_candidate(grid, settings) for settings in combinations(grid.training))
            return
        yield from (_candidate(grid, _first(grid.training)) for grid in self.grids)
        yield from self._single_changes()
        rng = np.random.default_rng(seed)
        for _ in range(20 * limit):  # some are drawn twice
            grid = self.grids[int(rng.integers(len(self.grids)))]
            values = {name: tried[int(rng.integers(len(tried)))] for name, tried in grid.training.items()}
            yield _candidate(grid, values)

    def _single_changes(self) -> Iterator[Candidate]:
        """Yield the first values with one of them changed: first the second value of each setting, then the third."""
        longest = max((len(values) for grid in self.grids for values in grid.training.values()), default=0)
        for place in range(1, longest):
            for grid in self.grids:
                for name, values in grid.training.items():
                    if place < len(values):
                        yield _candidate(grid, {**_first(grid.training), name: values[place]})

    def join_gains(self, scores: Mapping[str, float]) -> Candidate | None:
        """Return the candidate with every single change that was better than the first values alone.

        `scores` are those of trials, by the candidate's key. None where fewer than two changes were better.
        """
        best: tuple[float, Candidate] | None = None
        if self.twin is not None and self.default.key in scores:
            scores = {**scores, self.twin.key: scores[self.default.key]}
        for grid in self.grids:
            first = _first(grid.training)
            base = scores.get(_candidate(grid, first).key)
            if base is None:
                continue
            changes = {}
            for name, values in grid.training.items():
                tried = {value: scores.get(_candidate(grid, {**first, name: value}).key, -1.0) for value in values}
                value = max(tried, key=lambda value: tried[value])
                if tried[value] > base:
                    changes[name] = value
            if len(changes) >= 2 and (best is None or base > best[0]):
                best = base, _candidate(grid, {**first, **changes})
        return None if best is None else best[1]

    def describe(self) -> list[Any]:
        """Return what is tried, fit for JSON: two searches that differ in it differ here."""
        return [self.default.settings, [[grid.when, grid.training, grid.prediction] for grid in self.grids]]


def plan_search(
    method: Method,
    points: int,
    fixed: Mapping[str, Any],
    tried: Mapping[str, Sequence[Any]],
    features: Sequence[str] = (),
    default_features: str | None = None,
) -> Search:
    """Return what is to be tried: the method's spaces without what is fixed, with the values given for it.

    `features` are the kinds of features of texts that are tried; none where there are no texts. ParameterError where a
    setting is both fixed and to be tried, a value cannot be used, or nothing is left to choose.
    """
    given = _check_tried(method, fixed, tried)
    of_texts = {FEATURES: list(features)} if set(features) - {default_features} else {}
    spaces = (method.search_space, *method.search_space.others)
    grids = [
        _make_grid(method, space, points, fixed, given, of_texts)
        for space in spaces
        if all(_allows(name, value, fixed, given) for name, value in space.when.items())
    ]
    if not any(grid.training or grid.prediction for grid in grids) and len(grids) < 2:
        if fixed and any(space.training or space.prediction for space in spaces):
            raise ParameterError("every setting is fixed: there is nothing to choose")
        raise ParameterError(f"{method.name} has no search space, so there is nothing to choose: name values to try")
    usual = {**defaults(method.parameters), FEATURES: default_features}
    names = [*grids[0].when, *grids[0].training, *grids[0].prediction]
    return Search(Candidate({name: usual[name] for name in names}), grids)


def _check_tried(method: Method, fixed: Mapping[str, Any], tried: Mapping[str, Sequence[Any]]) -> Choices:
    """Return the values given for parameters, checked, by the names that the parameters have now."""
    choices: Choices = {}
    for name, values in tried.items():
        if not values:
            raise ParameterError(f"{name} is to be tried, but no value of it was given")
        checked = [check_settings({name: value}, method.parameters, method.name) for value in values]
        (own,) = checked[0]
        if own in fixed:
            raise ParameterError(f"{own} is both fixed and to be tried: leave one of the two out")
        choices[own] = list(dict.fromkeys(each[own] for each in checked))
    return choices


def _allows(name: str, value: Any, fixed: Mapping[str, Any], given: Choices) -> bool:
    """Return whether a setting may have this value."""
    return bool(fixed[name] == value) if name in fixed else name not in given or value in given[name]


def _make_grid(
    method: Method, space: SearchSpace, points: int, fixed: Mapping[str, Any], given: Choices, of_texts: Choices
) -> Grid:
    usual = space_grid(space, points)
    choices: Choices = {**of_texts, **usual.training, **usual.prediction}
    choices |= {name: values for name, values in given.items() if name not in space.unused}
    left = {name: values for name, values in choices.items() if name not in fixed and name not in space.when}
    later = () if space.retrains else method.prediction
    return Grid(
        {name: values for name, values in left.items() if name not in later},
        {name: values for name, values in left.items() if name in later},
        {name: value for name, value in space.when.items() if name not in fixed},
        space.train_at_largest,
    )


def space_grid(space: SearchSpace, points: int) -> Grid:
    """Return what is tried of a space on so many points; the dictionaries are the caller's own."""
    more = space.many_points if points >= MANY_POINTS else {}
    return Grid({**space.training, **more}, dict(space.prediction), dict(space.when), space.train_at_largest)


def combinations(choices: Choices) -> list[Settings]:
    """Return each combination of values, that of the first ones first."""
    return [dict(zip(choices, values, strict=True)) for values in itertools.product(*choices.values())]


def _first(choices: Choices) -> Settings:
    return {name: values[0] for name, values in choices.items()}


def _candidate(grid: Grid, settings: Settings) -> Candidate:
    return Candidate({**grid.when, **settings}, grid.prediction, grid.train_at_largest)

"""What a search tries: the method's own grid, without what is fixed, and with the values that a person gives."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from neartag.core.errors import ParameterError
from neartag.core.method import Choices, Method, Settings
from neartag.core.parameters import check_settings

# From so many points on, what a method has for many points is tried too.
MANY_POINTS = 20_000


class Grid(NamedTuple):
    """Values to be tried, by parameter."""

    training: Choices  # each needs the method to be trained again
    prediction: Choices  # used by prediction only


def default_grid(method: Method, points: int) -> Grid:
    """Return what is tried of a method on so many points; the dictionaries are the caller's own."""
    space = method.search_space
    more = space.many_points if points >= MANY_POINTS else {}
    return Grid({**space.training, **more}, dict(space.prediction))


def choose_grid(method: Method, points: int, fixed: Mapping[str, Any], tried: Mapping[str, Sequence[Any]]) -> Grid:
    """Return what is to be tried: the method's grid without what is fixed, with the values given for it.

    ParameterError where a setting is both fixed and to be tried, a value cannot be used, or nothing is left to choose.
    """
    usual = default_grid(method, points)
    choices: Choices = {**usual.training, **usual.prediction}
    for name, values in tried.items():
        if not values:
            raise ParameterError(f"{name} is to be tried, but no value of it was given")
        checked = [check_settings({name: value}, method.parameters, method.name) for value in values]
        (own,) = checked[0]  # the name that the parameter has now
        if own in fixed:
            raise ParameterError(f"{own} is both fixed and to be tried: leave one of the two out")
        choices[own] = list(dict.fromkeys(each[own] for each in checked))
    if not choices:
        raise ParameterError(f"{method.name} has no search space, so there is nothing to choose: name values to try")
    left = {name: values for name, values in choices.items() if name not in fixed}
    if not left:
        raise ParameterError("every setting is fixed: there is nothing to choose")
    return Grid(
        {name: values for name, values in left.items() if name not in method.prediction},
        {name: values for name, values in left.items() if name in method.prediction},
    )


def combinations(choices: Choices) -> list[Settings]:
    """Return each combination of values, that of the first ones first."""
    return [dict(zip(choices, values, strict=True)) for values in itertools.product(*choices.values())]

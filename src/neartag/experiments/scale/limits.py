"""The limits of a training, how far a method went within them, and what the next fraction would take."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from neartag.experiments.results import Results


class Limits(NamedTuple):
    """What a training may take, and on which fractions of a shape it is tried, the smallest first."""

    minutes: float
    gigabytes: float
    fractions: tuple[int, ...]  # 1/fraction of the points, features and labels


LIMITS = Limits(30, 20, (100, 30, 10, 3, 1))
QUICK_LIMITS = Limits(0.5, 4, (200,))
BEYOND = 1.25  # times the limit: what a rate of growth tells is not exact


def name_fraction(fraction: int) -> str:
    """Return a fraction for people."""
    return "whole" if fraction == 1 else f"1/{fraction}"


class Reach(NamedTuple):
    """The largest fraction of a shape that a method finished."""

    measured: dict[str, Any]
    ended: str  # what ended the next one; "" if none was tried

    @property
    def fraction(self) -> int:
        """1/fraction of the shape."""
        return int(self.measured["fraction"])

    @property
    def name(self) -> str:
        """The fraction, for people."""
        return name_fraction(self.fraction)

    @property
    def at_limit(self) -> bool:
        """Whether it is the whole shape, or a limit ended the next fraction."""
        return self.fraction == 1 or bool(self.ended)


def find_reach(own: Results) -> Reach | None:
    """Return how far a method went; all results are of one shape and method; None if it finished no fraction."""
    finished = [each for each in own.values() if "train_seconds" in each]
    if not finished:
        return None
    ended = next((str(each["ended"]) for each in own.values() if "ended" in each), "")
    return Reach(min(finished, key=lambda each: int(each["fraction"])), ended)


def too_slow_to_try(before: Sequence[Mapping[str, Any]], fraction: int, limits: Limits) -> str:
    """Say why a larger fraction is not tried, from those before it, the largest first; "" to try it.

    No method's time grows more slowly than its points. Where it grew faster from the second to the first of them, and
    would at that rate be clearly beyond the limit, that is a reason too.
    """
    times = [each["train_seconds"] / 60 for each in before]
    sizes = [1 / each["fraction"] for each in before]
    expected = times[0] / fraction / sizes[0]
    took = f"1/{before[0]['fraction']} took {times[0]:.1f} min"
    if expected > limits.minutes:
        return f"{name_fraction(fraction)}: not tried, {took}, so that at least {expected:.0f} min are to be expected"
    if len(before) > 1:
        rate = math.log(times[0] / times[1]) / math.log(sizes[0] / sizes[1])  # time ∝ size^rate
        expected = times[0] * (1 / fraction / sizes[0]) ** rate
        if expected > BEYOND * limits.minutes:
            took += f" and 1/{before[1]['fraction']} {times[1]:.1f}"
            return f"{name_fraction(fraction)}: not tried, {took}, at which rate {expected:.0f} min are to be expected"
    return ""

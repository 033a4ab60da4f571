"""Parameters as data: what each may be, for estimators, the command line and stored models alike."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from neartag.core.errors import ParameterError

# This module must stay light: the command line reads it for --help, long before numpy is wanted.
LARGEST_PENALTY = 1e12  # its square is still far from what float32 cannot hold
LARGEST_COUNT = 2**31 - 1  # row numbers are kept as int32
# What trains a model, but is no property of the model.
MACHINE = ("n_jobs", "max_memory")


def parse_bytes(given: object) -> int:
    """Return the bytes meant by a whole number, or by words such as "4GB" or "500 MB"."""
    if isinstance(given, numbers.Integral) and not isinstance(given, bool) and int(given) > 0:
        return int(given)
    if isinstance(given, str):
        words = given.strip().upper().removesuffix("B").removesuffix("I").strip()
        power = {"K": 10, "M": 20, "G": 30, "T": 40}.get(words[-1:], 0)
        try:
            count = float(words[:-1] if power else words)
        except ValueError:
            count = 0.0
        if 0 < count < 1e15:
            return int(count * 2**power)
    raise ParameterError(f"{given!r} is no number of bytes, and no size such as '4GB' or '500MB'")


@dataclass(frozen=True)
class Parameter:
    """One parameter: what it may be, what it is unless told otherwise, and what the paper calls it."""

    name: str
    kind: type  # int, float, str, bool, or bytes: a size in bytes
    default: Any
    help: str
    low: float = -math.inf
    high: float = math.inf
    choices: tuple[str, ...] = ()  # allowed words; beside a number, words allowed in its place
    optional: bool = False  # None allowed

    def check(self, value: object) -> None:
        """Raise ParameterError naming the parameter and the value unless the value may be used."""
        if (self.optional and value is None) or (isinstance(value, str) and value in self.choices):
            return
        if self.kind is bytes:
            try:
                parse_bytes(value)
            except ParameterError:
                raise ParameterError(f"{self.name} must be {self.describe()}, not {value!r}") from None
            return
        if self.kind is bool:
            if isinstance(value, bool):
                return
            raise ParameterError(f"{self.name} must be {self.describe()}, not {value!r}")
        wanted = numbers.Integral if self.kind is int else numbers.Real
        if self.kind is not str and isinstance(value, wanted) and not isinstance(value, bool):
            try:
                number = float(value)
            except OverflowError:
                number = math.inf
            if math.isfinite(number) and self.low <= number <= self.high:
                return
        raise ParameterError(f"{self.name} must be {self.describe()}, not {value!r}")

    def plain(self, value: Any) -> Any:
        """Return a checked value as Python's own: numpy's numbers and fractions are numbers too, but not for JSON."""
        if value is None:
            return None
        if self.kind is bytes:
            return parse_bytes(value)
        return str(value) if isinstance(value, str) else self.kind(value)

    def describe(self) -> str:
        """Say in words what the parameter may be."""
        words = [repr(choice) for choice in self.choices]
        if self.kind is bytes:
            words.insert(0, "a number of bytes or a size such as '4GB'")
        elif self.kind is bool:
            words.insert(0, "True or False")
        elif self.kind is not str:
            number = "a whole number" if self.kind is int else "a number"
            low, high = (f"{limit:.0f}" if self.kind is int else f"{limit:g}" for limit in (self.low, self.high))
            limits = f"from {low} to {high}" if math.isfinite(self.high) else f"of at least {low}"
            words.insert(0, f"{number} {limits}" if math.isfinite(self.low) else number)
        if self.optional:
            words.append("None")
        return " or ".join(words)


# What every method has.
THRESHOLD = Parameter("threshold", float, 0.5, "score from which `predict` gives a label", 0, 1)
RANDOM_STATE = Parameter(
    "random_state", int, 0, "seed; the same seed gives the same model", 0, 2**32 - 1, optional=True
)
N_JOBS = Parameter("n_jobs", int, -1, "cores used; -1: all", optional=True)


def defaults(table: Sequence[Parameter]) -> dict[str, Any]:
    """Return each parameter's default by its name."""
    return {parameter.name: parameter.default for parameter in table}


def checked(settings: dict[str, Any], table: Sequence[Parameter], owner: str) -> dict[str, Any]:
    """Return the settings as plain Python values; ParameterError for one that cannot be used or is not known."""
    by_name = {parameter.name: parameter for parameter in table}
    for name, value in settings.items():
        if name not in by_name:
            raise ParameterError(f"{owner} has no parameter {name!r}; it has {', '.join(by_name)}")
        by_name[name].check(value)
    return {name: by_name[name].plain(value) for name, value in settings.items()}

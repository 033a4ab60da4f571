"""Parameters as data: what each may be. Estimators, the command line and stored models use the same tables."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from neartag.core.errors import ParameterError

# This module must import quickly: the command line needs it for --help, where numpy is not needed.
MAX_PENALTY = 1e12  # float32 can hold its square
MAX_COUNT = 2**31 - 1  # row numbers and ids, and so the number of them, are stored as int32
# Parameters of the machine that trains. They are no property of the model, and are not stored with it.
MACHINE = ("n_jobs", "max_memory")
# How much a neighbour's vote may weigh, whichever method votes.
VOTE_WEIGHTS = ("similarity", "uniform")


def parse_bytes(given: object) -> int:
    """Return a number of bytes, given as a whole number or as words such as "4GB" or "500 MB".

    Parameters
    ----------
    given : int or str
        The number, or a number with a unit: K, M, G or T, each 1024 times the one before, with or without "B".

    Returns
    -------
    int
        Bytes.

    Raises
    ------
    ParameterError
        If it is neither.

    Examples
    --------
    >>> parse_bytes("4GB")
    4294967296
    >>> parse_bytes(500)
    500
    """
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


def _is_size(value: object) -> bool:
    try:
        return parse_bytes(value) > 0
    except ParameterError:
        return False


@dataclass(frozen=True)
class Parameter:
    """One parameter: what it may be, its default, and what it means."""

    name: str
    kind: type  # int, float, str, bool, or bytes, which stands for a size in bytes
    default: Any
    help: str
    low: float = -math.inf
    high: float = math.inf
    choices: tuple[str, ...] = ()  # words that are allowed, for a number in place of it
    optional: bool = False  # None is allowed
    aliases: tuple[str, ...] = ()  # earlier names, which are still read

    def check(self, value: object) -> None:
        """Raise ParameterError, with the parameter's name and the value, if the value is not allowed."""
        allowed = (self.optional and value is None) or (isinstance(value, str) and value in self.choices)
        if not allowed and not self._has_kind(value):
            raise ParameterError(f"{self.name} must be {self.describe()}, not {value!r}")

    def _has_kind(self, value: object) -> bool:
        """Say whether a value is of the parameter's kind and, if it is a number, within its limits."""
        if self.kind is bytes:
            return _is_size(value)
        if self.kind is bool or isinstance(value, bool):
            return self.kind is bool and isinstance(value, bool)
        wanted = numbers.Integral if self.kind is int else numbers.Real
        if self.kind is str or not isinstance(value, wanted):
            return False
        try:
            number = float(value)
        except OverflowError:
            return False
        return math.isfinite(number) and self.low <= number <= self.high

    def to_python(self, value: Any) -> Any:
        """Return a checked value as a plain Python value, which JSON can hold; numpy's numbers and fractions cannot."""
        if value is None:
            return None
        if self.kind is bytes:
            return parse_bytes(value)
        return str(value) if isinstance(value, str) else self.kind(value)

    def describe(self) -> str:
        """Return in words what the parameter may be."""
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


# Parameters that every method has.
THRESHOLD = Parameter("threshold", float, 0.5, "score from which `predict` gives a label", 0, 1)
RANDOM_STATE = Parameter(
    "random_state", int, 0, "seed; the same seed gives the same model", 0, 2**32 - 1, optional=True
)
N_JOBS = Parameter("n_jobs", int, -1, "cores used; -1: all", optional=True)


def defaults(table: Sequence[Parameter]) -> dict[str, Any]:
    """Return the defaults of a table, by the parameters' names."""
    return {parameter.name: parameter.default for parameter in table}


def by_every_name(table: Sequence[Parameter]) -> dict[str, Parameter]:
    """Return the parameters of a table by their names, the earlier ones included."""
    return {name: parameter for parameter in table for name in (parameter.name, *parameter.aliases)}


def check_settings(settings: dict[str, Any], table: Sequence[Parameter], owner: str) -> dict[str, Any]:
    """Return the settings as plain Python values, each by the name that its parameter has now.

    ParameterError for a value that is not allowed, an unknown name, or a parameter under two of its names.
    """
    by_name = by_every_name(table)
    checked: dict[str, Any] = {}
    for name, value in settings.items():
        if name not in by_name:
            known = ", ".join(parameter.name for parameter in table)
            raise ParameterError(f"{owner} has no parameter {name!r}; it has {known}")
        parameter = by_name[name]
        if parameter.name in checked:
            raise ParameterError(f"{parameter.name} is given under two names: leave {parameter.aliases[0]} out")
        parameter.check(value)
        checked[parameter.name] = parameter.to_python(value)
    return checked

"""What is to be measured: a plan of data sets and methods, and the cells that experiments make of it.

A cell is one measurement: an experiment, a data set, a method, a seed and options.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

QUICK = "quick"  # the option of a cell that is measured on a sample


@dataclass(frozen=True)
class Cell:
    """One measurement, with its own seed; equal cells are the same measurement."""

    experiment: str
    data: str
    method: str = ""
    seed: int = 0
    options: tuple[tuple[str, Any], ...] = ()  # names and JSON values, sorted by name

    def __post_init__(self) -> None:
        """Sort the options and make them hashable, so that equal cells are equal."""
        pairs = json.loads(json.dumps(sorted(self.options)))
        object.__setattr__(self, "options", tuple((name, _freeze(value)) for name, value in pairs))

    @property
    def settings(self) -> dict[str, Any]:
        """The options by name."""
        return dict(self.options)

    @property
    def quick(self) -> bool:
        """Whether it is measured on a sample."""
        return bool(self.settings.get(QUICK, False))

    def option(self, name: str, default: Any = None) -> Any:
        """Return an option's value."""
        return self.settings.get(name, default)

    def order(self) -> tuple[str, str, str, str, int]:
        """Return what cells are sorted by."""
        return self.experiment, self.data, self.method, json.dumps(self.settings), self.seed

    def as_json(self) -> dict[str, Any]:
        """Return the cell as `from_json` takes it; options are left out where there are none."""
        plain = {"experiment": self.experiment, "data": self.data, "method": self.method, "seed": self.seed}
        return {**plain, **({"options": self.settings} if self.options else {})}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Cell:
        """Return the cell that `as_json` described; other fields are passed over."""
        pairs = tuple(value.get("options", {}).items())
        return cls(value["experiment"], value["data"], value["method"], value["seed"], pairs)


@dataclass(frozen=True)
class Plan:
    """Which data sets, methods and seeds are wanted."""

    data: tuple[str, ...] = ("debian",)  # names in the registry; "debian" is the embedded corpus
    methods: tuple[str, ...] | None = None  # None: all methods of an experiment
    quick: bool = False  # samples of the data, few seeds
    jobs: int = -1
    seeds: int | None = None  # at most so many splits or runs; None: as many as the experiment asks for

    def wants(self, method: str) -> bool:
        """Return whether a method is wanted; a variant such as `fastxml-1` is wanted if its method is."""
        return self.methods is None or method in self.methods or method.split("-")[0] in self.methods

    def runs(self, wanted: int, quick: int = 2) -> range:
        """Return the seeds: `wanted` of them, or `quick` if samples are enough."""
        count = quick if self.quick else wanted
        return range(count if self.seeds is None else min(count, self.seeds))

    def cell(self, experiment: str, data: str, method: str = "", seed: int = 0, **options: Any) -> Cell:
        """Return a cell, marked as quick if the plan is."""
        return Cell(experiment, data, method, seed, tuple({**options, **({QUICK: True} if self.quick else {})}.items()))


def _freeze(value: Any) -> Any:
    """Return a JSON value as one that can be a key."""
    return tuple(map(_freeze, value)) if isinstance(value, list) else value

"""What tasks cost, learned from tasks that were measured: seconds, memory and bytes for one of each of their amounts.

An amount is anything that a task's cost grows with, and a cost is a sum of amounts, each times a rate that is not
negative: what is learned from small tasks holds for large ones as far as that is true.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

Amounts = dict[str, float]
COSTS = ("seconds", "peak", "written")
# A cost of a task so many times larger than any that was measured is a guess.
EXTRAPOLATION = 2.0
# Costs below this part of the largest count as if they were so large; and rounds until the weights have settled.
SMALLEST, ROUNDS = 1e-3, 10


@dataclass(frozen=True)
class Measured:
    """A task that was run: its kind, its amounts, and what it cost."""

    kind: str
    amounts: Amounts
    seconds: float
    peak: float | None = None  # bytes, beyond mapped files; None: nobody looked
    written: float | None = None


@dataclass
class Rates:
    """Costs by kind of task, cost and amount; and the largest amounts that were measured."""

    rates: dict[str, dict[str, Amounts]] = field(default_factory=dict)
    largest: dict[str, Amounts] = field(default_factory=dict)

    @classmethod
    def fit(cls, measured: Iterable[Measured]) -> Rates:
        """Return the rates that explain what was measured best."""
        groups: dict[str, list[Measured]] = defaultdict(list)
        for each in measured:
            groups[each.kind].append(each)
        rates: dict[str, dict[str, Amounts]] = {}
        largest: dict[str, Amounts] = {}
        for kind, tasks in sorted(groups.items()):
            names = sorted({name for task in tasks for name in task.amounts})
            amounts = np.array([[task.amounts.get(name, 0.0) for name in names] for task in tasks])  # (tasks, amounts)
            rates[kind] = {}
            for cost in COSTS:
                costs = np.array([getattr(task, cost) for task in tasks], np.float64)  # NaN: not measured
                known = ~np.isnan(costs)
                fitted = _fit(amounts[known], costs[known]) if known.any() else np.zeros(len(names))
                rates[kind][cost] = {name: float(rate) for name, rate in zip(names, fitted, strict=True) if rate > 0}
            largest[kind] = {name: float(most) for name, most in zip(names, amounts.max(axis=0), strict=True)}
        return cls(rates, largest)

    def cost(self, kind: str, amounts: Mapping[str, float], cost: str = "seconds") -> float:
        """Return what a task costs; KeyError for a kind that was never measured."""
        return sum(rate * amounts.get(name, 0.0) for name, rate in self.rates[kind][cost].items())

    def extrapolates(self, kind: str, amounts: Mapping[str, float]) -> float:
        """Return how many times more a task has than any that was measured, of the amount that costs it most time."""
        spent = {name: rate * amounts.get(name, 0.0) for name, rate in self.rates[kind]["seconds"].items()}
        if not spent:
            return 1.0
        name = max(spent, key=lambda each: spent[each])
        return max(1.0, amounts.get(name, 0.0) / (self.largest[kind].get(name) or 1.0))

    def to_json(self) -> dict[str, Any]:
        """Return what `from_json` takes."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Rates:
        """Return what `to_json` gave."""
        return cls(**value)


def _fit(amounts: np.ndarray, costs: np.ndarray) -> np.ndarray:
    """Return the rates (a,), none negative, of costs (t,) by amounts (t, a): least squares, small costs near too.

    An error counts in proportion to the root of the expected cost, as of things that are counted: so the sum of all
    costs is met, and the small ones are not lost beside the large ones.
    """
    from scipy.optimize import nnls

    scale = np.maximum(amounts.max(axis=0), 1e-300)
    scaled, floor = amounts / scale, SMALLEST * costs.max() + 1e-300
    expected = np.full(len(costs), costs.mean())
    for _ in range(ROUNDS):
        weights = 1 / np.sqrt(np.maximum(expected, floor))
        rates = nnls(weights[:, None] * scaled, weights * costs)[0]
        expected = scaled @ rates
    return rates / scale

"""Several draws of one way to learn A: losses, what the theorems allow them, and how fast they fall with n."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from neartag.experiments import bounds
from neartag.experiments.bounds import Conditions
from neartag.experiments.results import Results

# With fewer draws a regression over them would fit chance.
FEWEST_DRAWS = 5


class Draws:
    """What the draws of one way to learn A gave, at the sizes that all of them have."""

    def __init__(self, results: Results, method: str) -> None:
        self.method = method
        self.cells = list(results.select(method=method).values())
        common = set.intersection(*({row["n"] for row in cell["sizes"]} for cell in self.cells))
        self.sizes = sorted(common)
        self.penalty = float(self.cells[0]["penalty"])
        self.conditions = Conditions(self.cells[0]["largest"])
        self.rows = [{row["n"]: row for row in cell["sizes"]} for cell in self.cells]

    def values(self, of: Callable[[dict[str, Any], int], float]) -> np.ndarray:
        """Return a number of each draw at each size: (draws, sizes)."""
        return np.array([[of(rows[n], n) for n in self.sizes] for rows in self.rows])

    def loss(self, name: str) -> np.ndarray:
        """Return one of the losses (draws, sizes)."""
        return self.values(lambda row, n: row[name])

    @property
    def gap(self) -> np.ndarray:
        """L(Â) − L̂(Â; D)."""
        return self.loss("held_out") - self.loss("train")

    @property
    def steady_gap(self) -> np.ndarray:
        """The gap with that part taken out that A = 0 has too, by regression over the draws.

        L(0) − L̂(0; D) is 0 on average, so the gap's mean stays what it is; but much of what makes one draw's gap
        differ from another's, points with more labels among the drawn or the held-out, is in it.
        """
        gap = self.gap
        if len(gap) < FEWEST_DRAWS:
            return gap
        held = np.array([cell["empty_loss"] for cell in self.cells])[:, None]  # (draws, 1)
        chance = held - self.loss("empty_train")  # (draws, sizes)
        around = chance - chance.mean(axis=0)
        share = (around * gap).sum(axis=0) / np.maximum(np.square(around).sum(axis=0), np.finfo(float).tiny)
        return gap - share * chance

    def excess(self, name: str) -> np.ndarray:
        """Return by how much a loss of Â, λ Tr included, exceeds that of A*."""

        def whole(row: dict[str, Any]) -> float:
            return float(row[name]) + self.penalty * float(row["trace"])

        return self.values(lambda row, n: whole(row) - whole(row["reference"]))

    def gap_bound(self) -> np.ndarray:
        """Return what the lemma of uniform convergence allows the gap of a matrix of the measured norm."""
        return self.values(lambda row, n: bounds.uniform_for_any(self.conditions, row["norm"], n))

    def theorem(self, *, to_train: bool) -> np.ndarray:
        """Return what either theorem allows the excess, for a matrix of the measured norm and loss."""

        def bound(row: dict[str, Any], n: int) -> float:
            best = row["reference"]
            worse = row["train"] - best["train"] + self.penalty * (row["trace"] - best["trace"])
            known = bounds.excess_risk_for_any(self.conditions, row["norm"], best["norm"], n, to_train=to_train)
            return known + max(0.0, worse)

        return self.values(bound)

    def theorem_in_advance(self, *, to_train: bool) -> np.ndarray:
        """Return the same for the minimiser of eq. 3, r = B²/λ."""
        radius = bounds.capacity(self.conditions, self.penalty)
        bound = bounds.excess_risk_to_train if to_train else bounds.excess_risk
        return self.values(lambda row, n: bound(self.conditions, radius, row["reference"]["norm"], n))


def slope(sizes: Sequence[int], values: np.ndarray) -> tuple[float, float] | None:
    """Return the log-log slope of the mean over draws (draws, sizes), and its standard error by leaving one out.

    None where a mean is not positive, so that it has no logarithm.
    """

    def fitted(some: np.ndarray) -> float | None:
        mean = some.mean(axis=0)
        return None if len(sizes) < 2 or (mean <= 0).any() else float(np.polyfit(np.log(sizes), np.log(mean), 1)[0])

    whole = fitted(values)
    if whole is None:
        return None
    count = len(values)
    others = [fitted(np.delete(values, one, axis=0)) for one in range(count)] if count > 1 else []
    known = [each for each in others if each is not None]
    if len(known) < 2:
        return whole, float("nan")
    return whole, float(np.sqrt((count - 1) * statistics.pvariance(known)))

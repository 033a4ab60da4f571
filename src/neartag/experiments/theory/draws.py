"""Several draws of one way to learn A: losses, the bounds of the theorems, and how fast both fall with n."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from neartag.experiments.results import Results
from neartag.experiments.theory import bounds
from neartag.experiments.theory.bounds import Conditions

MIN_DRAWS_FOR_REGRESSION = 5  # with fewer, a regression over draws would fit chance


class Draws:
    """The results of all draws of one way to learn A, at the sizes that all of them have."""

    def __init__(self, results: Results, method: str) -> None:
        self.method = method
        self.cells = list(results.select(method=method).values())
        common = set.intersection(*({row["n"] for row in cell["sizes"]} for cell in self.cells))
        self.sizes = sorted(common)
        self.penalty = float(self.cells[0]["penalty"])
        self.conditions = Conditions(self.cells[0]["largest"])
        self.rows = [{row["n"]: row for row in cell["sizes"]} for cell in self.cells]

    def values(self, compute: Callable[[dict[str, Any], int], float]) -> np.ndarray:
        """Return a number for each draw and size: (draws, sizes)."""
        return np.array([[compute(rows[n], n) for n in self.sizes] for rows in self.rows])

    def loss(self, name: str) -> np.ndarray:
        """Return one of the losses: (draws, sizes)."""
        return self.values(lambda row, n: row[name])

    @property
    def gap(self) -> np.ndarray:
        """L(Â) − L̂(Â; D)."""
        return self.loss("held_out") - self.loss("train")

    @property
    def steady_gap(self) -> np.ndarray:
        """The gap without the part that A = 0 has too, by regression over the draws.

        L(0) − L̂(0; D) is 0 on average, so the mean of the gap does not change. But it has much of what makes the gaps
        of two draws differ: points with more labels among those drawn or held out.
        """
        gap = self.gap
        if len(gap) < MIN_DRAWS_FOR_REGRESSION:
            return gap
        held = np.array([cell["empty_loss"] for cell in self.cells])[:, None]  # (draws, 1)
        chance = held - self.loss("empty_train")  # (draws, sizes)
        centred = chance - chance.mean(axis=0)
        share = (centred * gap).sum(axis=0) / np.maximum(np.square(centred).sum(axis=0), np.finfo(float).tiny)
        return gap - share * chance

    def excess(self, name: str) -> np.ndarray:
        """Return by how much a loss of Â, with λ Tr, exceeds that of A*."""

        def whole(row: dict[str, Any]) -> float:
            return float(row[name]) + self.penalty * float(row["trace"])

        return self.values(lambda row, n: whole(row) - whole(row["reference"]))

    def gap_bound(self) -> np.ndarray:
        """Return the bound of the gap by the lemma of uniform convergence, for the measured norm."""
        return self.values(lambda row, n: bounds.uniform_bound_for_any(self.conditions, row["norm"], n))

    def excess_bound(self, *, to_train: bool) -> np.ndarray:
        """Return the bound of the excess by either theorem, for a matrix of the measured norm and loss."""

        def bound(row: dict[str, Any], n: int) -> float:
            best = row["reference"]
            worse = row["train"] - best["train"] + self.penalty * (row["trace"] - best["trace"])
            known = bounds.excess_risk_for_any(self.conditions, row["norm"], best["norm"], n, to_train=to_train)
            return known + max(0.0, worse)

        return self.values(bound)

    def excess_bound_in_advance(self, *, to_train: bool) -> np.ndarray:
        """Return the same bound for the minimiser of eq. 3, with r = B²/λ, which is known before learning."""
        radius = bounds.capacity(self.conditions, self.penalty)
        bound = bounds.excess_risk_to_train if to_train else bounds.excess_risk
        return self.values(lambda row, n: bound(self.conditions, radius, row["reference"]["norm"], n))


def slope(sizes: Sequence[int], values: np.ndarray) -> tuple[float, float] | None:
    """Return the log-log slope of the mean of (draws, sizes) over draws, and its standard error (jackknife).

    None if a mean is not positive, because it has no logarithm.
    """

    def fit(some: np.ndarray) -> float | None:
        mean = some.mean(axis=0)
        return None if len(sizes) < 2 or (mean <= 0).any() else float(np.polyfit(np.log(sizes), np.log(mean), 1)[0])

    whole = fit(values)
    if whole is None:
        return None
    count = len(values)
    others = [fit(np.delete(values, one, axis=0)) for one in range(count)] if count > 1 else []
    slopes = [one for one in others if one is not None]
    if len(slopes) < 2:
        return whole, float("nan")
    return whole, float(np.sqrt((count - 1) * statistics.pvariance(slopes)))

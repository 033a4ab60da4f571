"""Differences of two settings or methods over runs, each with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from scipy.stats import t as student

from neartag.experiments.results import Results, summarise

CONFIDENCE = 0.95


class Gain(NamedTuple):
    """A difference of two settings over splits, with its interval."""

    mean: float
    half: float | None  # half of the interval's length; None for one split
    splits: int

    def __str__(self) -> str:
        """Return it for people."""
        return f"{self.mean:+.2f}" + ("" if self.half is None else f" ± {self.half:.2f}")


def estimate_gain(differences: Sequence[float], test_per_train: float = 0.0) -> Gain:
    """Return the mean of differences over runs, with half of its 95% interval by Student's t.

    Random splits share points, so their differences are not independent. The variance of the mean is therefore taken
    as s²·(1/J + m/n) for J splits of n training and m test points (Nadeau and Bengio 2003). `test_per_train` is m/n;
    0 for runs on the same parts, of which only the seed of the training differs.
    """
    summary = summarise(differences)
    if summary.deviation is None:
        return Gain(summary.mean, None, 1)
    quantile = float(student.ppf((1 + CONFIDENCE) / 2, summary.runs - 1))
    half = quantile * summary.deviation * (1 / summary.runs + test_per_train) ** 0.5
    return Gain(summary.mean, half, summary.runs)


def lead_between(after: Results, before: Results, name: str, test_per_train: float = 0.0) -> Gain | None:
    """Return by how much one is ahead of the other over the seeds that both have; None if there is none."""
    theirs = {cell.seed: measured[name] for cell, measured in before.items()}
    differences = [measured[name] - theirs[cell.seed] for cell, measured in after.items() if cell.seed in theirs]
    return estimate_gain(differences, test_per_train) if differences else None

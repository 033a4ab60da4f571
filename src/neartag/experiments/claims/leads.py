"""By how much one method is ahead of another, run by run, and whether that is more than chance.

All differences have the interval of the ladder (`differences.estimate_gain`). The runs of some experiments are random
splits of a data set, which share points; those of the others are trainings with other seeds on the same parts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from neartag.experiments.differences import Gain, estimate_gain, lead_between
from neartag.experiments.printed import TABLE_4
from neartag.experiments.results import Results
from neartag.experiments.sizes import part_sizes

OF_SPLITS = ("table3", "sparsity")  # experiments whose runs are random splits
MIN_RUNS = 3  # two may be equally far apart by accident, which makes their interval too short


def method_lead(own: Results, one: str, other: str, name: str = "P@1", test_per_train: float = 0.0) -> Gain | None:
    """Return by how much a method is ahead of another; all results are of one experiment and data set."""
    return lead_between(own.select(method=one), own.select(method=other), name, test_per_train)


def ensemble_lead(own: Results, one: str, count: int, other: str, other_count: int, name: str = "P@1") -> Gain | None:
    """Return by how much an ensemble is ahead of another; all results are of one experiment and data set."""
    ours, theirs = _by_seed(own, one, count, name), _by_seed(own, other, other_count, name)
    differences = [ours[seed] - theirs[seed] for seed in ours if seed in theirs]
    return estimate_gain(differences) if differences else None


def _by_seed(own: Results, method: str, count: int, name: str) -> dict[int, float]:
    """Return a number of the ensemble of so many learners, by seed."""
    found = {}
    for cell, measured in own.select(method=method).items():
        by_count = dict(zip(measured.get("learners", TABLE_4), measured[name], strict=True))
        if count in by_count:
            found[cell.seed] = by_count[count]
    return found


def describe_lead(lead: Gain) -> str:
    """Return a difference for people, with its interval if there are runs enough for one to mean something."""
    number = str(lead) if lead.splits >= MIN_RUNS else f"{lead.mean:+.2f}"
    return f"{number} points ({lead.splits} run{'s' if lead.splits > 1 else ''})"


def is_ahead(lead: Gain, one_run: float = 0.0) -> bool | None:
    """Return whether a difference is positive; None if its interval includes zero.

    A single run has no interval: `one_run` stands for half of it. That of two runs is no shorter than that.
    """
    least = max(lead.half or 0.0, one_run) if lead.splits < MIN_RUNS else lead.half or 0.0
    if lead.mean == 0 or abs(lead.mean) <= least:
        return None
    return lead.mean > 0


def all_ahead(answers: Iterable[bool | None]) -> bool | None:
    """Return whether all are; None if some are too close and none is not."""
    given = list(answers)
    return False if False in given else None if None in given else True


def chance(level: float, points: float) -> float:
    """Return twice the standard error of a difference of two percentages near a level, each over so many points.

    It is that of two samples, more than of the same points twice: a larger difference is no chance. Of unknown points
    every difference may be.
    """
    share = min(max(level / 100, 0.0), 1.0)
    return 200 * (2 * share * (1 - share) / points) ** 0.5 if points else math.inf


def chance_on(results: Results, data: str, level: float) -> float:
    """Return how much two precisions near a level may differ by chance in one run on a set's test points."""
    return chance(level, part_sizes(results, data)[1])


def split_ratio(results: Results, experiment: str, data: str) -> float:
    """Return m/n of the random splits that an experiment's runs are; 0 if they are on the same parts, or not known."""
    train, test = part_sizes(results, data)
    return test / train if train and experiment in OF_SPLITS else 0.0

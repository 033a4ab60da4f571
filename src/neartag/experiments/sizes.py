"""How many points and labels a data set has: as counted for Table 2, else as the paper prints it."""

from __future__ import annotations

from neartag.data.registry.dataset_facts import Sizes
from neartag.experiments import datasets
from neartag.experiments.results import Results


def part_sizes(results: Results, data: str) -> tuple[int, int]:
    """Return a data set's training and test points; zeros if they are not known."""
    counted = next(iter(results.select("table2", data).values()), None)
    printed = _printed(data)
    train, test = (0, 0) if printed is None else (printed.train, printed.test)
    if counted is not None:
        train, test = int(counted["train"]), int(counted["test"])
    if results.plan.quick:
        return min(train, datasets.QUICK_TRAIN), min(test, datasets.QUICK_TEST)
    return train, test


def count_labels(results: Results, data: str) -> int:
    """Return a data set's labels; 0 if they are not known."""
    counted = next(iter(results.select("table2", data).values()), None)
    printed = _printed(data)
    return int(counted["labels"]) if counted is not None else printed.labels if printed is not None else 0


def _printed(data: str) -> Sizes | None:
    """Return what the paper prints of a set; None for one that only stands for a set of the paper's."""
    return None if data in datasets.SUBSTITUTES else datasets.printed_sizes(data)

"""What figures of clusters and ensembles share: how many clusters, and the smaller ensembles inside a trained one."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from neartag.comparators.fastxml.classifier import FastXMLModel
from neartag.experiments import datasets, methods
from neartag.experiments.datasets import Parts
from neartag.experiments.plan import Cell, Plan
from neartag.experiments.results import Summary

# With one cluster all learners are the same, and what is local is global: where the paper's rule gives fewer clusters,
# which on small sets it does, there are so many.
FEWEST_CLUSTERS = 5
CLUSTERS = f"{methods.PAPER_CLUSTERS}, at least {FEWEST_CLUSTERS}"  # in settings, before the points are known


def clusters_for(points: int) -> int:
    """Return how many clusters so many points are cut into."""
    return max(FEWEST_CLUSTERS, points // methods.POINTS_A_CLUSTER)


def small_sets(plan: Plan) -> list[str]:
    """Return the data sets of a figure on small sets; one where a sample is enough."""
    return datasets.small(plan.data)[: 1 if plan.quick else None]


def parts_of(cell: Cell) -> Parts:
    """Return the data set's own parts, or a sample of them."""
    return datasets.split(cell.data, 0, quick=True) if cell.quick else datasets.official(cell.data)


def first(model: Any, count: int) -> Any:
    """Return the ensemble of the first learners or trees, which training that many alone would give."""
    if isinstance(model, FastXMLModel):
        trees = len(model.roots)
        nodes = int(model.roots[count]) if count < trees else len(model.child)
        info = replace(model.info, settings={**model.settings, "trees": min(count, trees)})
        return FastXMLModel(info, model.roots[:count], model.child[:nodes], model.weights[:nodes], model.shares[:nodes])
    return replace(model, learners=model.learners[:count])


def summary_of(values: Sequence[float]) -> Summary:
    """Return mean and standard deviation of a number over runs."""
    return Summary(statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else None, len(values))


def size_of(model: Any) -> int:
    """Return the bytes of a model's arrays, as its folder has them."""
    return sum(int(array.nbytes) for part in model.to_state()[1].values() for array in part.values())

"""What the figures of clusters and ensembles share: the number of clusters, and parts of a trained ensemble."""

from __future__ import annotations

import json
from collections import OrderedDict
from dataclasses import replace
from typing import Any

from neartag.comparators.fastxml.classifier import FastXMLModel
from neartag.experiments import datasets, methods
from neartag.experiments.datasets import Parts
from neartag.experiments.plan import Cell, Plan
from neartag.experiments.runner import Work

# With one cluster all learners are the same. The paper's rule gives fewer than this on small sets.
MIN_CLUSTERS = 5
CLUSTERS = f"{methods.PAPER_CLUSTERS}, at least {MIN_CLUSTERS}"  # in settings, before the points are known


def clusters_for(points: int) -> int:
    """Return the number of clusters for so many points."""
    return max(MIN_CLUSTERS, points // methods.POINTS_PER_CLUSTER)


def small_sets(plan: Plan) -> list[str]:
    """Return the data sets of a figure on small sets; only one if the plan is quick."""
    return datasets.choose_small(plan.data)[: 1 if plan.quick else None]


def load_parts(cell: Cell) -> Parts:
    """Return the own parts of a cell's data set, or a sample of them if the cell is quick."""
    return datasets.split(cell.data, 0, quick=True) if cell.quick else datasets.load_official(cell.data)


class Ensembles:
    """The ensembles that were used last: tables and figures of a large set take their learners from the same ones.

    The first learners of an ensemble are those that a smaller one would have had, so what a cell measures does not
    depend on which cell trained them.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[str, tuple[Any, int, dict[str, float]]] = OrderedDict()

    def train(
        self, cell: Cell, settings: dict[str, Any], parts: Parts, work: Work
    ) -> tuple[Any, dict[str, float | int]]:
        """Return a model of `settings["n_learners"]` learners, and what the training cost that it is from."""
        wanted = settings["n_learners"]
        resolved = methods.resolve_clusters(settings, parts.X.shape[0])
        same = {name: value for name, value in resolved.items() if name != "n_learners"}
        points = [*parts.X.shape, parts.X.nnz, float(parts.X.data.sum()), parts.Y.shape[1], parts.Y.nnz]
        key = json.dumps([cell.data, points, cell.method, cell.seed, same], sort_keys=True)
        model, learners, cost = self._kept.get(key, (None, 0, {}))
        if learners < wanted:
            classifier, cost = methods.train(cell.method, resolved, parts, cell.seed, work)
            model, learners = classifier.model_, wanted
            self._kept[key] = model, learners, cost
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        return first_learners(model, wanted), {**cost, "trained_learners": learners}


# Three runs of one column: figure 2's, of which Table 1 has the first.
ENSEMBLES = Ensembles(3)


def first_learners(model: Any, count: int) -> Any:
    """Return the ensemble of the first learners or trees: the same as if only so many had been trained."""
    if isinstance(model, FastXMLModel):
        trees = len(model.roots)
        nodes = int(model.roots[count]) if count < trees else len(model.child)
        info = replace(model.info, settings={**model.settings, "trees": min(count, trees)})
        return FastXMLModel(info, model.roots[:count], model.child[:nodes], model.weights[:nodes], model.shares[:nodes])
    return replace(model, learners=model.learners[:count])


def model_size(model: Any) -> int:
    """Return the bytes of a model's arrays, as its folder has them."""
    return sum(int(array.nbytes) for part in model.to_state()[1].values() for array in part.values())

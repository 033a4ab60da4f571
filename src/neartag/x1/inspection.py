"""What `neartag inspect` tells of an X1 model beyond what it tells of any: its clusters, and its rankers."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from neartag.x1.learner import Learner
    from neartag.x1.model import X1Model


def describe(model: X1Model) -> dict[str, Any]:
    """Return a model's learners and its refinement, fit for JSON."""
    learners = [_describe_learner(learner) for learner in model.learners]
    reranker = model.reranker
    if reranker is None:
        return {"learners": learners, "refinement": None}
    every = [each for each in (reranker.rankers, reranker.new_rankers) if each is not None]
    return {
        "learners": learners,
        "refinement": {
            "candidates": int(reranker.size),
            "rankers": int(reranker.rankers.known.sum()),
            "later_rankers": 0 if reranker.new_rankers is None else int(reranker.new_rankers.known.sum()),
            "weights": sum(int(each.weights.nnz) for each in every),
        },
    }


def _describe_learner(learner: Learner) -> dict[str, Any]:
    sizes = [len(cluster.members) for cluster in learner.clusters]
    unexplained = [float(cluster.unexplained) for cluster in learner.clusters]
    return {
        "clusters": len(sizes),
        "cluster_size": _spread([float(size) for size in sizes]),
        "cluster_sizes": sizes,
        "unexplained": _spread(unexplained),
    }


def _spread(values: list[float]) -> dict[str, float]:
    """Return the smallest, the middle and the largest value."""
    return {"min": min(values), "median": statistics.median(values), "max": max(values)}

"""Choose a comparator's settings on a fifth of the training set, never on the test set.

    python benchmarks/choose_comparators.py leml bibtex delicious … [--seed 7] [--folds 1] [--points 20000]

Tries what grids.py names, and prints the best at the end by the sum of P@1, P@3 and P@5 on the held-out part (a mean
over folds). What prediction alone uses is tried without training again.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from choose_presets import folds, training_data
from grids import GRIDS

from neartag.methods import registry
from neartag.methods.search_space import combinations
from neartag.metrics import evaluate

DATA = ["bibtex", "delicious", "mediamill-rand", "eurlex4k-partial"]


ALL_POINTS = 10**9
Grid = tuple[dict, dict]  # what training and what prediction is tried with


def search(
    method: str, name: str, seed: int, count: int, points: int = ALL_POINTS, grid: Grid | None = None
) -> list[tuple[dict, list[float]]]:
    """Return settings and their P@1, P@3, P@5 and CPU seconds on the held-out part, the best first."""
    X, Y, groups = training_data(name)
    if points < X.shape[0]:
        chosen = np.sort(np.random.default_rng(seed).permutation(X.shape[0])[:points])
        X, Y, groups = X[chosen], Y[chosen], np.arange(points)
    training, prediction = grid or GRIDS[method].get(name, GRIDS[method].get("", ({}, {})))
    found: dict[tuple, list] = {}
    for train, held in folds(groups, count, seed):
        for settings in combinations(training):
            start = time.process_time()
            classifier = registry.get(method).estimator_class()(**settings).fit(X[train], Y[train])
            seconds = time.process_time() - start
            for changes in combinations(prediction):
                labels, _ = classifier.set_params(**changes).predict_topk(X[held], 5)
                scores = evaluate(labels, Y[held])
                key = tuple({**settings, **changes}.items())
                found.setdefault(key, []).append([scores["P@1"], scores["P@3"], scores["P@5"], seconds])
                print(method, name, dict(key), *(f"{value:.2f}" for value in found[key][-1]), flush=True)
    means = [(dict(key), np.mean(values, axis=0).tolist()) for key, values in found.items()]
    return sorted(means, key=lambda each: -sum(each[1][:3]))


def report(method: str, name: str, seed: int, count: int, points: int = ALL_POINTS, grid: Grid | None = None) -> None:
    """Search, and print the best settings."""
    best = search(method, name, seed, count, points, grid)
    print(f"\n{method} on {name}: the best on the held-out part (mean of {count} folds)")
    for settings, values in best[:8]:
        print(" / ".join(f"{value:.2f}" for value in values), settings, flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("method", choices=list(GRIDS))
    parser.add_argument("names", nargs="*", default=DATA)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--folds", type=int, default=1)
    parser.add_argument("--points", type=int, default=ALL_POINTS, help="training points at most, drawn at random")
    arguments = parser.parse_args()
    for each in arguments.names:
        report(arguments.method, each, arguments.seed, arguments.folds, arguments.points)

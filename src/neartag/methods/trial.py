"""One attempt of a search: settings trained once, and what only prediction uses chosen on the held-out points."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from neartag.core.errors import NeartagError
from neartag.core.method import Choices, Method, Settings
from neartag.evaluation.metrics import evaluate
from neartag.evaluation.point_precision import precision_by_point
from neartag.methods.points import Split
from neartag.methods.search_space import FEATURES, Candidate

CUTS = (1, 3, 5)  # the k of P@k by which settings are judged
_PASSES = 2  # over what only prediction uses: the choice of one setting may change that of another


@dataclass(frozen=True)
class Trial:
    """Settings that were tried, on how many points, and how good they were."""

    settings: Settings  # those that were to be chosen
    points: int  # trained on
    metrics: dict[str, float] = field(default_factory=dict)  # P@1, P@3, P@5 in percent; none where training failed
    seconds: float = 0.0  # of training
    error: str = ""  # why it failed
    default: bool = False  # whether these are the default settings
    total_seconds: float = 0.0  # with features and prediction
    precisions: list[float] = field(default_factory=list, repr=False)  # of each held-out point, two decimals

    @property
    def score(self) -> float:
        """The mean of P@1, P@3 and P@5; less than any where training failed."""
        return float(np.mean(list(self.metrics.values()))) if self.metrics else -1.0


def run_trial(method: Method, candidate: Candidate, always: Mapping[str, Any], split: Split) -> Trial:
    """Return how good settings are once trained, what only prediction uses chosen by the points held out.

    `always` are the settings that every trial has.
    """
    prediction, settings = candidate.prediction, candidate.settings
    first = {name: values[0] for name, values in prediction.items()}
    largest = {name: max(prediction[name]) for name in candidate.train_at_largest if name in prediction}
    trained = {name: value for name, value in {**settings, **first, **largest}.items() if name != FEATURES}
    points, begun = int(split.X.shape[0]), time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of odd settings: how good they are is what is asked here
            classifier = method.estimator_class()(**{**always, **trained})
            classifier.fit(split.X, split.Y)
        seconds = time.perf_counter() - begun
        best, metrics, precisions = _choose_prediction(classifier, first, prediction, split)
    except (NeartagError, MemoryError) as error:
        reason = str(error) or "there was not enough memory"
        return Trial({**settings, **first}, points, seconds=time.perf_counter() - begun, error=reason)
    return Trial({**settings, **best}, points, metrics, seconds, precisions=precisions)


def _choose_prediction(
    classifier: Any, first: Settings, prediction: Choices, split: Split
) -> tuple[Settings, dict[str, float], list[float]]:
    """Return the best settings of prediction for a fitted classifier, from the first values on.

    And, with them, P@k and the precision of each held-out point.
    """
    measured: dict[tuple[Any, ...], tuple[dict[str, float], list[float]]] = {}

    def score(settings: Settings) -> float:
        key = tuple(settings.values())
        if key not in measured:
            labels, _ = classifier.set_params(**settings).predict_topk(split.X_held, CUTS[-1])
            metrics = evaluate(labels, split.Y_held, ks=CUTS)
            precisions = precision_by_point(labels, split.Y_held, CUTS).round(2).tolist()
            measured[key] = {f"P@{k}": metrics[f"P@{k}"] for k in CUTS}, precisions
        return float(np.mean(list(measured[key][0].values())))

    best = first
    for _ in range(_PASSES):
        for name, values in prediction.items():
            best = _choose_value(best, name, values, score)
    score(best)
    return best, *measured[tuple(best.values())]


def _choose_value(best: Settings, name: str, values: list[Any], score: Callable[[Settings], float]) -> Settings:
    """Return the settings with the best value of one of them; of numbers, the best on the way up or down from it."""
    if any(isinstance(value, str | bool) for value in values):
        return max([best, *({**best, name: value} for value in values)], key=score)
    order = sorted(values)
    for step in (1, -1):
        place = order.index(best[name])
        while 0 <= place + step < len(order) and score(other := {**best, name: order[place + step]}) > score(best):
            best, place = other, place + step
    return best

"""Methods side by side: one after another learns the same points and answers the same others."""

from __future__ import annotations

import gc
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from neartag.core.errors import NeartagError, ParameterError
from neartag.core.method import Method, Settings
from neartag.core.progress import Progress
from neartag.methods import presets

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

NO_PRESET = "none"
LONG_SECONDS = 5.0  # of training, from which on a person has waited for a method


class Task(NamedTuple):
    """A method with its settings: the preset's of that name, if any, overridden by the person's own."""

    method: Method
    preset: str | None
    chosen: Settings  # by the preset
    given: Settings  # by the person

    @property
    def settings(self) -> Settings:
        """What is not left to the defaults."""
        return {**self.chosen, **self.given}


class Parts(NamedTuple):
    """The points to learn from and those to answer; the labels of the latter may be more."""

    X: csr_matrix
    Y: csr_matrix
    X_test: csr_matrix
    Y_test: csr_matrix


class Outcome(NamedTuple):
    """What became of a task: figures and the labels given, or the reason why there are none."""

    task: Task
    figures: dict[str, Any]
    labels: Any  # (test points, largest k), None where there are none
    error: str = ""
    bug: bool = False  # an error that is ours and not the person's

    @property
    def took_long(self) -> bool:
        """Whether the person has waited for it."""
        return self.labels is not None and self.figures["train_seconds"] >= LONG_SECONDS

    @property
    def in_a_line(self) -> str:
        """The outcome in a line."""
        if self.labels is None:
            return f"{self.task.method.title}: {self.error}"
        name, value = next(iter(self.figures["metrics"].items()))
        return f"{self.task.method.title}: {name} {value:.2f}, trained in {self.figures['train_seconds']:.0f} s"

    @property
    def row(self) -> dict[str, Any]:
        """The outcome as JSON has it."""
        task = self.task
        about = {"method": task.method.name, "preset": task.preset, "settings": task.settings, "set": task.given}
        return {**about, **(self.figures if self.labels is not None else {"error": self.error})}


def plan(methods: Sequence[Method], preset: str | None, data: str, given: Mapping[str, Settings]) -> list[Task]:
    """Return a task for each method; `given` are a person's settings by method.

    Without a preset, methods that have one of the data's own name use it. ParameterError for a preset that none has.
    """
    wanted = data if preset is None else preset
    tasks = []
    for method in methods:
        settings = None if wanted == NO_PRESET else _find_preset(wanted, method.name)
        tasks.append(Task(method, None if settings is None else wanted, settings or {}, given.get(method.name, {})))
    if preset not in (None, NO_PRESET) and all(task.preset is None for task in tasks):
        presets.get(wanted, methods[0].name)  # which says what there is
    return tasks


def _find_preset(name: str, method: str) -> Settings | None:
    try:
        return presets.get(name, method)
    except ParameterError:
        return None  # the defaults are then what there is


class Comparison:
    """The parts, what all methods are given, and the methods one by one.

    Parameters
    ----------
    parts : the points.
    cuts : the k of P@k, rising.
    shared : settings that all methods have, such as `n_jobs`.
    progress : what is told of the work.
    propensities : A and B of the propensities.
    model_bytes : returns the size of a fitted model as it is stored.
    """

    def __init__(
        self,
        parts: Parts,
        cuts: Sequence[int],
        shared: Settings,
        progress: Progress,
        *,
        propensities: tuple[float, float],
        model_bytes: Callable[[Any], int],
    ) -> None:
        from neartag.evaluation import metrics
        from neartag.linalg import csr

        # Labels that training has not are nobody's answer, but they count as missed.
        width = max(parts.Y.shape[1], parts.Y_test.shape[1])
        self.parts = parts._replace(Y_test=csr.widen(parts.Y_test, width))
        self.cuts, self.shared, self.progress, self.model_bytes = tuple(cuts), shared, progress, model_bytes
        self._propensities = dict(zip("ab", propensities, strict=True))
        self._Y_train = csr.widen(parts.Y, width)
        metrics.propensities(self._Y_train, *propensities)  # now, before anything is trained in vain

    def run(self, task: Task) -> Outcome:
        """Return what became of the task; nothing of its model is kept."""
        try:
            return self._measure(task)
        except (NeartagError, MemoryError) as error:
            return Outcome(task, {}, None, str(error) or "there was not enough memory")
        except Exception as error:
            # The others are still worth measuring, and the traceback is still worth having.
            traceback.print_exc(file=sys.stderr)
            return Outcome(task, {}, None, f"{type(error).__name__}: {error}", bug=True)
        finally:
            self.progress.finish()
            gc.collect()  # a model may refer to itself, and the next one needs the room

    def _measure(self, task: Task) -> Outcome:
        import numpy as np

        from neartag.core.usage import Usage
        from neartag.evaluation import metrics
        from neartag.methods.predict import predict_batches

        progress = NamedProgress(self.progress, task.method.title)
        classifier = task.method.estimator_class()(**{**self.shared, **task.settings})
        usage = Usage()
        with progress.start(None, "training"):
            classifier.fit(self.parts.X, self.parts.Y, progress=progress)
        training, model = usage.measure(), classifier.model_
        usage = Usage()
        batches = predict_batches(model, self.parts.X_test, max(self.cuts), classifier.n_jobs, progress)
        labels = np.vstack([labels for labels, _ in batches])
        predicting = usage.measure()
        with progress.start(None, "saving"):
            model_bytes = self.model_bytes(model)
        figures = {
            "metrics": metrics.evaluate(
                labels, self.parts.Y_test, ks=self.cuts, Y_train=self._Y_train, **self._propensities
            ),
            "train_seconds": training["seconds"],
            "train_cpu_seconds": training["cpu_seconds"],
            "predict_ms_per_point": 1000 * predicting["seconds"] / len(labels),
            "model_bytes": model_bytes,
        }
        return Outcome(task, figures, labels)

    def report(self, outcomes: Sequence[Outcome]) -> dict[str, Any]:
        """Return all that was found, fit for JSON; ParameterError where no method could be trained."""
        trained = [outcome for outcome in outcomes if outcome.labels is not None]
        if not trained:
            reasons = "; ".join(f"{outcome.task.method.name}: {outcome.error}" for outcome in outcomes)
            raise ParameterError(f"no method could be trained: {reasons}")
        X, Y = self.parts.X, self.parts.Y
        metric = f"P@{self.cuts[0]}"
        return {
            "train": {"points": X.shape[0], "features": X.shape[1], "labels": Y.shape[1]},
            "test": {"points": self.parts.X_test.shape[0]},
            "k": list(self.cuts),
            "methods": [outcome.row for outcome in outcomes],
            "metric": metric,
            "against": trained[0].task.method.name,
            "differences": self._differences(trained, metric),
        }

    def _differences(self, trained: Sequence[Outcome], metric: str) -> list[dict[str, Any]]:
        """Return by how much each method beats the first in the metric, with the 95% interval of a paired bootstrap."""
        from neartag.evaluation import metrics

        first, *others = trained
        differences = []
        for other in others:
            interval = metrics.paired_bootstrap(other.labels, first.labels, self.parts.Y_test, metric=metric)
            differences.append({"method": other.task.method.name, **interval._asdict()})
        return differences


class NamedProgress(Progress):
    """Progress that says whose it is."""

    def __init__(self, shown: Progress, name: str) -> None:
        self._shown, self._name = shown, name

    def start(self, total: int | None, description: str) -> Progress:
        """Begin work, its description after the name."""
        self._shown.start(total, f"{self._name}: {description}")
        return self

    def advance(self, steps: int = 1, note: str = "") -> None:
        """Count steps done."""
        self._shown.advance(steps, note)

    def finish(self) -> None:
        """End the work."""
        self._shown.finish()

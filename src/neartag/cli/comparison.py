"""What `neartag compare` does: one method after another learns the same points and answers the same others."""

from __future__ import annotations

import gc
import sys
import tempfile
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

from neartag.cli.options import find_method, read_value
from neartag.comparators import METHODS, Method
from neartag.core.errors import DataError, NeartagError, ParameterError
from neartag.core.progress import Progress
from neartag.methods import presets

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

ALL, NO_PRESET = "all", "none"
LONG = 5.0  # seconds of training from which a method's result is told before the others are done


class Task(NamedTuple):
    """A method with its settings: the preset's of that name, if any, overridden by the person's own."""

    method: Method
    preset: str | None
    chosen: dict[str, Any]  # by the preset
    given: dict[str, Any]  # by the person

    @property
    def settings(self) -> dict[str, Any]:
        """What is not left to the defaults."""
        return {**self.chosen, **self.given}


class Parts(NamedTuple):
    """The points to learn from and those to answer, their labels as wide as each other."""

    X: csr_matrix
    Y: csr_matrix
    X_test: csr_matrix
    Y_test: csr_matrix


class Outcome(NamedTuple):
    """What became of a task: figures and the labels found, or the reason why there are none."""

    task: Task
    figures: dict[str, Any]
    labels: Any  # (test points, largest k), None where there are none
    error: str = ""
    bug: bool = False  # an error that is ours and not the person's

    @property
    def took_long(self) -> bool:
        """Whether the person has waited for it."""
        return self.labels is not None and self.figures["train_seconds"] >= LONG

    @property
    def told(self) -> str:
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


def plan(methods: str, preset: str | None, data: str, changes: Sequence[str]) -> list[Task]:
    """Return the tasks that the words of the command line stand for.

    Without a preset, methods that have one of the data's own name use it.
    """
    chosen = choose_methods(methods)
    own = read_changes(changes, chosen)
    found: dict[str, dict[str, Any] | None] = dict.fromkeys(chosen)
    wanted = data if preset is None else preset
    if wanted != NO_PRESET:
        for name in chosen:
            try:
                found[name] = presets.get(wanted, name)
            except ParameterError:
                continue  # the defaults are then what there is
        if preset is not None and all(settings is None for settings in found.values()):
            presets.get(preset, next(iter(chosen)))  # which says what there is
    return [
        Task(method, wanted if settings is not None else None, settings or {}, own.get(name, {}))
        for (name, method), settings in zip(chosen.items(), found.values(), strict=True)
    ]


def choose_methods(words: str) -> dict[str, Method]:
    """Return the methods named, by name and in the order in which they are named; "all" is all there are."""
    if words.strip().lower() == ALL:
        return dict(METHODS)
    found = [find_method(word) for word in words.split(",") if word.strip()]
    if not found:
        raise ParameterError(f"--methods names none: give some of {', '.join(METHODS)}, or {ALL}")
    return {method.name: method for method in found}


def read_changes(changes: Sequence[str], methods: dict[str, Method]) -> dict[str, dict[str, Any]]:
    """Return the settings that texts such as leml.rank=50 stand for, by method."""
    found: dict[str, dict[str, Any]] = {}
    for text in changes:
        place, equals, value = text.partition("=")
        before, dot, name = (part.strip().replace("-", "_") for part in place.partition("."))
        if not (equals and dot):
            raise ParameterError(f"--set {text}: write METHOD.PARAMETER=VALUE, as in leml.rank=50")
        method = find_method(before)
        if method.name not in methods:
            raise ParameterError(f"--set {text}: {method.name} is not among the methods to compare")
        by_name = {parameter.name: parameter for parameter in method.parameters}
        if name not in by_name:
            raise ParameterError(f"--set {text}: {method.name} has no parameter {name!r}; it has {', '.join(by_name)}")
        settings = found.setdefault(method.name, {})
        settings[name] = read_value(by_name[name], value.strip(), f"--set {method.name}.{name}")
    return found


def load_parts(train: str, test: str, memory: int | None) -> Parts:
    """Return both parts as rows of the same features; those of texts are fitted on the train part."""
    from neartag.cli.data import load_points, load_training
    from neartag.linalg import csr
    from neartag.storage.bundle import StoredModel

    if train == test and Path(train).is_file():
        raise DataError(f"{train} is one file: name the points to test on too, by --test FILE")
    dataset, features, _ = load_training(train, memory)
    # What `load_points` asks of a model: no method is trained yet.
    sizes = SimpleNamespace(n_features=dataset.n_features, n_labels=dataset.n_labels)
    X_test, Y_test = load_points(test, "test", StoredModel(sizes, dataset.label_names, None, features, {}))
    if X_test.shape[0] == 0:
        raise DataError(f"{test} has no points to test on")
    # Labels that training has not are nobody's answer, but they count as missed.
    width = max(Y_test.shape[1], dataset.Y.shape[1])
    return Parts(dataset.X, dataset.Y, X_test, csr.widen(Y_test, width))


class Comparison:
    """The parts, what all methods are given, and the methods one by one."""

    def __init__(
        self,
        parts: Parts,
        cuts: Sequence[int],
        shared: dict[str, Any],
        progress: Progress,
        *,
        propensities: tuple[float, float],
    ) -> None:
        from neartag.evaluation import metrics
        from neartag.linalg import csr

        self.parts, self.cuts, self.shared, self.progress = parts, tuple(cuts), shared, progress
        self._propensities = dict(zip("ab", propensities, strict=True))
        self._Y_train = csr.widen(parts.Y, parts.Y_test.shape[1])
        metrics.propensities(self._Y_train, *propensities)  # now, before anything is trained in vain

    def run(self, task: Task) -> Outcome:
        """Return what became of the task; nothing of its model is kept."""
        with tempfile.TemporaryDirectory(prefix="neartag-") as folder:
            try:
                return self._measured(task, Path(folder) / "model")
            except (NeartagError, MemoryError) as error:
                return Outcome(task, {}, None, str(error) or "there was not enough memory")
            except Exception as error:
                # The others are still worth measuring, and the traceback is still worth having.
                traceback.print_exc(file=sys.stderr)
                return Outcome(task, {}, None, f"{type(error).__name__}: {error}", bug=True)
            finally:
                self.progress.finish()
                gc.collect()  # a model may refer to itself, and the next one needs the room

    def _measured(self, task: Task, folder: Path) -> Outcome:
        import numpy as np

        from neartag.cli.predict import predicted
        from neartag.cli.train import disk_bytes
        from neartag.cli.usage import Usage
        from neartag.evaluation import metrics
        from neartag.storage import store

        progress = Named(self.progress, task.method.title)
        classifier = task.method.classifier()(**{**self.shared, **task.settings})
        usage = Usage()
        with progress.start(None, "training"):
            classifier.fit(self.parts.X, self.parts.Y, progress=progress)
        training, model = usage.measured(), classifier.model_
        usage = Usage()
        found = [
            labels for labels, _ in predicted(model, self.parts.X_test, max(self.cuts), classifier.n_jobs, progress)
        ]
        predicting, labels = usage.measured(), np.vstack(found)
        with progress.start(None, "saving"):
            store.save(model, folder)
        figures = {
            "metrics": metrics.evaluate(
                labels, self.parts.Y_test, ks=self.cuts, Y_train=self._Y_train, **self._propensities
            ),
            "train_seconds": training["seconds"],
            "train_cpu_seconds": training["cpu_seconds"],
            "predict_ms_per_point": 1000 * predicting["seconds"] / len(labels),
            "model_bytes": disk_bytes(folder),
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
        found = []
        for other in others:
            interval = metrics.paired_bootstrap(other.labels, first.labels, self.parts.Y_test, metric=metric)
            found.append({"method": other.task.method.name, **interval._asdict()})
        return found


class Named(Progress):
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

"""The estimator that every comparator is: parameters from its table, checks, memory, and the training of the method."""

from __future__ import annotations

import inspect
import warnings
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.utils.validation import check_is_fitted

from neartag.comparators.model import Facts, ScoringModel, prepared
from neartag.comparators.parameters import TABLES
from neartag.core import memory
from neartag.core.errors import ParameterError
from neartag.core.estimator import LabelClassifier, describe, shown
from neartag.core.parameters import MACHINE, check_settings
from neartag.core.progress import Progress
from neartag.core.threads import resolve_jobs, single_threaded_blas
from neartag.linalg.rows import Rows
from neartag.linalg.validation import check_training

# What trains on large data sets, to be named where another method cannot.
SCALABLE = "leml, fastxml, lpsr, knn or x1"

Estimator = TypeVar("Estimator", bound="type[Comparator]")


class Shape(NamedTuple):
    """The size of a training set as a method sees it."""

    points: int
    features: int  # columns, the constant included
    labels: int  # that occur
    entries: int  # stored numbers of the rows
    ones: int  # labels of all points together


class Comparator(LabelClassifier):
    """A method's estimator: it gives `method`, `_train` and what memory that takes."""

    method: ClassVar[str]
    prediction: ClassVar[tuple[str, ...]] = ("threshold",)  # parameters that may be changed after training

    def fit(self, X: Any, Y: Any, *, progress: Progress | bool = False) -> Any:
        """Learn from feature rows X (n, d) and their indicator rows Y (n, L); returns the classifier itself.

        `progress=True` shows a bar on a terminal and lines elsewhere.
        """
        settings = check_settings(self.get_params(), TABLES[self.method], type(self).__name__)
        X, Y = check_training(X, Y, type(self).__name__)
        threads, limit = resolve_jobs(settings["n_jobs"]), settings["max_memory"]
        settings = {name: value for name, value in settings.items() if name not in MACHINE}
        if Y.nnz == 0:
            warnings.warn("no training point has a label: nothing will ever be predicted", UserWarning, stacklevel=2)
        frequency = np.bincount(Y.indices, minlength=Y.shape[1]).astype(np.int64, copy=False)
        facts = Facts(settings, int(X.shape[1]), int(X.shape[0]), frequency)
        rows, labels = prepared(X, settings), seen_labels(Y, facts)
        entries = int(rows.nnz if hasattr(rows, "nnz") else rows.size)
        self._refuse_too_large(
            Shape(rows.shape[0], rows.shape[1], facts.width, entries, Y.nnz), settings, threads, limit
        )
        with single_threaded_blas(), shown(progress) as bar:
            self._learned(self._train(rows, labels, facts, threads, bar))
        if "max_iter" in settings:
            self.n_iter_ = settings["max_iter"]  # none ends before
        return self

    def _train(self, rows: Rows, Y: csr_matrix, facts: Facts, threads: int, progress: Progress) -> ScoringModel:
        """Return the model learned from rows (n, facts.columns) and labels (n, facts.width), BLAS held to one thread.

        A column of Y is facts.seen's label of that place; the most frequent comes first.
        """
        raise NotImplementedError

    def _memory(self, shape: Shape, settings: dict[str, Any], threads: int) -> int:
        """Return about how many bytes training takes beyond the rows and labels themselves."""
        raise NotImplementedError

    def _fitted(self) -> ScoringModel:
        check_is_fitted(self, "model_")
        # What only prediction uses may be set after training, as in any scikit-learn estimator.
        changes = {name: getattr(self, name) for name in self.prediction}
        return self.model_.adjusted(check_settings(changes, TABLES[self.method], type(self).__name__))

    def _refuse_too_large(self, shape: Shape, settings: dict[str, Any], threads: int, limit: int | None) -> None:
        """Raise ParameterError, before any work, where training would need more memory than there is or is allowed."""
        room = limit if limit is not None else memory.total()
        if room is None:
            return
        free = max(0, room - memory.in_use())
        need = self._memory(shape, settings, threads)
        if need > free:
            raise ParameterError(
                f"{self.method} would need about {memory.format_bytes(need)} of memory to learn {shape.labels} labels "
                f"from {shape.points} points with {shape.features} features, and {memory.format_bytes(free)} "
                f"{'are there' if limit is None else f'of the {memory.format_bytes(limit)} allowed are left'}: "
                f"use fewer features or labels, or a method that scales ({SCALABLE})"
            )


def seen_labels(Y: csr_matrix, facts: Facts) -> csr_matrix:
    """Return the labels that occur, the most frequent first: CSR of float32 ones (n, facts.width) with sorted rows."""
    place = np.zeros(Y.shape[1], np.int32)
    place[facts.seen] = np.arange(len(facts.seen), dtype=np.int32)
    labels = csr_matrix((np.ones(Y.nnz, np.float32), place[Y.indices], Y.indptr.copy()), (Y.shape[0], facts.width))
    labels.sort_indices()
    return labels


def from_table(estimator: Estimator) -> Estimator:
    """Give an estimator the constructor that its table of parameters describes, and their description."""
    table = TABLES[estimator.method]

    def initialise(self: Any, **given: Any) -> None:
        for parameter in table:
            setattr(self, parameter.name, given.pop(parameter.name, parameter.default))
        if given:
            raise TypeError(f"{type(self).__name__} has no parameter {next(iter(given))!r}")

    # scikit-learn reads the signature to know the parameters, and so do help() and editors.
    own = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    for parameter in table:
        own.append(inspect.Parameter(parameter.name, inspect.Parameter.KEYWORD_ONLY, default=parameter.default))
    initialise.__signature__ = inspect.Signature(own)  # type: ignore[attr-defined]
    estimator.__init__ = initialise  # type: ignore[method-assign]
    estimator.__doc__ = f"{(estimator.__doc__ or '').rstrip()}\n\n    Parameters\n    ----------{describe(table)}\n    "
    return estimator

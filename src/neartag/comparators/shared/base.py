"""The base of a comparator's estimator: parameters from its record, checks, memory, and training."""

from __future__ import annotations

import inspect
import warnings
from textwrap import dedent
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.utils.validation import check_is_fitted

from neartag import comparators
from neartag.comparators.shared.model import FitInfo, ScoringModel
from neartag.comparators.shared.rows import prepare_rows, seen_labels
from neartag.core import memory
from neartag.core.errors import ParameterError
from neartag.core.estimator import LabelClassifier, choose_progress, describe_parameters
from neartag.core.method import Method
from neartag.core.parameters import MACHINE, check_settings
from neartag.core.progress import Progress
from neartag.core.threads import resolve_jobs, single_threaded_blas
from neartag.linalg.hybrid_rows import as_one_matrix
from neartag.linalg.rows import Rows
from neartag.linalg.validation import check_training

DOCSTRING = """{summary}

Parameters
----------
{parameters}

Attributes
----------
model_ : what was learned; `neartag.store.save(model_, folder)` keeps it.
n_features_in_, n_labels_ : the training data's numbers of features and labels.

Examples
--------
>>> from {module} import {name}
>>> X = [[1, 0, 1], [1, 0, 0], [0, 1, 0], [0, 1, 1]] * 5
>>> Y = [[1, 0], [1, 0], [0, 1], [0, 1]] * 5
>>> labels, scores = {name}().fit(X, Y).predict_topk([[2, 0, 0], [0, 3, 0]], k=1)
>>> labels.tolist()
[[0], [1]]
"""


class Shape(NamedTuple):
    """The size of a training set as a method sees it."""

    points: int
    features: int  # columns, the constant included
    labels: int  # that occur
    entries: int  # stored numbers of the rows
    ones: int  # labels of all points together


class Comparator(LabelClassifier):
    """A method's estimator: a subclass names its `method` and gives `_train`, and what memory that takes.

    The constructor and the description of its parameters are made from the method's record.
    """

    method: ClassVar[Method]

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        if "method" in vars(cls):
            cls.__init__ = make_constructor(cls.method)  # type: ignore[method-assign]
            cls.__doc__ = DOCSTRING.format(
                summary=(cls.__doc__ or "").strip(),
                parameters=dedent(describe_parameters(cls.method.parameters)).strip(),
                module=cls.__module__.removesuffix(".classifier"),  # whose package has the class too
                name=cls.__name__,
            )

    def fit(self, X: Any, Y: Any, *, progress: Progress | bool = False) -> Any:
        """Learn which rows have which labels.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            Feature rows.
        Y : array or sparse matrix of shape (n, L)
            Indicator rows: 1 where a point has a label, 0 elsewhere.
        progress : bool or Progress, default False
            True shows a bar on a terminal and lines elsewhere.

        Returns
        -------
        self
            The fitted classifier; what was learned is in `model_`.

        Raises
        ------
        ParameterError
            If a parameter cannot be used, or training would need more memory than `max_memory` or the computer allows.
        DataError
            If X or Y cannot be learned from.
        """
        settings = check_settings(self.get_params(), self.method.parameters, type(self).__name__)
        X, Y = check_training(as_one_matrix(X), Y, type(self).__name__)
        threads, limit = resolve_jobs(settings["n_jobs"]), settings["max_memory"]
        settings = {name: value for name, value in settings.items() if name not in MACHINE}
        if Y.nnz == 0:
            warnings.warn("no training point has a label: nothing will ever be predicted", UserWarning, stacklevel=2)
        frequency = np.bincount(Y.indices, minlength=Y.shape[1]).astype(np.int64, copy=False)
        info = FitInfo(settings, int(X.shape[1]), int(X.shape[0]), frequency)
        rows, labels = prepare_rows(X, settings), seen_labels(Y, info.seen, info.width)
        entries = int(rows.nnz if hasattr(rows, "nnz") else rows.size)
        self._refuse_too_large(
            Shape(rows.shape[0], rows.shape[1], info.width, entries, Y.nnz), settings, threads, limit
        )
        with single_threaded_blas(), choose_progress(progress) as bar:
            self._keep_model(self._train(rows, labels, info, threads, bar))
        if "max_iter" in settings:
            self.n_iter_ = settings["max_iter"]  # none ends before
        return self

    def _train(self, rows: Rows, Y: csr_matrix, info: FitInfo, threads: int, progress: Progress) -> ScoringModel:
        """Return the model learned from rows (n, info.columns) and labels (n, info.width), BLAS held to one thread.

        A column of Y is info.seen's label of that place; the most frequent comes first.
        """
        raise NotImplementedError

    def _memory(self, shape: Shape, settings: dict[str, Any], threads: int) -> int:
        """Return about how many bytes training takes beyond the rows and labels themselves."""
        raise NotImplementedError

    def _current_model(self) -> ScoringModel:
        check_is_fitted(self, "model_")
        # What only prediction uses may be set after training, as in any scikit-learn estimator.
        changes = {name: getattr(self, name) for name in self.method.prediction}
        return self.model_.with_settings(check_settings(changes, self.method.parameters, type(self).__name__))

    def _refuse_too_large(self, shape: Shape, settings: dict[str, Any], threads: int, limit: int | None) -> None:
        """Raise ParameterError, before any work, where training would need more memory than there is or is allowed."""
        room = limit if limit is not None else memory.total()
        if room is None:
            return
        free = max(0, room - memory.in_use())
        need = self._memory(shape, settings, threads)
        if need > free:
            raise ParameterError(
                f"{self.method.name} would need about {memory.format_bytes(need)} of memory to learn {shape.labels} "
                f"labels from {shape.points} points with {shape.features} features, and {memory.format_bytes(free)} "
                f"{'are there' if limit is None else f'of the {memory.format_bytes(limit)} allowed are left'}: "
                f"use fewer features or labels, or a method that scales ({comparators.name_scalable()})"
            )


def make_constructor(method: Method) -> Any:
    """Return the constructor that a method's parameters describe."""

    def initialise(self: Any, **given: Any) -> None:
        for parameter in method.parameters:
            setattr(self, parameter.name, given.pop(parameter.name, parameter.default))
        if given:
            raise TypeError(f"{type(self).__name__} has no parameter {next(iter(given))!r}")

    # scikit-learn reads the signature to know the parameters, and so do help() and editors.
    own = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    for parameter in method.parameters:
        own.append(inspect.Parameter(parameter.name, inspect.Parameter.KEYWORD_ONLY, default=parameter.default))
    initialise.__signature__ = inspect.Signature(own)  # type: ignore[attr-defined]
    return initialise

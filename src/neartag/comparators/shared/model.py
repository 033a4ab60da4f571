"""A fitted comparator: it scores labels, and everything else about prediction and storing is here, once.

Labels that no training point has can never be right, so a method knows only those that occur, numbered from the most
frequent to the least: ties between equal scores then go to the more frequent label by themselves.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, TypeVar

import numpy as np
from scipy import sparse
from scipy.sparse import csr_matrix

from neartag.comparators.shared.arrays import Arrays, read_part
from neartag.comparators.shared.rows import prepare_rows
from neartag.comparators.shared.scores import row_maxima, top_columns
from neartag.core import memory
from neartag.core.errors import ParameterError
from neartag.core.frequent_labels import frequency_scores, most_frequent, rank_by_frequency
from neartag.core.method import Method
from neartag.core.parameters import MACHINE, check_settings, defaults
from neartag.core.threads import resolve_jobs, single_threaded_blas
from neartag.linalg.hybrid_rows import as_one_matrix
from neartag.linalg.packing import put_rows, read_count, require
from neartag.linalg.rows import Rows
from neartag.linalg.validation import check_count, check_features

# Scores held at once, which bounds the rows answered at once, and those rows where there are few labels.
BATCH_SCORES, BATCH_ROWS = 2**24, 8192

Model = TypeVar("Model", bound="ScoringModel")


@dataclass(frozen=True)
class FitInfo:
    """What is known of any fitted comparator: its settings, and the size of what it was trained on."""

    settings: dict[str, Any]  # every parameter, as trained
    n_features: int
    n_points: int
    frequency: np.ndarray  # (L,) training points that have each label

    @cached_property
    def seen(self) -> np.ndarray:
        """The labels that training points have, from the most frequent to the least: (seen,) int32."""
        return rank_by_frequency(self.frequency)

    @property
    def width(self) -> int:
        """Labels that the method knows: those seen, but one at least, which then nobody has."""
        return max(1, len(self.seen))

    @property
    def columns(self) -> int:
        """Columns of the rows that the method gets: the features and, where there is one, the constant."""
        return self.n_features + (self.settings.get("bias", 0) > 0)


@dataclass(repr=False)
class ScoringModel(ABC):
    """Scores of labels for rows of features; a method adds its own arrays."""

    method: ClassVar[Method]
    kind: ClassVar[str]  # as stored models name it: the method's name

    info: FitInfo

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        if "method" in vars(cls):
            cls.kind = cls.method.name

    @abstractmethod
    def scores(self, rows: Rows, threads: int) -> Rows:
        """Return the scores of the labels seen, from 0 (no support) to 1, as float32 array or CSR (m, info.width).

        `rows` are as `prepare_rows` makes them. A row without any score above 0 gets the most frequent labels.
        """

    @abstractmethod
    def arrays(self) -> Arrays:
        """Return what was learned: arrays of at most two dimensions, or CSR matrices, by part and name."""

    @classmethod
    @abstractmethod
    def from_arrays(cls: type[Model], info: FitInfo, arrays: Arrays) -> Model:
        """Return the model of such arrays.

        ValueError unless all shapes and types, and all numbers that point into other arrays, are right. CSR matrices
        are known to be whole. Arrays may be read-only memory maps.
        """

    @property
    def settings(self) -> dict[str, Any]:
        """Every parameter, as trained."""
        return self.info.settings

    @property
    def parameters(self) -> dict[str, Any]:
        """Every parameter by name, as trained."""
        return self.info.settings

    @property
    def n_features(self) -> int:
        """Number of features of a row."""
        return self.info.n_features

    @property
    def n_points(self) -> int:
        """Number of training points."""
        return self.info.n_points

    @property
    def n_labels(self) -> int:
        """Number of labels, those never seen in training included."""
        return len(self.info.frequency)

    @property
    def frequency(self) -> np.ndarray:
        """Training points that have each label: (L,)."""
        return self.info.frequency

    @property
    def batch_rows(self) -> int:
        """Rows answered at once."""
        return max(1, min(BATCH_ROWS, BATCH_SCORES // self.info.width))

    def __repr__(self) -> str:
        """Say in a line what was trained."""
        return f"{type(self).__name__}({self.n_points} points, {self.n_features} features, {self.n_labels} labels)"

    def with_settings(self: Model, changes: dict[str, Any]) -> Model:
        """Return a model of the same arrays with other settings of prediction; itself where they are its own."""
        settings = {**self.settings, **changes}
        if settings == self.settings:
            return self
        other = copy.copy(self)  # with what was made of the arrays for prediction, which settings do not change
        other.info = replace(self.info, settings=settings)
        return other

    def predict_topk(self, X: Any, k: int = 5, *, n_jobs: int | None = -1) -> tuple[np.ndarray, np.ndarray]:
        """Return the k best labels of each row of X, best first, and their scores in [0, 1], both (m, k).

        Ties go to the label more frequent in training, then to the lower id. Where fewer than k labels have a score
        the id is −1 with score 0. A row that has none at all gets the most frequent labels, scored by their frequency.
        """
        check_count("k", k)
        X = check_features(as_one_matrix(X), self.n_features, self._owner)
        threads = resolve_jobs(n_jobs)
        labels = np.full((X.shape[0], k), -1, np.int32)
        scores = np.zeros((X.shape[0], k))
        most = min(k, len(self.info.seen))
        for part, raw in self._batches(X, threads):
            ids, values = top_columns(raw, most, threads)
            known = (ids >= 0) & (values > 0)
            labels[part, :most][known] = self.info.seen[ids[known]]
            scores[part, :most][known] = values[known]
        unscored = labels[:, 0] < 0
        if unscored.any():
            labels[unscored], scores[unscored] = most_frequent(self.frequency, self.n_points, k)
        return labels, scores

    def decision_function(self, X: Any, *, n_jobs: int | None = -1) -> csr_matrix:
        """Return the scores of every label that has one, as CSR (m, L); most methods score every label seen.

        ParameterError where that many scores would not fit into memory: `predict_topk` and `predict` always do.
        """
        X = check_features(as_one_matrix(X), self.n_features, self._owner)
        return self._sparse_scores(X, 0.0, resolve_jobs(n_jobs))

    def predict(self, X: Any, *, n_jobs: int | None = -1) -> csr_matrix:
        """Return the labels that score at least `threshold`, as an indicator CSR (m, L)."""
        X = check_features(as_one_matrix(X), self.n_features, self._owner)
        indicator = self._sparse_scores(X, self.settings["threshold"], resolve_jobs(n_jobs))
        indicator.data = np.ones(len(indicator.data), np.int64)
        return indicator

    def to_state(self) -> tuple[dict[str, Any], dict[str, dict[str, np.ndarray]]]:
        """Return settings as JSON types, and arrays by part."""
        settings = {"parameters": self.settings, "n_features": self.n_features, "n_points": self.n_points}
        parts: dict[str, dict[str, np.ndarray]] = {"labels": {"frequency": self.frequency}}
        for part, matrices in self.arrays().items():
            parts[part] = {}
            for name, matrix in matrices.items():
                put_rows(parts[part], name, matrix)
        return {**settings, "n_labels": self.n_labels}, parts

    @classmethod
    def from_state(cls: type[Model], settings: dict[str, Any], parts: dict[str, dict[str, np.ndarray]]) -> Model:
        """Return the model that `to_state` described; arrays may be memory maps."""
        table = [parameter for parameter in cls.method.parameters if parameter.name not in MACHINE]
        known = check_settings({**defaults(table), **settings["parameters"]}, table, cls.kind)
        frequency = parts["labels"]["frequency"]
        n_features, n_points, n_labels = (read_count(settings, name) for name in ("n_features", "n_points", "n_labels"))
        fine = frequency.dtype == np.int64 and frequency.shape == (n_labels,)
        require(fine and 0 <= int(frequency.min()) <= int(frequency.max()) <= n_points, "labels are not counted")
        arrays = {part: read_part(stored) for part, stored in parts.items() if part != "labels"}
        return cls.from_arrays(FitInfo(known, n_features, n_points, frequency), arrays)

    @property
    def _owner(self) -> str:
        return type(self).__name__.replace("Model", "Classifier")

    def _batches(self, X: Any, threads: int) -> Iterator[tuple[slice, Rows]]:
        """Yield the places of some rows and their scores, (rows, seen)."""
        for first in range(0, X.shape[0], self.batch_rows):
            part = slice(first, min(first + self.batch_rows, X.shape[0]))
            with single_threaded_blas():
                raw = self.scores(prepare_rows(X[part], self.settings), threads)
            yield part, raw[:, : len(self.info.seen)]

    def _sparse_scores(self, X: Any, threshold: float, threads: int) -> csr_matrix:
        """Return the scores above 0 and at or above the threshold, under the labels' own ids: CSR (m, L)."""
        blocks = [csr_matrix((0, self.n_labels))]
        held = 0
        for part, raw in self._batches(X, threads):
            unscored = np.flatnonzero(row_maxima(raw) <= 0)
            raw = csr_matrix(raw, dtype=np.float64)
            pieces = raw.data, self.info.seen[raw.indices], raw.indptr
            block = csr_matrix(pieces, shape=(raw.shape[0], self.n_labels))
            if len(unscored):
                block = block + frequency_scores(self.frequency, self.n_points, unscored, block.shape[0])
            block.data[(block.data <= 0) | (block.data < threshold)] = 0
            block.eliminate_zeros()
            block.sort_indices()
            blocks.append(block)
            held += block.nnz
            _refuse_too_many(2 * 12 * held * X.shape[0] // part.stop, X.shape[0])
        return csr_matrix(sparse.vstack(blocks, format="csr"))


def _refuse_too_many(need: int, rows: int) -> None:
    """Raise ParameterError where the scores of so many rows would need more bytes than the computer has."""
    room = memory.total()
    if room is not None and need > room:
        raise ParameterError(
            f"the scores of all labels for {rows} rows need about {memory.format_bytes(need)}, and there are "
            f"{memory.format_bytes(room)}: ask for fewer rows at a time, or for the best with predict_topk"
        )


def dimension(given: float | str, labels: int, most: int = 500) -> int:
    """Return the number that a setting means: below 1 a share of the labels, "auto" a share of 0.8, at most `most`."""
    if isinstance(given, str):
        return max(1, min(most, round(0.8 * labels)))
    return max(1, round(given * labels) if given < 1 else int(given))

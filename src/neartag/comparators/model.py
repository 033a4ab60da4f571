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

from neartag.comparators.parameters import TABLES
from neartag.core import memory
from neartag.core.errors import ParameterError
from neartag.core.frequent_labels import frequency_scores, most_frequent, rank_by_frequency
from neartag.core.parameters import MACHINE, check_settings, defaults
from neartag.core.threads import resolve_jobs, run_ranges, single_threaded_blas
from neartag.linalg.packing import check_pointers, get_rows, put_rows, read_count, require
from neartag.linalg.rows import DENSE_SHARE, Rows, as_rows, csr_arrays, normalise
from neartag.linalg.validation import check_count, check_features
from neartag.search import topk_kernels

LARGEST_SCORE = np.float32(1e30)
# Scores held at once, which bounds the rows answered at once, and those rows where there are few labels.
BATCH_SCORES, BATCH_ROWS = 2**24, 8192

State = dict[str, dict[str, Any]]  # arrays and CSR matrices by part and name
Model = TypeVar("Model", bound="ScoringModel")


@dataclass(frozen=True)
class Facts:
    """What is known of any fitted comparator."""

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

    kind: ClassVar[str]

    facts: Facts

    @abstractmethod
    def scores(self, rows: Rows, threads: int) -> Rows:
        """Return the scores of the labels seen, from 0 (no support) to 1, as float32 array or CSR (m, facts.width).

        `rows` are as `prepared` makes them. A row without any score above 0 gets the most frequent labels.
        """

    @abstractmethod
    def state(self) -> State:
        """Return what was learned: arrays of at most two dimensions, or CSR matrices, by part and name."""

    @classmethod
    @abstractmethod
    def rebuilt(cls: type[Model], facts: Facts, state: State) -> Model:
        """Return the model of a state; ValueError unless all shapes, types and numbers that point elsewhere are right.

        Of CSR matrices it is known that they are whole. Arrays may be read-only memory maps.
        """

    @property
    def settings(self) -> dict[str, Any]:
        """Every parameter, as trained."""
        return self.facts.settings

    @property
    def parameters(self) -> dict[str, Any]:
        """Every parameter by name, as trained."""
        return self.facts.settings

    @property
    def n_features(self) -> int:
        """Number of features of a row."""
        return self.facts.n_features

    @property
    def n_points(self) -> int:
        """Number of training points."""
        return self.facts.n_points

    @property
    def n_labels(self) -> int:
        """Number of labels, those never seen in training included."""
        return len(self.facts.frequency)

    @property
    def frequency(self) -> np.ndarray:
        """Training points that have each label: (L,)."""
        return self.facts.frequency

    @property
    def batch_rows(self) -> int:
        """Rows answered at once."""
        return max(1, min(BATCH_ROWS, BATCH_SCORES // self.facts.width))

    def __repr__(self) -> str:
        """Say in a line what was trained."""
        return f"{type(self).__name__}({self.n_points} points, {self.n_features} features, {self.n_labels} labels)"

    def adjusted(self: Model, changes: dict[str, Any]) -> Model:
        """Return a model of the same arrays with other settings of prediction; itself where they are its own."""
        settings = {**self.settings, **changes}
        if settings == self.settings:
            return self
        other = copy.copy(self)  # with what was made of the arrays for prediction, which settings do not change
        other.facts = replace(self.facts, settings=settings)
        return other

    def predict_topk(self, X: Any, k: int = 5, *, n_jobs: int | None = -1) -> tuple[np.ndarray, np.ndarray]:
        """Return the k best labels of each row of X, best first, and their scores in [0, 1], both (m, k).

        Ties go to the label more frequent in training, then to the lower id. Where fewer than k labels have a score
        the id is −1 with score 0. A row that has none at all gets the most frequent labels, scored by their frequency.
        """
        check_count("k", k)
        X = check_features(X, self.n_features, self._owner)
        threads = resolve_jobs(n_jobs)
        labels = np.full((X.shape[0], k), -1, np.int32)
        scores = np.zeros((X.shape[0], k))
        most = min(k, len(self.facts.seen))
        for part, found in self._batches(X, threads):
            ids, values = best(found, most, threads)
            known = (ids >= 0) & (values > 0)
            labels[part, :most][known] = self.facts.seen[ids[known]]
            scores[part, :most][known] = values[known]
        unheard = labels[:, 0] < 0
        if unheard.any():
            labels[unheard], scores[unheard] = most_frequent(self.frequency, self.n_points, k)
        return labels, scores

    def decision_function(self, X: Any, *, n_jobs: int | None = -1) -> csr_matrix:
        """Return the scores of every label that has one, as CSR (m, L); most methods score every label seen.

        ParameterError where that many scores would not fit into memory: `predict_topk` and `predict` always do.
        """
        X = check_features(X, self.n_features, self._owner)
        return self._stacked(X, 0.0, resolve_jobs(n_jobs))

    def predict(self, X: Any, *, n_jobs: int | None = -1) -> csr_matrix:
        """Return the labels that score at least `threshold`, as an indicator CSR (m, L)."""
        X = check_features(X, self.n_features, self._owner)
        indicator = self._stacked(X, self.settings["threshold"], resolve_jobs(n_jobs))
        indicator.data = np.ones(len(indicator.data), np.int64)
        return indicator

    def to_state(self) -> tuple[dict[str, Any], dict[str, dict[str, np.ndarray]]]:
        """Return settings as JSON types, and arrays by part."""
        settings = {"parameters": self.settings, "n_features": self.n_features, "n_points": self.n_points}
        arrays: dict[str, dict[str, np.ndarray]] = {"labels": {"frequency": self.frequency}}
        for part, matrices in self.state().items():
            arrays[part] = {}
            for name, matrix in matrices.items():
                put_rows(arrays[part], name, matrix)
        return {**settings, "n_labels": self.n_labels}, arrays

    @classmethod
    def from_state(cls: type[Model], settings: dict[str, Any], parts: dict[str, dict[str, np.ndarray]]) -> Model:
        """Return the model that `to_state` described; arrays may be memory maps."""
        table = [parameter for parameter in TABLES[cls.kind] if parameter.name not in MACHINE]
        known = check_settings({**defaults(table), **settings["parameters"]}, table, cls.kind)
        frequency = parts["labels"]["frequency"]
        n_features, n_points, n_labels = (read_count(settings, name) for name in ("n_features", "n_points", "n_labels"))
        fine = frequency.dtype == np.int64 and frequency.shape == (n_labels,)
        require(fine and 0 <= int(frequency.min()) <= int(frequency.max()) <= n_points, "labels are not counted")
        state = {part: _matrices(arrays) for part, arrays in parts.items() if part != "labels"}
        return cls.rebuilt(Facts(known, n_features, n_points, frequency), state)

    @property
    def _owner(self) -> str:
        return type(self).__name__.replace("Model", "Classifier")

    def _batches(self, X: Any, threads: int) -> Iterator[tuple[slice, Rows]]:
        """Yield the places of some rows and their scores, (rows, seen)."""
        for first in range(0, X.shape[0], self.batch_rows):
            part = slice(first, min(first + self.batch_rows, X.shape[0]))
            with single_threaded_blas():
                found = self.scores(prepared(X[part], self.settings), threads)
            yield part, found[:, : len(self.facts.seen)]

    def _stacked(self, X: Any, threshold: float, threads: int) -> csr_matrix:
        """Return the scores above 0 and at or above the threshold, under the labels' own ids: CSR (m, L)."""
        blocks = [csr_matrix((0, self.n_labels))]
        held, room = 0, memory.total()
        for part, found in self._batches(X, threads):
            unheard = np.flatnonzero(_largest(found) <= 0)
            found = csr_matrix(found, dtype=np.float64)
            pieces = found.data, self.facts.seen[found.indices], found.indptr
            block = csr_matrix(pieces, shape=(found.shape[0], self.n_labels))
            if len(unheard):
                block = block + frequency_scores(self.frequency, self.n_points, unheard, block.shape[0])
            block.data[(block.data <= 0) | (block.data < threshold)] = 0
            block.eliminate_zeros()
            block.sort_indices()
            blocks.append(block)
            held += block.nnz
            need = 2 * 12 * held * X.shape[0] // part.stop
            if room is not None and need > room:
                raise ParameterError(
                    f"the scores of all labels for {X.shape[0]} rows need about {memory.format_bytes(need)}, and there "
                    f"are {memory.format_bytes(room)}: ask for fewer rows at a time, or for the best with predict_topk"
                )
        return csr_matrix(sparse.vstack(blocks, format="csr"))


def prepared(X: Any, settings: dict[str, Any]) -> Rows:
    """Return rows as a method gets them: scaled, the constant added, and dense where well filled, else CSR.

    A dense X then gives what the same X in sparse form gives, to the last bit.
    """
    rows = as_rows(X)
    entries = rows.nnz if sparse.issparse(rows) else np.count_nonzero(rows)
    filled = entries >= DENSE_SHARE * max(1, rows.shape[0] * rows.shape[1])
    if filled and sparse.issparse(rows):
        rows = rows.toarray()
    elif not filled and not sparse.issparse(rows):
        rows = csr_matrix(rows)
    if settings["row_scale"] == "unit":
        rows = normalise(rows)
    bias = settings.get("bias", 0)
    if bias > 0:
        constant = np.full((rows.shape[0], 1), bias, np.float32)
        rows = sparse.hstack([rows, constant], format="csr") if sparse.issparse(rows) else np.hstack([rows, constant])
        rows = as_rows(rows)
    return rows


def best(scores: Rows, k: int, threads: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns with the k largest scores of each row, best first, ties to the lower one, and the scores."""
    m = scores.shape[0]
    ids, values = np.empty((m, k), np.int32), np.empty((m, k), np.float32)
    if k == 0:
        return ids, values
    if sparse.issparse(scores):
        rows = as_rows(scores)
        arrays = csr_arrays(rows)
        run_ranges(topk_kernels.sparse_row_top, m, threads, arrays, ids, values, work=arrays[0])
    else:
        run_ranges(topk_kernels.row_top, m, threads, np.ascontiguousarray(scores, np.float32), 0, ids, values)
    return ids, values


def to_unit_interval(raw: np.ndarray, middle: float) -> np.ndarray:
    """Return scores of any size as numbers between 0 and 1 in their order, 0.5 for `middle`: float32.

    They are no probabilities. s / (1 + |s|) keeps apart what a logistic curve would round to the same number.
    """
    # Features near the largest float32 overflow in products: what is beyond all numbers stays the largest of them.
    raw = np.clip(np.nan_to_num(np.asarray(raw, np.float32), nan=middle), -LARGEST_SCORE, LARGEST_SCORE)
    raw = raw - np.float32(middle)
    return (0.5 + raw / (1 + 2 * np.abs(raw))).astype(np.float32)


def dimension(given: float | str, labels: int, most: int = 500) -> int:
    """Return the number that a setting of `_dimension` means: below 1 a share of the labels, "auto" 0.8, bounded."""
    if isinstance(given, str):
        return max(1, min(most, round(0.8 * labels)))
    return max(1, round(given * labels) if given < 1 else int(given))


def _largest(scores: Rows) -> np.ndarray:
    if scores.shape[1] == 0:
        return np.zeros(scores.shape[0])
    largest = scores.max(axis=1)
    return np.asarray(largest.todense() if sparse.issparse(largest) else largest).ravel()


def _matrices(arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """Return a part's arrays and CSR matrices, the latter whole: no pointer leads out of them."""
    found: dict[str, Any] = {}
    for name in arrays:
        stem, _, piece = name.rpartition(".")
        if not stem:
            found[name] = arrays[name]
        elif piece == "shape":
            height, width = (int(side) for side in arrays[name])
            indptr, indices, data = (arrays[f"{stem}.{each}"] for each in ("indptr", "indices", "data"))
            check_pointers(stem, indptr, indices, width)
            fine = len(indptr) == height + 1 and data.dtype == np.float32 and data.shape == indices.shape
            require(fine, f"{stem} is no CSR matrix of {height} rows")
            found[stem] = get_rows(arrays, stem)
    return found


def check_array(state: State, part: str, name: str, shape: tuple[int, ...], dtype: Any = np.float32) -> Any:
    """Return an array or CSR matrix of a state; ValueError unless it has this shape and type."""
    found = state[part][name]
    fine = found.shape == shape and found.dtype == dtype
    require(fine, f"{name} is {found.dtype} {found.shape}, not {np.dtype(dtype)} {shape}")
    return found


def check_dense(state: State, part: str, name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Return a float32 array of a state; ValueError unless it has this shape and is no CSR matrix."""
    found = check_array(state, part, name, shape)
    require(isinstance(found, np.ndarray), f"{name} is no dense matrix")
    return found

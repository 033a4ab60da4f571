"""A linear support vector machine for each label: the yardstick of accuracy where there are not too many labels.

Fan, Chang, Hsieh, Wang, Lin, "LIBLINEAR: a library for large linear classification", JMLR 2008, by scikit-learn.

Objective, for each label with signs sᵢ = ±1: minimise over w: ½‖w‖² + C · Σᵢ max(0, 1 − sᵢ·w·xᵢ)². A constant feature
of value `bias` takes the place of an intercept. A label's score is its margin w·x. A label that every training point
has cannot be told from anything, and its margin is 1 everywhere.

It is solved in the primal, by trust-region Newton steps. Liblinear's other solver, of the dual, draws random numbers
from one generator for the whole process, so that with several threads the weights would depend on who ran when; it is
not much quicker either.

Cost: some 10 to 50 passes over the entries a label, n · d̄ · L in all, with d̄ features a row. That is a matter of
minutes for thousands of labels and points, and of hours for 24,000 labels and 100,000 points. A point's prediction
takes the weights of its features, d̄ · L at most. Memory: 8 bytes a weight that is kept, d · L at most; twice that
while they are put in order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import csr_matrix
from sklearn import config_context
from sklearn.svm import LinearSVC

from neartag.comparators.base import Comparator, Shape, from_table
from neartag.comparators.model import Facts, ScoringModel, State, check_array, to_unit_interval
from neartag.core.errors import ParameterError
from neartag.core.progress import Progress
from neartag.core.threads import run_pieces
from neartag.linalg import csr
from neartag.linalg.products import matmul
from neartag.linalg.rows import Rows, compact, transpose

# Of the gradient, relative to its first size and the rarer side's share. Liblinear's own 0.01 is a little quicker, and
# leaves weights that are off by as much as 0.1.
TOLERANCE = 1e-4
# Newton steps at most; a few dozen are usual.
STEPS = 1000
LARGEST_PROBLEM = 2**31 - 1  # entries that liblinear can count


@dataclass(frozen=True)
class Machines:
    """A linear function of the features for each label."""

    weights: csr_matrix  # (labels, d)
    offset: np.ndarray  # (labels,) float32


def learn(rows: Rows, Y: csr_matrix, C: float, keep_above: float, threads: int, progress: Progress) -> Machines:
    """Return the machines of all labels of Y (n, labels), without weights of a size up to `keep_above`.

    Of a feature with values beyond 1, the weight times the largest of them must be above that.
    """
    X, columns = _as_liblinear_wants(rows), Y.tocsc()
    # Large features have small weights: what counts is the most that a weight adds to a margin.
    least = keep_above / np.maximum(1, largest_sizes(rows))  # (d,)
    n, labels = Y.shape
    found: list[tuple[np.ndarray, np.ndarray]] = [(np.empty(0, np.int32), np.empty(0, np.float32))] * labels
    counts = np.diff(columns.indptr)

    def part(start: int, stop: int) -> None:
        # Checked once for all labels; the setting belongs to the thread.
        with config_context(assume_finite=True, skip_parameter_validation=True):
            for label in range(start, stop):
                if 0 < counts[label] < n:
                    target = np.zeros(n)
                    target[columns.indices[columns.indptr[label] : columns.indptr[label + 1]]] = 1
                    found[label] = _kept(separator(X, target, C), least)
                progress.advance()

    with progress.start(labels, "labels"):
        run_pieces(part, labels, threads, min_size=1)
    pointer = csr.pointer([len(ids) for ids, _ in found])
    ids, values = (np.concatenate(pieces) for pieces in zip(*found, strict=True))
    weights = csr_matrix((values, ids, pointer), shape=(labels, rows.shape[1]))
    return Machines(weights, (counts == n).astype(np.float32))


def separator(X: Rows, target: np.ndarray, C: float) -> np.ndarray:
    """Return the weights (d,) that part the rows whose target is 1 from those whose is 0; there must be both."""
    machine = LinearSVC(
        penalty="l2", loss="squared_hinge", dual=False, C=C, tol=TOLERANCE, max_iter=STEPS, fit_intercept=False
    )
    return machine.fit(X, target).coef_.ravel()


def _as_liblinear_wants(rows: Rows) -> Rows:
    """Return rows in float64 with 32-bit indices, so that no label's training makes a copy of its own."""
    if not sparse.issparse(rows):
        return rows.astype(np.float64)
    if rows.nnz > LARGEST_PROBLEM:
        raise ParameterError(f"X has {rows.nnz} entries, and one_vs_all takes {LARGEST_PROBLEM} at most")
    pieces = rows.data.astype(np.float64), rows.indices.astype(np.int32), rows.indptr.astype(np.int32)
    return csr_matrix(pieces, shape=rows.shape)


def largest_sizes(rows: Rows) -> np.ndarray:
    """Return the largest |value| of each feature: (d,) float64."""
    if not sparse.issparse(rows):
        return np.maximum(rows.max(axis=0), -rows.min(axis=0)).astype(np.float64)
    sizes = np.zeros(rows.shape[1])
    np.maximum.at(sizes, rows.indices, np.abs(rows.data))
    return sizes


def _kept(weights: np.ndarray, above: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the places and values of the weights of more than the size given for each."""
    ids = np.flatnonzero(np.abs(weights) > above)
    return ids.astype(np.int32), weights[ids].astype(np.float32)


def memory_of_machines(shape: Shape, threads: int) -> int:
    """Return about how many bytes `learn` takes, were every weight kept."""
    problems = threads * (16 * shape.entries + 80 * (shape.points + shape.features))
    return 12 * shape.entries + problems + 16 * shape.features * shape.labels


@dataclass(repr=False)
class OneVsAllModel(ScoringModel):
    """The weights of each label."""

    kind = "one_vs_all"

    weights: Rows  # (columns, seen), CSR unless well filled
    offset: np.ndarray  # (seen,) float32

    def scores(self, rows: Rows, threads: int) -> np.ndarray:
        """Return the margins, squashed: 0.5 is on the border."""
        margins = matmul(rows, self.weights, threads)  # (m, seen)
        margins += self.offset
        return to_unit_interval(margins, 0)

    def state(self) -> State:
        """Return the weights and offsets."""
        return {"machines": {"weights": self.weights, "offset": self.offset}}

    @classmethod
    def rebuilt(cls, facts: Facts, state: State) -> OneVsAllModel:
        """Return the model of a state."""
        weights = check_array(state, "machines", "weights", (facts.columns, facts.width))
        return cls(facts, weights, check_array(state, "machines", "offset", (facts.width,)))


@from_table
class OneVsAllClassifier(Comparator):
    """A linear support vector machine with squared hinge loss for each label, each trained by itself."""

    method = "one_vs_all"

    def _train(self, rows: Rows, Y: csr_matrix, facts: Facts, threads: int, progress: Progress) -> OneVsAllModel:
        settings = facts.settings
        machines = learn(rows, Y, settings["C"], settings["keep_above"], threads, progress)
        return OneVsAllModel(facts, compact(transpose(machines.weights)), machines.offset)

    def _memory(self, shape: Shape, settings: dict[str, Any], threads: int) -> int:
        return memory_of_machines(shape, threads)

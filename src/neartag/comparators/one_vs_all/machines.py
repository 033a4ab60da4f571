"""Linear support vector machines, one for each label, by liblinear; LPSR learns its base scorer by them too."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse import csr_matrix
from sklearn import config_context
from sklearn.svm import LinearSVC

from neartag.comparators.shared.base import Shape
from neartag.core.errors import ParameterError
from neartag.core.progress import Progress
from neartag.core.threads import run_pieces
from neartag.linalg import csr
from neartag.linalg.rows import Rows

# Of the gradient, relative to its first size and the rarer side's share. Liblinear's own 0.01 is a little quicker, and
# leaves weights that are off by as much as 0.1.
GRADIENT_TOLERANCE = 1e-4
# Newton steps at most; a few dozen are usual.
NEWTON_STEPS = 1000
MAX_ENTRIES = 2**31 - 1  # entries that liblinear can count


@dataclass(frozen=True)
class Machines:
    """A linear function of the features for each label."""

    weights: csr_matrix  # (labels, d)
    offset: np.ndarray  # (labels,) float32


def fit_machines(rows: Rows, Y: csr_matrix, C: float, keep_above: float, threads: int, progress: Progress) -> Machines:
    """Return the machines of all labels of Y (n, labels), without weights of a size up to `keep_above`.

    Of a feature with values beyond 1, the weight times the largest of them must be above that.
    """
    X, columns = _to_liblinear(rows), Y.tocsc()
    # Large features have small weights: what counts is the most that a weight adds to a margin.
    least = keep_above / np.maximum(1, largest_sizes(rows))  # (d,)
    n, labels = Y.shape
    machines: list[tuple[np.ndarray, np.ndarray]] = [(np.empty(0, np.int32), np.empty(0, np.float32))] * labels
    counts = np.diff(columns.indptr)

    def part(start: int, stop: int) -> None:
        # Checked once for all labels; the setting belongs to the thread.
        with config_context(assume_finite=True, skip_parameter_validation=True):
            for label in range(start, stop):
                if 0 < counts[label] < n:
                    target = np.zeros(n)
                    target[columns.indices[columns.indptr[label] : columns.indptr[label + 1]]] = 1
                    machines[label] = _keep_large(separator(X, target, C), least)
                progress.advance()

    with progress.start(labels, "labels"):
        run_pieces(part, labels, threads, min_size=1)
    pointer = csr.pointer([len(ids) for ids, _ in machines])
    ids, values = (np.concatenate(pieces) for pieces in zip(*machines, strict=True))
    weights = csr_matrix((values, ids, pointer), shape=(labels, rows.shape[1]))
    return Machines(weights, (counts == n).astype(np.float32))


def separator(X: Rows, target: np.ndarray, C: float) -> np.ndarray:
    """Return the weights (d,) that part the rows whose target is 1 from those whose is 0; there must be both."""
    machine = LinearSVC(
        penalty="l2",
        loss="squared_hinge",
        dual=False,
        C=C,
        tol=GRADIENT_TOLERANCE,
        max_iter=NEWTON_STEPS,
        fit_intercept=False,
    )
    return machine.fit(X, target).coef_.ravel()


def _to_liblinear(rows: Rows) -> Rows:
    """Return rows in float64 with 32-bit indices, so that no label's training makes a copy of its own."""
    if not sparse.issparse(rows):
        return rows.astype(np.float64)
    if rows.nnz > MAX_ENTRIES:
        raise ParameterError(f"X has {rows.nnz} entries, and one_vs_all takes {MAX_ENTRIES} at most")
    pieces = rows.data.astype(np.float64), rows.indices.astype(np.int32), rows.indptr.astype(np.int32)
    return csr_matrix(pieces, shape=rows.shape)


def largest_sizes(rows: Rows) -> np.ndarray:
    """Return the largest |value| of each feature: (d,) float64."""
    if not sparse.issparse(rows):
        return np.maximum(rows.max(axis=0), -rows.min(axis=0)).astype(np.float64)
    sizes = np.zeros(rows.shape[1])
    np.maximum.at(sizes, rows.indices, np.abs(rows.data))
    return sizes


def _keep_large(weights: np.ndarray, above: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the places and values of the weights of more than the size given for each."""
    ids = np.flatnonzero(np.abs(weights) > above)
    return ids.astype(np.int32), weights[ids].astype(np.float32)


def machines_memory(shape: Shape, threads: int) -> int:
    """Return about how many bytes `fit_machines` takes, were every weight kept."""
    problems = threads * (16 * shape.entries + 80 * (shape.points + shape.features))
    return 12 * shape.entries + problems + 16 * shape.features * shape.labels

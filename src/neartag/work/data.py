"""The data of a training as parts: rows, labels, and which points are held out at first."""

from __future__ import annotations

import hashlib

import numpy as np
from scipy.sparse import csr_matrix

from neartag.linalg.hybrid_rows import HybridRows
from neartag.linalg.rows import Rows
from neartag.work.parts import Arrays, Parts, TaskContext, get_matrix, put_matrix

ROWS, LABELS, HELD_OUT, OTHERS, VECTOR_WEIGHT = "rows", "labels", "held-out", "others", "vector-weight"
GIVEN = (ROWS, LABELS, HELD_OUT)


def put_data(parts: Parts, rows: Rows, Y: csr_matrix, held_out: np.ndarray) -> None:
    """Put the data, where they are not there already."""
    for name, make in (
        (ROWS, lambda: matrix_part(rows)),
        (LABELS, lambda: matrix_part(Y)),
        (HELD_OUT, lambda: {"points": np.asarray(held_out, np.int64)}),
    ):
        if not parts.is_whole(name):
            parts.put(name, make())


def matrix_part(rows: Rows) -> Arrays:
    """Return the part of one matrix."""
    arrays: Arrays = {}
    put_matrix(arrays, "matrix", rows)
    return arrays


def digest_matrix(rows: Rows) -> str:
    """Return the SHA-256 of all numbers of a matrix."""
    arrays, digest = matrix_part(rows), hashlib.sha256()
    for name in sorted(arrays):
        digest.update(np.ascontiguousarray(arrays[name]).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def read_matrix(context: TaskContext, name: str) -> Rows:
    """Return the matrix of a part."""
    return get_matrix(context.get(name), "matrix")


def read_rows(context: TaskContext, of: str = "all") -> Rows:
    """Return the unit rows (n, d) of all points, or of those not held out; hybrid ones weighed."""
    rows = read_matrix(context, ROWS if of == "all" else f"{OTHERS}/{ROWS}")
    if isinstance(rows, HybridRows) and context.has(VECTOR_WEIGHT):
        return rows.weigh(float(context.get(VECTOR_WEIGHT)["weight"][0]))
    return rows


def read_labels(context: TaskContext, of: str = "all") -> csr_matrix:
    """Return the labels (n, L) of all points, or of those not held out."""
    return read_matrix(context, LABELS if of == "all" else f"{OTHERS}/{LABELS}")


def read_held_out(context: TaskContext) -> np.ndarray:
    """Return which points are held out."""
    return context.get(HELD_OUT)["points"]

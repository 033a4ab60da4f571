"""What the tests of kernels share: parts of rows, read-only arrays, random sparse matrices."""

from __future__ import annotations

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse import csr_matrix

UNTOUCHED = -7.0  # stands in `out` before the call, and must still stand in the rows outside start…stop
seeds = st.integers(0, 2**32 - 1)
quick = settings(max_examples=40)


@st.composite
def ranges(draw, most=12):
    """Return n, start and stop: any part of n rows, the empty one and the whole included."""
    n = draw(st.integers(1, most))
    start = draw(st.integers(0, n))
    return n, start, draw(st.integers(start, n))


def frozen(*arrays):
    """Return the arrays as they come out of a memory map: in the kernels' types, and read-only."""
    for array in arrays:
        array.setflags(write=False)
    return arrays


def parts(matrix):
    return frozen(
        matrix.indptr.astype(np.int64),
        matrix.indices.astype(np.int32),
        matrix.data.astype(np.float32),
    )


def random_csr(random, n, width, most=9):
    """Return rows of 0 to `most` entries: below, at and above the four that a kernel takes at once."""
    rows = [np.sort(random.permutation(width)[: random.integers(0, min(most, width) + 1)]) for _ in range(n)]
    indptr = np.cumsum([0] + [len(row) for row in rows])
    values = random.standard_normal(indptr[-1]).astype(np.float32)
    return csr_matrix((values, np.concatenate([*rows, []]).astype(np.int32), indptr), shape=(n, width))


def random_rows(n=30, d=20, density=0.2, seed=0):
    """Return sparse rows, the first and the last of them empty."""
    matrix = sparse.random(n, d, density, format="lil", dtype=np.float32, random_state=seed)
    matrix[0], matrix[n - 1] = 0, 0
    return csr_matrix(matrix)


def random_labels(random, n, n_labels, most=4):
    labels = random_csr(random, n, n_labels, most)
    labels.data[:] = 1
    return labels


def outside(array, start, stop):
    return np.concatenate([array[:start], array[stop:]])

"""Ridge regression of a few targets on the features: what several comparators learn.

    min over W of ‖Z − X W‖² + λ ‖W‖²        X (n, d), Z (n, targets), W (d, targets)

The solver is X1's: a Cholesky factor of the smaller of XᵀX and XXᵀ, or conjugate gradients where that costs less or
neither factor would be small enough.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from neartag.comparators.shared.base import Shape
from neartag.linalg.rows import DENSE_SHARE, Rows
from neartag.x1.regression import admm, cheapest_solver_for


def ridge(X: Rows, Z: np.ndarray, l2: float, threads: int = 1) -> np.ndarray:
    """Return the weights W (d, targets) in float32."""
    # The solver judges by λ and n alone whether single precision is enough, which is right for rows of length 1 at
    # most; with longer ones the problem is the same as that of X / s and λ / s², whose solution is s W.
    square = _longest_square(X)
    if square <= 1:
        return admm(X, Z, l2=l2, threads=threads).weights
    length = np.float32(np.sqrt(square))
    return admm(X / length, Z, l2=l2 / float(length) ** 2, threads=threads).weights / length


def _longest_square(X: Rows) -> float:
    """Return the largest squared length of a row."""
    if not sparse.issparse(X):
        return float(np.einsum("ij,ij->i", X, X, dtype=np.float64).max(initial=0))
    filled = np.diff(X.indptr) > 0
    squares = np.add.reduceat(X.data.astype(np.float64) ** 2, X.indptr[:-1][filled]) if filled.any() else np.zeros(1)
    return float(squares.max(initial=0))


def ridge_memory(shape: Shape, targets: int) -> int:
    """Return about how many bytes `ridge` takes, its targets and weights included."""
    n, d, stored = shape.points, shape.features, shape.entries
    scattered = stored < DENSE_SHARE * n * d
    solver = cheapest_solver_for(n, d, stored, scattered, targets)
    entry = 8 if scattered else 4  # an index beside each value
    # The rows scaled and transposed, and one of them in float64; targets and weights in float32.
    always = stored * (2 * entry + 8) + 4 * targets * (n + d)
    if solver == "cg":
        return always + 4 * targets * (5 * d + n)
    side = d if solver == "primal" else n
    return always + 8 * side * side + 8 * targets * (2 * side + d)  # right sides and solutions in float64 at worst

"""The numba kernel of voters' weights, and the type of voters.

It works on the rows start…stop, releases the GIL and is compiled once for the types named. A test holds it against
plain numpy lines.
"""

from __future__ import annotations

import numpy as np

from neartag.core import kernel_types as types
from neartag.core.jit import COUNT, DOUBLE, ID, MATRIX, kernel, read

VOTERS = types.Tuple((read(ID, 2), read(DOUBLE, 2)))  # who votes on each row, −1: nobody, and with what weight


@kernel(types.void(MATRIX, DOUBLE, DOUBLE[:, ::1], COUNT, COUNT))
def shares(similarity, sharpness, out, start, stop):
    """out = exp(sharpness · (similarity − the row's largest)), rows summing to 1; −inf marks nobody, with share 0."""
    for i in range(start, stop):
        best, total = -np.inf, 0.0
        for v in range(similarity.shape[1]):
            best = max(best, np.float64(similarity[i, v]))
        for v in range(similarity.shape[1]):
            # Relative to the nearest, which changes no share: however sharp the weights, they do not all vanish.
            out[i, v] = np.exp(sharpness * (similarity[i, v] - best)) if similarity[i, v] > -np.inf else 0.0
            total += out[i, v]
        for v in range(similarity.shape[1]):
            out[i, v] /= total if total > 0.0 else 1.0

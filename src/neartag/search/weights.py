"""How much each neighbour's vote weighs, from how similar it is."""

from __future__ import annotations

import numpy as np

from neartag.core.errors import ParameterError
from neartag.core.parameters import VOTE_WEIGHTS
from neartag.search import weight_kernels

Voters = tuple[np.ndarray, np.ndarray]  # row numbers, −1: nobody, and shares of the vote (m, voters)
# Sharpness for neighbours by features. Cosines of text rows are low, so their weights fall less steeply than those of
# embeddings.
FEATURE_SHARPNESS = 10.0
# Sharpness for neighbours by vectors of a sentence encoder.
VECTOR_SHARPNESS = 20.0


def no_voters(m: int) -> Voters:
    """Return no voters for so many points."""
    return np.full((m, 1), -1, np.int32), np.zeros((m, 1))


def voter_weights(cosines: np.ndarray, kind: str = "similarity", sharpness: float = 20.0) -> np.ndarray:
    """Return each voter's share (m, count) in float64, rows summing to 1; −inf marks a missing voter, with share 0.

    "similarity": exp(sharpness · (cos − 1)); "uniform": one voter, one vote, as in the paper.
    """
    if kind not in VOTE_WEIGHTS:
        raise ParameterError(f"vote_weight must be one of {VOTE_WEIGHTS}, not {kind!r}")
    out = np.empty(cosines.shape)
    weight_kernels.shares(cosines, sharpness if kind == "similarity" else 0.0, out, 0, len(out))
    return out

"""Parameters that several comparators have: limits, defaults, and what each one's paper calls it."""

from __future__ import annotations

from neartag.core.parameters import MAX_COUNT, MAX_PENALTY, N_JOBS, RANDOM_STATE, THRESHOLD, Parameter
from neartag.x1.parameters import PARAMETERS

# This module must stay light: the command line reads it for --help.
ROW_SCALE = Parameter(
    "row_scale", str, "unit", "feature rows scaled to unit length, or raw as given", choices=("unit", "raw")
)
MAX_MEMORY = Parameter(
    "max_memory",
    bytes,
    None,
    "memory that training may use in all; it refuses to begin where it would need more. None: what the computer has",
    optional=True,
)
NEIGHBOURS = Parameter("neighbours", int, 20, "nearest training points that vote, k", 1, MAX_COUNT)
COMMON = (ROW_SCALE, THRESHOLD, RANDOM_STATE, N_JOBS, MAX_MEMORY)
# X1's own, for a method that does the same step in the same way.
X1_PARAMETERS = {parameter.name: parameter for parameter in PARAMETERS}
# Penalties that tuning tries, the likeliest first, and both ways to scale rows.
TRIED_L2, TRIED_SCALES = [1.0, 0.1, 3.0, 10.0], {"row_scale": ["unit", "raw"]}


def bias(default: float) -> Parameter:
    """Return the parameter of a constant feature."""
    return Parameter("bias", float, default, "value of a constant feature added to each row; 0: none", 0, 1e6)


def l2(default: float, meaning: str) -> Parameter:
    """Return the parameter of an L2 penalty."""
    return Parameter("l2", float, default, meaning, 0, MAX_PENALTY)


def share_or_number(name: str, letter: str) -> Parameter:
    """Return the parameter of a dimension, a share of the labels or a number; `model.dimension` reads it."""
    return Parameter(
        name,
        float,
        "auto",
        f"{letter}: below 1 a share of the labels, from 1 on a number; auto: 0.8 of the labels, at most 500",
        1e-6,
        MAX_COUNT,
        choices=("auto",),
    )

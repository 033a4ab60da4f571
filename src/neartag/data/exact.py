"""Decimal texts read as float32 without the error of rounding twice."""

from __future__ import annotations

from decimal import Decimal

import numpy as np


def nearest_single(text: str) -> np.float32:
    """Return the float32 nearest to a decimal number, infinity if it is too large.

    Through a double the number is rounded twice, which goes wrong where the double lies just between two float32.
    """
    double = float(text)
    with np.errstate(over="ignore"):
        single = np.float32(double)
        other = np.float32(2 * double - float(single))  # the other neighbour, where the double lies just between
    halfway = float(single) != double and float(single) + float(other) == 2 * double
    if not halfway or not np.isfinite(single):
        return single
    exact, middle = Decimal(text), Decimal(double)
    if exact == middle:
        return single
    return max(single, other) if exact > middle else min(single, other)

"""The kernel that writes the XMC text format: rows of labels and features into bytes.

A value is written with the fewest digits that surely read back as the same float32: those of a decimal just between
two float32, which only the rule for ties decides, do not count.
"""

# ruff: noqa: ANN001, ANN201 (a kernel has its types in its signature)
from __future__ import annotations

import math

import numpy as np
from numba import float32, int32, int64, njit, types, uint8

# numba's cache of this file does not see a change in that one: touch this file after such a change.
from neartag.data.parse import POWERS_OF_TEN, nearest_single

# The most bytes that a pair (a space, 10 digits, a colon, 16 of a number) and a label (a comma, 10 digits) take.
PAIR_BYTES, LABEL_BYTES = 28, 11

_NEWLINE, _SPACE, _COMMA, _MINUS, _POINT, _ZERO, _COLON, _E = b"\n ,-.0:e"
_MOST_DIGITS = 9  # always enough for a float32
# Numbers from 0.0001 to below 10^9 are written without an exponent.
_SMALLEST_POINT, _LARGEST_POINT = -3, 9

_POINTERS, _IDS, _VALUES = (types.Array(kind, 1, "C", readonly=True) for kind in (int64, int32, float32))
_RENDER = int64(_POINTERS, _IDS, _POINTERS, _IDS, _VALUES, int64, int64, uint8[::1])


@njit
def _put_whole(out, position, number):
    """Write a whole number and return where it ends."""
    width, rest = 1, number // 10
    while rest > 0:
        width += 1
        rest //= 10
    for place in range(position + width - 1, position - 1, -1):
        out[place] = _ZERO + number % 10
        number //= 10
    return position + width


@njit
def _shortest(value):
    """Return the mantissa and the power of ten of the shortest decimal that reads as a positive float32."""
    top = math.floor(math.log10(value))
    mantissa, exponent = 0, 0
    for digits in range(1, _MOST_DIGITS + 1):
        exponent = top + 1 - digits
        scaled = value / POWERS_OF_TEN[exponent] if exponent >= 0 else value * POWERS_OF_TEN[-exponent]
        mantissa = int(np.rint(scaled))
        sure, read = nearest_single(mantissa, exponent)
        if sure and read == value:
            break
    while mantissa % 10 == 0:
        mantissa //= 10
        exponent += 1
    return mantissa, exponent


@njit
def _put_value(out, position, value):
    """Write a finite float32 and return where it ends."""
    if math.copysign(1.0, value) < 0:
        out[position] = _MINUS
        position += 1
    if value == 0:
        return _put_whole(out, position, 0)
    mantissa, exponent = _shortest(abs(float(value)))
    end = _put_whole(out, position, mantissa)
    digits = end - position
    point = digits + exponent  # how many digits stand before the decimal point
    if exponent >= 0 and point <= _LARGEST_POINT:
        out[end : end + exponent] = _ZERO
        return end + exponent
    if 0 < point <= _LARGEST_POINT:
        for place in range(end, position + point, -1):
            out[place] = out[place - 1]
        out[position + point] = _POINT
        return end + 1
    if _SMALLEST_POINT <= point <= 0:
        lead = 2 - point  # "0." and the zeros after it
        for place in range(end - 1, position - 1, -1):
            out[place + lead] = out[place]
        out[position : position + lead] = _ZERO
        out[position + 1] = _POINT
        return end + lead
    if digits > 1:
        for place in range(end, position + 1, -1):
            out[place] = out[place - 1]
        out[position + 1] = _POINT
        end += 1
    out[end] = _E
    end += 1
    if point < 1:
        out[end] = _MINUS
        end += 1
    if abs(point - 1) < 10:  # two digits at least, as C and Python write it
        out[end] = _ZERO
        end += 1
    return _put_whole(out, end, abs(point - 1))


@njit(_RENDER, cache=True, nogil=True)
def render_rows(label_pointers, label_ids, feature_pointers, feature_ids, values, first, last, out):
    """Write rows `first` to `last` into `out`, which has room for them, and return the number of bytes."""
    position = 0
    for row in range(first, last):
        for place in range(label_pointers[row], label_pointers[row + 1]):
            if place > label_pointers[row]:
                out[position] = _COMMA
                position += 1
            position = _put_whole(out, position, label_ids[place])
        for place in range(feature_pointers[row], feature_pointers[row + 1]):
            out[position] = _SPACE
            position = _put_whole(out, position + 1, feature_ids[place])
            out[position] = _COLON
            position = _put_value(out, position + 1, values[place])
        out[position] = _NEWLINE
        position += 1
    return position

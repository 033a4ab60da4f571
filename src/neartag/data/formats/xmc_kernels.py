"""The kernels that read and write the XMC text format: bytes into rows of labels and features, and back.

Reading: a decimal number is a whole number of at most 19 digits times a power of ten. Its double is wrong by a few
units in the last place at most. Where both ends of that margin round to the same float32, that float32 is the right
one. Where they do not (about once in ten million numbers), the caller reads the number exactly.

Writing: a value gets the fewest digits that surely read back as the same float32. A decimal exactly between two
float32, which only the rule for ties decides, does not count as sure.
"""

from __future__ import annotations

import math

import numpy as np

from neartag.core import kernel_types as types
from neartag.core.jit import COUNT, FLOAT, ID, IDS, POINTER, VALUES, inner_kernel, kernel, read

# What is wrong at the position returned.
FINE, BAD_LABEL, LABEL_RANGE, BAD_FEATURE, FEATURE_RANGE, BAD_VALUE, TOO_LARGE = range(7)

_TAB, _NEWLINE, _RETURN, _SPACE, _PLUS, _COMMA, _MINUS, _POINT, _ZERO, _NINE, _COLON = b"\t\n\r +,-.09:"
_LOWER_E, _UPPER_E = b"eE"

# float32 reaches from 1e-45 to 3e38; 19 digits before the smallest of them make 64.
_POWERS_OF_TEN = np.array([float(f"1e{power}") for power in range(65)])
# The product or quotient of three rounded numbers, and digits cut after the nineteenth: below 4 units of 2**-53.
_MARGIN = 2.0**-50
_MAX_WHOLE = 10**15  # ids and exponents stop growing here: larger ones are out of range, and int64 could overflow

# The most bytes that a pair (a space, 10 digits, a colon, 16 of a number) and a label (a comma, 10 digits) take.
PAIR_BYTES, LABEL_BYTES = 28, 11
_MAX_DIGITS = 9  # always enough for a float32
# Numbers from 0.0001 to below 10^9 are written without an exponent.
_MIN_POINT, _MAX_POINT = -3, 9

_PARSE = types.UniTuple(COUNT, 5)(
    read(types.uint8), COUNT, COUNT, COUNT, COUNT[::1], ID[::1], COUNT[::1], ID[::1], FLOAT[::1], COUNT[:, ::1]
)
_RENDER = COUNT(POINTER, IDS, POINTER, IDS, VALUES, COUNT, COUNT, types.uint8[::1])


@inner_kernel
def _sure_single(mantissa, exponent):
    """Return whether mantissa · 10^exponent is surely the float32 returned with it."""
    if mantissa == 0:
        return True, np.float32(0.0)
    if exponent < -64 or exponent > 64:
        return False, np.float32(0.0)
    value = float(mantissa) * _POWERS_OF_TEN[exponent] if exponent >= 0 else float(mantissa) / _POWERS_OF_TEN[-exponent]
    low, high = np.float32(value * (1 - _MARGIN)), np.float32(value * (1 + _MARGIN))
    return low == high and high <= np.finfo(np.float32).max, high


@inner_kernel
def _line_ends(buffer, position):
    if position >= buffer.size or buffer[position] == _NEWLINE:
        return True
    return buffer[position] == _RETURN and (position + 1 == buffer.size or buffer[position + 1] == _NEWLINE)


@inner_kernel
def _token_ends(buffer, position):
    return _line_ends(buffer, position) or buffer[position] == _SPACE or buffer[position] == _TAB


@inner_kernel
def _parse_whole(buffer, position):
    """Return the whole number at a position, -1 if there is none, and where it ends."""
    start, number = position, 0
    while position < buffer.size and _ZERO <= buffer[position] <= _NINE:
        if number < _MAX_WHOLE:
            number = number * 10 + (buffer[position] - _ZERO)
        position += 1
    return (number if position > start else -1), position


@inner_kernel
def _parse_decimal(buffer, position):
    """Return whether there is a number, whether its float32 is sure, that float32, and where it ends."""
    negative = position < buffer.size and buffer[position] == _MINUS
    if position < buffer.size and (buffer[position] == _MINUS or buffer[position] == _PLUS):
        position += 1
    mantissa, digits, exponent = np.uint64(0), 0, 0
    seen, after_point = False, False
    while position < buffer.size:
        byte = buffer[position]
        if _ZERO <= byte <= _NINE:
            seen = True
            if digits < 19:
                mantissa = mantissa * np.uint64(10) + np.uint64(byte - _ZERO)
                digits += mantissa > 0
                exponent -= after_point
            else:
                exponent += not after_point
        elif byte == _POINT and not after_point:
            after_point = True
        else:
            break
        position += 1
    if seen and position < buffer.size and (buffer[position] == _LOWER_E or buffer[position] == _UPPER_E):
        position += 1
        sign = -1 if position < buffer.size and buffer[position] == _MINUS else 1
        if position < buffer.size and (buffer[position] == _MINUS or buffer[position] == _PLUS):
            position += 1
        power, position = _parse_whole(buffer, position)
        seen = power >= 0
        exponent += sign * power
    sure, value = _sure_single(mantissa, exponent)
    return seen, sure, -value if negative else value, position


@inner_kernel
def _parse_labels(buffer, position, labels, label_ids, label):
    """Fill in the labels of a row from `label` on; return what is wrong, where it ends, and how many there are now."""
    while not _token_ends(buffer, position):
        token = position
        number, position = _parse_whole(buffer, position)
        comma = position < buffer.size and buffer[position] == _COMMA
        if number < 0 or (comma and _token_ends(buffer, position + 1)) or not (comma or _token_ends(buffer, position)):
            return BAD_LABEL, token, label
        if number >= labels:
            return LABEL_RANGE, token, label
        label_ids[label] = number
        label += 1
        position += comma
    return FINE, position, label


@inner_kernel
def _parse_pairs(buffer, position, features, feature_ids, values, pair, unsure, unsure_count):
    """Fill in the features of a row from `pair` on; return what is wrong, where it ends, and both counts now."""
    while True:
        while position < buffer.size and (buffer[position] == _SPACE or buffer[position] == _TAB):
            position += 1
        if _line_ends(buffer, position):
            return FINE, position, pair, unsure_count
        token = position
        number, position = _parse_whole(buffer, position)
        if number < 0 or position >= buffer.size or buffer[position] != _COLON:
            return BAD_FEATURE, token, pair, unsure_count
        if number >= features:
            return FEATURE_RANGE, token, pair, unsure_count
        position += 1
        text = position
        seen, sure, value, position = _parse_decimal(buffer, position)
        if not seen or not _token_ends(buffer, position):
            return BAD_VALUE, token, pair, unsure_count
        feature_ids[pair] = number
        values[pair] = value
        if not sure:
            if unsure_count < unsure.shape[0]:
                unsure[unsure_count, 0] = pair
                unsure[unsure_count, 1] = text
            unsure_count += 1
        pair += 1


@kernel(_PARSE)
def parse_rows(
    buffer,
    start,
    features,
    labels,
    label_pointers,
    label_ids,
    feature_pointers,
    feature_ids,
    values,
    unsure,
):
    """Fill in the rows; return what is wrong, where, and the numbers of labels, pairs and unsure values.

    Each unsure value is listed with its pair's number and the position of its text, to be read exactly; if there are
    more than `unsure` has room for, the caller calls again with more room.
    """
    position = start
    label, pair, unsure_count = 0, 0, 0
    for row in range(label_pointers.size - 1):
        problem, position, label = _parse_labels(buffer, position, labels, label_ids, label)
        if problem != FINE:
            return problem, position, label, pair, unsure_count
        problem, position, pair, unsure_count = _parse_pairs(
            buffer, position, features, feature_ids, values, pair, unsure, unsure_count
        )
        if problem != FINE:
            return problem, position, label, pair, unsure_count
        if position < buffer.size and buffer[position] == _RETURN:
            position += 1
        position += 1
        label_pointers[row + 1] = label
        feature_pointers[row + 1] = pair
    return FINE, position, label, pair, unsure_count


@inner_kernel
def _write_whole(out, position, number):
    """Write a whole number and return where it ends."""
    width, rest = 1, number // 10
    while rest > 0:
        width += 1
        rest //= 10
    for place in range(position + width - 1, position - 1, -1):
        out[place] = _ZERO + number % 10
        number //= 10
    return position + width


@inner_kernel
def _shortest_decimal(value):
    """Return the mantissa and the power of ten of the shortest decimal that reads as a positive float32."""
    top = math.floor(math.log10(value))
    mantissa, exponent = 0, 0
    for digits in range(1, _MAX_DIGITS + 1):
        exponent = top + 1 - digits
        scaled = value / _POWERS_OF_TEN[exponent] if exponent >= 0 else value * _POWERS_OF_TEN[-exponent]
        mantissa = int(np.rint(scaled))
        sure, read = _sure_single(mantissa, exponent)
        if sure and read == value:
            break
    while mantissa % 10 == 0:
        mantissa //= 10
        exponent += 1
    return mantissa, exponent


@inner_kernel
def _write_value(out, position, value):
    """Write a finite float32 and return where it ends."""
    if math.copysign(1.0, value) < 0:
        out[position] = _MINUS
        position += 1
    if value == 0:
        return _write_whole(out, position, 0)
    mantissa, exponent = _shortest_decimal(abs(float(value)))
    end = _write_whole(out, position, mantissa)
    digits = end - position
    point = digits + exponent  # how many digits stand before the decimal point
    if exponent >= 0 and point <= _MAX_POINT:
        out[end : end + exponent] = _ZERO
        return end + exponent
    if 0 < point <= _MAX_POINT:
        for place in range(end, position + point, -1):
            out[place] = out[place - 1]
        out[position + point] = _POINT
        return end + 1
    if _MIN_POINT <= point <= 0:
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
    out[end] = _LOWER_E
    end += 1
    if point < 1:
        out[end] = _MINUS
        end += 1
    if abs(point - 1) < 10:  # two digits at least, as C and Python write it
        out[end] = _ZERO
        end += 1
    return _write_whole(out, end, abs(point - 1))


@kernel(_RENDER)
def render_rows(label_pointers, label_ids, feature_pointers, feature_ids, values, first, last, out):
    """Write rows `first` to `last` into `out`, which has room for them, and return the number of bytes."""
    position = 0
    for row in range(first, last):
        for place in range(label_pointers[row], label_pointers[row + 1]):
            if place > label_pointers[row]:
                out[position] = _COMMA
                position += 1
            position = _write_whole(out, position, label_ids[place])
        for place in range(feature_pointers[row], feature_pointers[row + 1]):
            out[position] = _SPACE
            position = _write_whole(out, position + 1, feature_ids[place])
            out[position] = _COLON
            position = _write_value(out, position + 1, values[place])
        out[position] = _NEWLINE
        position += 1
    return position

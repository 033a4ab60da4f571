"""How numbers are written in a report, the same in HTML and Markdown."""

from __future__ import annotations

from neartag.experiments.report.blocks import Number

NO_NUMBER = "–"


def format_value(number: Number) -> str:
    """Return the measured number."""
    return NO_NUMBER if number.value is None else f"{number.value:,.{number.digits}f}"


def format_spread(number: Number) -> str:
    """Return the standard deviation and the number of runs; "" if nothing is known of them."""
    words = [] if number.deviation is None else [f"± {number.deviation:.{number.digits}f}"]
    return " ".join([*words, f"({number.runs})"] if number.runs else words)


def format_printed(number: Number) -> str:
    """Return the paper's number; "" if it has none."""
    if number.printed is None:
        return ""
    deviation = number.printed_deviation
    return f"{number.printed:,.{number.digits}f}" + ("" if deviation is None else f" ± {deviation:.{number.digits}f}")


def format_difference(number: Number) -> str:
    """Return measured minus printed, with its sign; "" if one of them is missing."""
    return "" if number.difference is None else f"{number.difference:+,.{number.digits}f}"

"""Plots of a report as SVG in the page: both axes run from 0 to 100 percent, and colours come from the page's style."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

_WIDTH, _HEIGHT = 520, 400
_LEFT, _TOP, _RIGHT, _BOTTOM = 58, 14, 506, 344  # of the frame
_BAR_HEIGHT = 70  # of the strip of bars below the frame
_BAR_GAP = 26  # between the frame's axis and the strip
_CHARACTER = 9.0  # width of a character, as large as texts are on a narrow screen
_TICKS = (0, 20, 40, 60, 80, 100)


class Mark(NamedTuple):
    """A point of the plot with a name beside it."""

    name: str
    x: float  # from 0 to 1
    y: float
    css_class: str


class Bar(NamedTuple):
    """A bar below the plot, over a part of the horizontal axis."""

    low: float
    high: float
    height: int


def draw_plot(
    key: str,
    title: str,
    line: Sequence[tuple[float, float]],
    x_label: str,
    y_label: str,
    *,
    marks: Sequence[Mark] = (),
    bars: Sequence[Bar] = (),
    diagonal: bool = False,
    dots: bool = False,
) -> str:
    """Return a plot: a line through points from 0 to 1, with marks on it and bars of counts below it.

    `key` begins the ids of its parts; `title` is what a screen reader says.
    """
    height = _HEIGHT + (_BAR_GAP + _BAR_HEIGHT if bars else 0)
    parts = [_draw_frame(x_label, y_label)]
    if diagonal:
        parts.append(f'<path class="diagonal" d="M{_x(0)} {_y(0)}L{_x(1)} {_y(1)}"/>')
    if line:
        steps = "L".join(f"{_x(x)} {_y(y)}" for x, y in line)
        parts.append(f'<path class="line" d="M{steps}"/>')
    if dots:
        parts.extend(f'<circle class="dot" cx="{_x(x)}" cy="{_y(y)}" r="4"/>' for x, y in line)
    parts.extend(map(_draw_mark, marks))
    parts.append(_draw_bars(bars))
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-labelledby="{key}-title">'
        f'<title id="{key}-title">{escape(title)}</title>{"".join(parts)}</svg>'
    )


def _x(share: float) -> float:
    return round(_LEFT + (_RIGHT - _LEFT) * min(1.0, max(0.0, share)), 1)


def _y(share: float) -> float:
    return round(_BOTTOM - (_BOTTOM - _TOP) * min(1.0, max(0.0, share)), 1)


def _draw_frame(x_label: str, y_label: str) -> str:
    lines, words = [], []
    for tick in _TICKS:
        x, y = _x(tick / 100), _y(tick / 100)
        lines.append(f"M{x} {_TOP}V{_BOTTOM}M{_LEFT} {y}H{_RIGHT}")
        words.append(f'<text class="tick middle" x="{x}" y="{_BOTTOM + 18}">{tick}</text>')
        words.append(f'<text class="tick end" x="{_LEFT - 8}" y="{y + 4}">{tick}</text>')
    middle = (_TOP + _BOTTOM) / 2
    words.append(f'<text class="middle" x="{(_LEFT + _RIGHT) / 2}" y="{_BOTTOM + 42}">{escape(x_label)}</text>')
    words.append(
        f'<text class="middle" transform="translate(16 {middle}) rotate(-90)" x="0" y="0">{escape(y_label)}</text>'
    )
    return f'<path class="grid" d="{"".join(lines)}"/>{"".join(words)}'


def _draw_mark(mark: Mark) -> str:
    """Return a mark; its name stands where a falling line does not run: right and above, or else left and below."""
    x, y = _x(mark.x), _y(mark.y)
    fits = x + 11 + _CHARACTER * len(mark.name) <= _RIGHT and y > _TOP + 20
    place = f'x="{x + 11}" y="{y - 8}"' if fits else f'class="end" x="{x - 9}" y="{y + 20}"'
    return f'<circle class="mark {mark.css_class}" cx="{x}" cy="{y}" r="6"/><text {place}>{escape(mark.name)}</text>'


def _draw_bars(bars: Sequence[Bar]) -> str:
    if not bars:
        return ""
    most = max(bar.height for bar in bars) or 1
    bottom = _HEIGHT + _BAR_GAP + _BAR_HEIGHT - 4
    room = _BAR_HEIGHT - 20  # the count stands above a bar
    parts = [
        f'<text class="middle" x="{(_LEFT + _RIGHT) / 2}" y="{_HEIGHT + 10}">number of labels with such a score</text>'
    ]
    for bar in bars:
        left, right = _x(bar.low) + 2, _x(bar.high) - 2
        height = round(max(1.0, room * bar.height / most), 1)
        parts.append(
            f'<rect class="bar" x="{left}" y="{round(bottom - height, 1)}" width="{round(right - left, 1)}" '
            f'height="{height}"/><text class="count middle" x="{round((left + right) / 2, 1)}" '
            f'y="{round(bottom - height - 4, 1)}">{_short(bar.height)}</text>'
        )
    return "".join(parts)


def _short(count: int) -> str:
    """Return a count in at most five characters, so that counts of neighbouring bars do not meet."""
    for size, unit in ((10**6, "M"), (10**3, "k")):
        if count >= 10 * size or (count >= size and unit == "M"):
            return f"{count / size:.0f}{unit}" if count >= 10 * size else f"{count / size:.1f}{unit}"
    return f"{count}"

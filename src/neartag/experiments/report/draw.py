"""Plots of a report as SVG, drawn by matplotlib, which `neartag[plot]` installs; imported only when needed."""

from __future__ import annotations

import io
import re
from importlib import import_module
from typing import Any

import numpy as np

from neartag.core.errors import ParameterError
from neartag.core.extras import install_hint
from neartag.experiments.report.blocks import Figure, Series

# The colours of Okabe and Ito, which colour-blind readers can tell apart; without yellow, which is faint on paper.
COLOURS = ("#08306b", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f4f24", "#666666")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
MAX_MARKED_POINTS = 40  # a line with more points has no markers
DIVIDED_RANGE = 100.0  # up to this ratio of largest to smallest number, decades of a logarithmic axis are divided
_PLAIN_RANGE = 1e-3, 1e5  # between these, numbers are not written as powers of ten
_FIGURE_INCHES = (6.4, 4.0)
_ROW_INCHES = 0.5


def check() -> None:
    """Raise ParameterError if plots cannot be drawn; called before any work that would be lost."""
    try:
        import_module("matplotlib")
    except ImportError:
        raise ParameterError(install_hint("the report's plots need matplotlib", "plot")) from None


def svg(figure: Figure) -> str:
    """Return a plot as SVG: the same bytes for the same figure, with ids that no other plot on the page has."""
    check()
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure as Canvas

    # Text as text, not as paths: it is smaller, can be searched, and can be read aloud.
    style: Any = {"svg.hashsalt": figure.name, "svg.fonttype": "none", "font.size": 10.5, "axes.unicode_minus": True}
    with matplotlib.rc_context(style):
        width, height = _FIGURE_INCHES
        canvas = Canvas(figsize=(width, max(height, _ROW_INCHES * len(figure.rows))))
        FigureCanvasSVG(canvas)  # needs no screen
        axes = canvas.subplots()
        _draw_axes(axes, figure)
        canvas.tight_layout()
        stream = io.StringIO()
        about = {"Date": None, "Identifier": figure.digest()}
        canvas.savefig(stream, format="svg", facecolor="white", bbox_inches="tight", metadata=about)
    return _prefix_ids(stream.getvalue(), figure.name)


def _draw_axes(axes: Any, figure: Figure) -> None:
    for number, series in enumerate(figure.series):
        _draw_series(axes, series, COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)])
    if figure.x_log:
        axes.set_xscale("log")
        _set_log_ticks(axes.xaxis, axes.get_xlim())
    if figure.y_log:
        axes.set_yscale("log")
        _set_log_ticks(axes.yaxis, axes.get_ylim())
    if figure.rows:
        axes.axvline(0, color="#999999", linewidth=1)
        axes.set_yticks(range(len(figure.rows)), figure.rows)
        axes.set_ylim(len(figure.rows) - 0.5, -0.5)
    axes.grid(True, color="#e6e6e6", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xlabel(figure.x_label, parse_math=False)
    axes.set_ylabel(figure.y_label, parse_math=False)
    if len(figure.series) > 1:
        _draw_legend(axes, len(figure.series))


def _draw_series(axes: Any, series: Series, colour: str, marker: str) -> None:
    x, y = np.asarray(series.x, dtype=float), np.asarray(series.y, dtype=float)
    shared = {"color": colour, "label": series.label}
    if series.style == "intervals":
        axes.errorbar(x, y, xerr=series.spread, linestyle="none", marker=marker, markersize=5, capsize=3, **shared)
        return
    if series.style == "points":
        axes.plot(x, y, linestyle="none", marker=marker, markersize=4 if x.size <= MAX_MARKED_POINTS else 2, **shared)
    else:
        line = "--" if series.style == "dashed" else "-"
        marked = x.size <= MAX_MARKED_POINTS and series.style == "line"
        axes.plot(x, y, linestyle=line, linewidth=1.8, marker=marker if marked else "", markersize=5, **shared)
    if series.spread is not None:
        spread = np.asarray(series.spread, dtype=float)
        axes.fill_between(x, y - spread, y + spread, color=colour, alpha=0.18, linewidth=0)


def _set_log_ticks(axis: Any, limits: tuple[float, float]) -> None:
    """Put numbers at 1, 2 and 5 of each decade if the axis is short, else at powers of ten only."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = limits
    few = high / low <= DIVIDED_RANGE
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if few else (1.0,)))
    axis.set_minor_formatter(NullFormatter())
    if _PLAIN_RANGE[0] <= low and high <= _PLAIN_RANGE[1]:
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))


def _draw_legend(axes: Any, count: int) -> None:
    """Draw the legend: inside the plot if it is short, else below, where it covers nothing."""
    if count <= 3:
        legend = axes.legend(frameon=True, framealpha=0.85, edgecolor="none", fontsize=9)
    else:
        below = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.16), "ncols": 2 if count < 7 else 3}
        legend = axes.legend(frameon=False, fontsize=9, **below)
    for text in legend.get_texts():
        text.set_parse_math(False)


def _prefix_ids(text: str, name: str) -> str:
    """Return an SVG whose ids begin with a name: several plots may stand on one page."""
    start = re.sub(r"[^A-Za-z0-9-]", "-", name)
    text = text[text.index("<svg") :]
    text = re.sub(r'\bid="([^"]+)"', rf'id="{start}-\1"', text)
    text = re.sub(r"url\(#([^)]+)\)", rf"url(#{start}-\1)", text)
    return re.sub(r'href="#([^"]+)"', rf'href="#{start}-\1"', text)

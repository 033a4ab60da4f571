"""Plots of a report as SVG, by matplotlib, which is imported when something is drawn; `neartag[plot]` brings it."""

from __future__ import annotations

import io
import re
from importlib import import_module
from typing import Any

import numpy as np

from neartag.core.errors import ParameterError
from neartag.core.extras import install_hint
from neartag.experiments.blocks import Figure, Series

# Okabe and Ito's colours, which stay apart for colour-blind readers, but for the yellow that paper swallows.
COLOURS = ("#08306b", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f4f24", "#666666")
SIGNS = ("o", "s", "^", "D", "v", "P", "X", "*")
MANY = 40  # points of a line from which its single points are not marked
FEW_DECADES = 100.0  # the largest number of a logarithmic axis by the smallest, up to which decades are divided
_PLAIN = 1e-3, 1e5  # between which numbers are not written as powers of ten
_SIZE = (6.4, 4.0)  # inches


def check() -> None:
    """Raise ParameterError, before any work is lost, where plots cannot be drawn."""
    try:
        import_module("matplotlib")
    except ImportError:
        raise ParameterError(install_hint("the report's plots need matplotlib", "plot")) from None


def svg(figure: Figure) -> str:
    """Return a plot as SVG: the same bytes for the same figure, with ids that no other plot of a page has."""
    check()
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure as Canvas

    # Letters as letters, not as paths: smaller, and they can be read aloud and found.
    look: Any = {"svg.hashsalt": figure.name, "svg.fonttype": "none", "font.size": 10.5, "axes.unicode_minus": True}
    with matplotlib.rc_context(look):
        canvas = Canvas(figsize=_SIZE)
        FigureCanvasSVG(canvas)  # needs no screen
        axes = canvas.subplots()
        _fill(axes, figure)
        canvas.tight_layout()
        stream = io.StringIO()
        canvas.savefig(stream, format="svg", facecolor="white", bbox_inches="tight", metadata={"Date": None})
    return _with_own_ids(stream.getvalue(), figure.name)


def _fill(axes: Any, figure: Figure) -> None:
    for number, series in enumerate(figure.series):
        _add(axes, series, COLOURS[number % len(COLOURS)], SIGNS[number % len(SIGNS)])
    if figure.x_log:
        axes.set_xscale("log")
        _mark_logarithms(axes.xaxis, axes.get_xlim())
    if figure.y_log:
        axes.set_yscale("log")
        _mark_logarithms(axes.yaxis, axes.get_ylim())
    axes.grid(True, color="#e6e6e6", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xlabel(figure.x_label, parse_math=False)
    axes.set_ylabel(figure.y_label, parse_math=False)
    if len(figure.series) > 1:
        _explain(axes, len(figure.series))


def _add(axes: Any, series: Series, colour: str, sign: str) -> None:
    x, y = np.asarray(series.x, dtype=float), np.asarray(series.y, dtype=float)
    shared = {"color": colour, "label": series.label}
    if series.style == "points":
        axes.plot(x, y, linestyle="none", marker=sign, markersize=4 if x.size <= MANY else 2, **shared)
    else:
        line = "--" if series.style == "dashed" else "-"
        marker = sign if x.size <= MANY and series.style == "line" else ""
        axes.plot(x, y, linestyle=line, linewidth=1.8, marker=marker, markersize=5, **shared)
    if series.spread is not None:
        spread = np.asarray(series.spread, dtype=float)
        axes.fill_between(x, y - spread, y + spread, color=colour, alpha=0.18, linewidth=0)


def _mark_logarithms(axis: Any, limits: tuple[float, float]) -> None:
    """Put numbers at 1, 2 and 5 of each decade where there are few of them, at powers of ten else, and none between."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = limits
    few = high / low <= FEW_DECADES
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if few else (1.0,)))
    axis.set_minor_formatter(NullFormatter())
    if _PLAIN[0] <= low and high <= _PLAIN[1]:
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))


def _explain(axes: Any, count: int) -> None:
    """Add the legend: inside while there is room, else below, where it covers nothing."""
    if count <= 3:
        legend = axes.legend(frameon=True, framealpha=0.85, edgecolor="none", fontsize=9)
    else:
        below = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.16), "ncols": 2 if count < 7 else 3}
        legend = axes.legend(frameon=False, fontsize=9, **below)
    for text in legend.get_texts():
        text.set_parse_math(False)


def _with_own_ids(text: str, name: str) -> str:
    start = re.sub(r"[^A-Za-z0-9-]", "-", name)
    text = text[text.index("<svg") :]
    text = re.sub(r'\bid="([^"]+)"', rf'id="{start}-\1"', text)
    text = re.sub(r"url\(#([^)]+)\)", rf"url(#{start}-\1)", text)
    return re.sub(r'href="#([^"]+)"', rf'href="#{start}-\1"', text)

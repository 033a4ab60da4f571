"""How good methods are against what they cost, drawn with matplotlib: a panel a cost, or a data set.

The methods' names stand beside a panel at the height of their points, spread so that none covers another, with a line
to the point. matplotlib is imported when something is drawn; `neartag[plot]` brings it.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from neartag.core.errors import ParameterError
from neartag.core.extras import install_hint
from neartag.data.files import check_writable, open_to_replace

ENDINGS = (".svg", ".png")
NAME_HEIGHT = 0.085  # as a share of the panel's


class Mark(NamedTuple):
    """A method in a panel; one that has nothing to pay there, with a cost of None, is a line."""

    name: str
    cost: float | None
    height: float
    colour: str
    highlight: bool = False


class Panel(NamedTuple):
    """What is drawn in one frame."""

    marks: Sequence[Mark]
    title: str
    cost: str
    height: str = "P@1, percent"


def check_target(target: str, option: str = "--plot") -> None:
    """Raise ParameterError, before any work is lost, where a figure could not be drawn or written in the end.

    `option` is what the person gave the target by.
    """
    path = Path(target)
    if path.suffix.lower() not in ENDINGS:
        raise ParameterError(f"{option} {target}: a plot is an .svg or a .png file")
    check_writable(target, option)
    try:
        import_module("matplotlib")
    except ImportError:
        raise ParameterError(install_hint(f"{option} needs matplotlib", "plot")) from None


def draw(panels: Sequence[Panel], target: str | Path) -> None:
    """Write the panels, one below the other, as a figure of the kind that the file's ending names."""
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    ending = Path(target).suffix.lower().removeprefix(".")
    canvas = FigureCanvasSVG if ending == "svg" else FigureCanvasAgg  # neither needs a screen
    # The same results must give the same bytes: no date, no random ids.
    with matplotlib.rc_context({"svg.hashsalt": "neartag", "font.size": 10.5}), open_to_replace(target) as stream:
        figure = Figure(figsize=(8.6, 3.7 * len(panels)))
        canvas(figure)
        for axes, panel in zip(figure.subplots(len(panels), 1, squeeze=False)[:, 0], panels, strict=True):
            draw_panel(axes, panel)
        figure.tight_layout(rect=(0, 0, 0.99, 1), h_pad=2.0)
        options: dict[str, Any] = {"metadata": {"Date": None}} if ending == "svg" else {"dpi": 150}
        figure.savefig(stream, format=ending, facecolor="white", bbox_inches="tight", **options)


def draw_panel(axes: Any, panel: Panel) -> None:
    """Draw the methods, the best highest, cost on a logarithmic axis."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    heights = [mark.height for mark in panel.marks]
    known = [mark.cost for mark in panel.marks if mark.cost is not None] or [1.0]
    axes.set_xscale("log")
    axes.set_xlim(min(known) / 1.6, max(known) * 1.6)
    room = max(max(heights) - min(heights), 1.0) * 0.12
    low, high = min(heights) - room, max(heights) + room
    axes.set_ylim(low, high)
    places = spread([(height - low) / (high - low) for height in heights], NAME_HEIGHT)
    for mark, place in zip(panel.marks, places, strict=True):
        _draw_mark(axes, mark, place)
    few = max(known) / min(known) > 30
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0,) if few else (1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.grid(True, color="#e6e6e6", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(panel.title, loc="left", fontsize=12, parse_math=False)  # a path's dollars are no formula's
    axes.set_ylabel(panel.height)
    axes.set_xlabel(panel.cost)


def spread(heights: list[float], gap: float) -> list[float]:
    """Return the heights, each at least a gap above the one before it, moved as little as a simple pass can do.

    Names that would overlap form a block about their mean; blocks that then meet are joined. All stay within 0 to 1
    where there is room.
    """
    order = sorted(range(len(heights)), key=heights.__getitem__)
    blocks: list[list[int]] = []
    for one in order:
        blocks.append([one])
        while len(blocks) > 1 and _bottom(blocks[-1], heights, gap) < _top(blocks[-2], heights, gap) + gap:
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    placed = [0.0] * len(heights)
    for block in blocks:
        for step, one in enumerate(block):
            placed[one] = _bottom(block, heights, gap) + step * gap
    return placed


def _bottom(block: list[int], heights: list[float], gap: float) -> float:
    extent = (len(block) - 1) * gap
    middle = sum(heights[one] for one in block) / len(block)
    return max(0.0, min(1.0 - extent, middle - extent / 2))


def _top(block: list[int], heights: list[float], gap: float) -> float:
    return _bottom(block, heights, gap) + (len(block) - 1) * gap


def _draw_mark(axes: Any, mark: Mark, place: float) -> None:
    """Draw a method's point, or its line where it has no cost, and its name beside the panel."""
    cost = mark.cost
    if cost is None:
        axes.axhline(mark.height, color=mark.colour, linewidth=1.2, linestyle=":")
        cost = axes.get_xlim()[1]
    else:
        axes.scatter([cost], [mark.height], s=52, color=mark.colour, marker="D" if mark.highlight else "o", zorder=3)
    axes.annotate(
        mark.name,
        xy=(cost, mark.height),
        xytext=(1.04, place),
        textcoords="axes fraction",
        va="center",
        color=mark.colour,
        fontweight="bold" if mark.highlight else "normal",
        annotation_clip=False,
        arrowprops={
            "arrowstyle": "-",
            "color": mark.colour,
            "linewidth": 0.7,
            "alpha": 0.45,
            "shrinkA": 2,
            "shrinkB": 0,
        },
    )

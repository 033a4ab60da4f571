"""P@1 against what it costs, a panel a data set: docs/peers-training.svg and docs/peers-predict.svg.

    python benchmarks/plots.py [RESULTS.json] [FOLDER]

peers.py --write draws them too. The methods' names stand beside a panel at the height of their points, spread so that
none covers another, with a line to the point.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

HERE = Path(__file__).parent
TRAINING = "train wall s"
FIGURES = {
    "peers-training.svg": (TRAINING, "training, seconds"),
    "peers-predict.svg": ("batch ms", "predicting a batch, milliseconds a point"),
}
# X1 in blues, the others in colours that stay apart for colour-blind readers too.
COLOURS = {
    "x1-preset": "#08306b",
    "x1-default": "#2b7bba",
    "x1-fast": "#00a0c6",
    "x1-five": "#5e4fa2",
    "pecos": "#d55e00",
    "parabel": "#009e73",
    "bonsai": "#00665a",
    "plt": "#cc79a7",
    "one-vs-rest": "#7f4f24",
    "knn": "#666666",
}
LINE = 0.085  # height of a name, as a share of the panel's


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


def panel(axes, rows: list[dict], key: str) -> None:
    """Draw the methods on one data set, best P@1 highest, cost on a logarithmic axis."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    marks = [row["median"]["P@1"] for row in rows]
    # kNN has nothing to train, and its milliseconds would push all others into a corner: it is a line there.
    costs = [None if key == TRAINING and row["name"] == "knn" else row["median"][key] for row in rows]
    known = [cost for cost in costs if cost is not None] or [1.0]
    axes.set_xscale("log")
    axes.set_xlim(min(known) / 1.6, max(known) * 1.6)
    room = max(max(marks) - min(marks), 1.0) * 0.12
    low, high = min(marks) - room, max(marks) + room
    axes.set_ylim(low, high)
    places = spread([(mark - low) / (high - low) for mark in marks], LINE)
    for row, cost, mark, place in zip(rows, costs, marks, places, strict=True):
        name_point(axes, row, cost, mark, place)
    few = max(known) / min(known) > 30
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0,) if few else (1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.grid(True, color="#e6e6e6", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(rows[0]["data"], loc="left", fontsize=12)
    axes.set_ylabel("P@1, percent")


def name_point(axes, row: dict, cost: float | None, mark: float, place: float) -> None:
    """Draw a method's point, or its line where it has no cost, and its name beside the panel."""
    ours, colour = row["name"].startswith("x1"), COLOURS[row["name"]]
    if cost is None:
        axes.axhline(mark, color=colour, linewidth=1.2, linestyle=":")
        cost = axes.get_xlim()[1]
    else:
        axes.scatter([cost], [mark], s=52, color=colour, marker="D" if ours else "o", zorder=3)
    axes.annotate(
        row["method"],
        xy=(cost, mark),
        xytext=(1.04, place),
        textcoords="axes fraction",
        va="center",
        color=colour,
        fontweight="bold" if ours else "normal",
        annotation_clip=False,
        arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.7, "alpha": 0.45, "shrinkA": 2, "shrinkB": 0},
    )


def draw(rows: list[dict], folder: Path) -> None:
    """Write both figures of all rows that have runs."""
    import matplotlib

    matplotlib.use("svg")  # needs no screen
    from matplotlib import pyplot

    rows = [row for row in rows if row["median"]]
    places = list(dict.fromkeys(row["data"] for row in rows))
    if not places:
        return
    # The same results must give the same bytes: no date, no random ids.
    with matplotlib.rc_context({"svg.hashsalt": "neartag", "font.size": 10.5}):
        for file, (key, title) in FIGURES.items():
            figure, all_axes = pyplot.subplots(len(places), 1, figsize=(8.6, 3.7 * len(places)), squeeze=False)
            for axes, place in zip(all_axes[:, 0], places, strict=True):
                panel(axes, [row for row in rows if row["data"] == place], key)
                axes.set_xlabel(title)
            figure.tight_layout(rect=(0, 0, 0.99, 1), h_pad=2.0)
            figure.savefig(folder / file, facecolor="white", bbox_inches="tight", metadata={"Date": None})
            pyplot.close(figure)


if __name__ == "__main__":
    given = sys.argv[1:]
    results = Path(given[0]) if given else HERE / "results" / "peers.json"
    draw(json.loads(results.read_text())["rows"], Path(given[1]) if len(given) > 1 else HERE.parent / "docs")

"""P@1 against what it costs, a panel a data set: docs/peers-training.svg and docs/peers-predict.svg.

    python benchmarks/plots.py [RESULTS.json] [FOLDER]

peers.py --write draws them too, as `neartag compare --plot` draws its own.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from neartag.evaluation.plots import Mark, Panel
from neartag.evaluation.plots import draw as draw_panels

HERE = Path(__file__).parent
TRAINING = "train wall s"
FIGURES = {
    "peers-training.svg": (TRAINING, "training, seconds"),
    "peers-predict.svg": ("batch ms", "predicting a batch, milliseconds a point"),
}
# X1 in blues, the others in colours that stay apart for colour-blind readers too.
COLOURS = {
    "x1-refined": "#000000",
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
    "libmultilabel": "#e69f00",
    "libmultilabel-tree": "#b8860b",
}
OTHERS = "#a0a0a0"


def panel(rows: list[dict], key: str, cost: str) -> Panel:
    """Return the methods on one data set against what the key measures."""
    marks = [
        Mark(
            row["method"],
            # kNN has nothing to train, and its milliseconds would push all others into a corner: it is a line there.
            None if key == TRAINING and row["name"] == "knn" else row["median"][key],
            row["median"]["P@1"],
            COLOURS.get(row["name"], OTHERS),
            row["name"].startswith("x1"),
        )
        for row in rows
    ]
    return Panel(marks, rows[0]["data"], cost)


def draw(rows: list[dict], folder: Path) -> None:
    """Write both figures of all rows that have runs."""
    rows = [row for row in rows if row["median"]]
    places = list(dict.fromkeys(row["data"] for row in rows))
    if not places:
        return
    for file, (key, title) in FIGURES.items():
        panels = [panel([row for row in rows if row["data"] == place], key, title) for place in places]
        draw_panels(panels, folder / file)


if __name__ == "__main__":
    given = sys.argv[1:]
    results = Path(given[0]) if given else HERE / "results" / "peers.json"
    draw(json.loads(results.read_text())["rows"], Path(given[1]) if len(given) > 1 else HERE.parent / "docs")

"""The results of peers.py as Markdown."""

from __future__ import annotations

import statistics
from pathlib import Path

import pages
from peer_methods import METHODS

REFERENCE = "pecos"
DISTURBED = 0.1  # cores used by other processes, from which on a run's times are in doubt
BESIDE = ("read s", "first call s", "save s", "load s")


def medians(runs: list[dict]) -> dict[str, float]:
    """Return the median of everything measured over the runs."""
    return {key: statistics.median(run[key] for run in runs) for key in (runs[0] if runs else ())}


def table(rows: list[dict]) -> str:
    """The measurements: accuracy and cost in the same row, and how many times PECOS's the cost is."""
    lines = [
        "| data | method | P@1 / 3 / 5 | PSP@1 / 5 | train wall s (CPU) | training, × PECOS "
        "| predict ms a point, batch | predict, × PECOS | one at a time, ms "
        "| model MB | peak RSS MB (over data) | runs |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        if not row["median"]:
            continue
        median = row["median"]
        cells = [
            row["data"],
            row["method"],
            " / ".join(f"{median[key]:.2f}" for key in ("P@1", "P@3", "P@5")),
            " / ".join(f"{median[key]:.2f}" for key in ("PSP@1", "PSP@5")),
            f"{figure(median['train wall s'])} ({figure(median['train CPU s'])})",
            ratio(row, rows, "train wall s"),
            figure(median["batch ms"]),
            ratio(row, rows, "batch ms"),
            figure(median["one ms"]),
            figure(median["model MB"]),
            f"{peak(median):.0f} ({peak(median) - median['RSS before training MB']:.0f})",
            str(len(row["runs"])),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def beside(rows: list[dict]) -> str:
    """What comes on top: reading the data, the first call with imports, saving, loading."""
    lines = ["| data | method | read s | first call s | save s | load s |", "|---|---|---|---|---|---|"]
    for row in rows:
        if row["median"]:
            median = row["median"]
            told = [figure(median[key]) if key in median else "in training" for key in BESIDE]
            cells = (row["data"], row["method"], *told)
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def peak(median: dict) -> float:
    """The most memory that training or predicting a batch held."""
    return max(median["peak RSS training MB"], median["peak RSS predicting MB"])


def ratio(row: dict, rows: list[dict], key: str) -> str:
    """How many times that of PECOS on the same data."""
    for other in rows:
        if (other["data"], other["name"]) == (row["data"], REFERENCE) and other["median"]:
            return f"{figure(row['median'][key] / other['median'][key])}×"
    return "–"


def figure(value: float) -> str:
    """The number with three digits that count, or three decimals."""
    decimals = next((places for least, places in ((100, 0), (10, 1), (1, 2)) if value >= least), 3)
    return f"{value:.{decimals}f}"


def notes(rows: list[dict]) -> list[str]:
    """What must be known of a method to read its row, and which rows are missing why."""
    told: dict[str, list[str]] = {}  # methods of the same tool share their note
    for row in rows:
        note = METHODS[row["name"]][1].notes
        if row["median"] and note and row["method"] not in told.setdefault(note, []):
            told[note].append(row["method"])
    runs = [run for row in rows for run in row["runs"]]
    disturbed = sum(run["cores used by others"] > DISTURBED for run in runs)
    doubt = (
        [f"In {disturbed} of {len(runs)} runs other processes used more than {DISTURBED:g} cores."] if disturbed else []
    )
    missing = [f"{row['method']} on {row['data']} left out: {row['left_out']}." for row in rows if row.get("left_out")]
    return [f"{', '.join(methods)}: {note}." for note, methods in told.items()] + missing + doubt


def write_page(result: dict, page: Path) -> None:
    """Put tables, plots, notes and the machine between the page's marks."""
    rows = result["rows"]
    lines = [table(rows), "", "![P@1 against training seconds](peers-training.svg)", ""]
    lines += ["![P@1 against milliseconds to predict a point](peers-predict.svg)", ""]
    lines += [*(f"- {note}" for note in notes(rows)), "", beside(rows), ""]
    if result["first call s"]:
        told = "From start to neartag's first prediction where no kernel is compiled yet, once after installing"
        lines += [f"{told}: {figure(result['first call s'])} s.", ""]
    tools = ", ".join(f"{package} {number}" for package, number in result["versions"].items())
    lines.append(f"Measured on: {result['machine']}; {result['threads']} threads; {tools}.")
    pages.insert("peers", "\n".join(lines), page)

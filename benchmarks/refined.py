"""X1 refined beside the best of its peers: every figure's difference with its interval, and what it costs.

    python benchmarks/refined.py [bibtex eurlex4k-partial …] [--tuned] [--ours x1-refined] [--write]

Reads what peers.py measured in one run, results/peers.json and the labels kept with it, and measures nothing itself.
Each figure is held against that of the peer that is best in it. The interval is that of the difference, 95%, by a
paired bootstrap over test points. --tuned takes results/peers-tuned.json instead, where neartag's own comparators are
among the peers; a peer that was not tuned on a set stands there with its defaults. --write replaces
benchmarks/results/refined.json, or refined-tuned.json, and the part of docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import json
import statistics
from pathlib import Path
from typing import Any

import numpy as np
import pages
import peer_data
import peer_tune
from peer_methods import METHODS, PEERS
from peer_settings import COMPARATORS
from peer_table import REFERENCE, figure
from peers import LABELS, TUNED_LABELS, labels_file

from neartag.core.errors import DataError
from neartag.data import Dataset
from neartag.metrics import evaluate, paired_bootstrap

OURS = "x1-refined"
FIGURES = ("P@1", "P@3", "P@5", "PSP@1", "PSP@5")
COSTS = {"train wall s": "training", "batch ms": "predict"}
TOLERANCE = 1e-3  # percent: the results file has six digits


def median_run(row: dict, key: str) -> int:
    """Return which of a row's runs, from 0, has the median of a figure: not every tool finds the same each time."""
    figures = [run[key] for run in row["runs"]]
    return figures.index(statistics.median_low(figures))


def labels_of(row: dict, key: str, train: Dataset, test: Dataset, folder: Path) -> np.ndarray:
    """Return the labels found in the run that has the median of a figure."""
    number = median_run(row, key)
    file = labels_file(row.get("labels", folder), row["data"], row["name"], number + 1)
    remedy = "measure with peers.py again, which keeps them"
    if not file.exists():
        raise DataError(f"{file}: there are no labels of {row['method']} on {row['data']}; {remedy}")
    with np.load(file) as stored:
        labels = stored["labels"]
    if abs(evaluate(labels, test.Y, Y_train=train.Y)[key] - row["runs"][number][key]) > TOLERANCE:
        raise DataError(f"{file}: these are not the labels of the run in the results file; {remedy}")
    return labels


def compare(ours: dict, peers: list[dict], train: Dataset, test: Dataset, folder: Path) -> dict[str, dict[str, Any]]:
    """Return, by figure, ours, that of the peer that is best in it, and the difference with its interval."""
    found = {}
    for key in FIGURES:
        best = max(peers, key=lambda row: row["runs"][median_run(row, key)][key])
        both = [labels_of(row, key, train, test, folder) for row in (ours, best)]
        difference, low, high = paired_bootstrap(*both, test.Y, metric=key, Y_train=train.Y)
        figures = {what: row["runs"][median_run(row, key)][key] for what, row in (("ours", ours), ("best", best))}
        found[key] = {**figures, "peer": best["method"], "difference": difference, "low": low, "high": high}
    return found


def with_defaults(rows: list[dict], others: list[dict], folder: Path) -> list[dict]:
    """Return tuned rows, and of peers that were not tuned on a set those with the defaults, whose labels lie there."""
    tuned = {(row["data"], row["name"]) for row in rows if row["runs"]}
    sets = {data for data, _ in tuned}
    untuned = [row for row in others if row["data"] in sets and row["name"] in PEERS and row["runs"]]
    return rows + [{**row, "labels": folder} for row in untuned if (row["data"], row["name"]) not in tuned]


def measured(rows: list[dict], data: str, ours: str, folder: Path) -> dict[str, Any]:
    """Return what is told of one data set, or why nothing is as {"left_out": …}."""
    here = {row["name"]: row for row in rows if row["data"] == data and row["runs"]}
    peers = [here[name] for name in (*PEERS, *COMPARATORS) if name in here and name != ours]
    if ours not in here or not peers:
        missing = METHODS[ours][0] if peers else "any peer"
        return {"data": data, "left_out": f"there is no run of {missing}"}
    train, test = peer_data.load(data)
    told: dict[str, Any] = {"data": data, "points": test.n_points, "peers": [row["method"] for row in peers]}
    told["figures"] = compare(here[ours], peers, train, test, folder)
    if REFERENCE in here:
        reference = here[REFERENCE]["median"]
        told["costs"] = {key: here[ours]["median"][key] / reference[key] for key in COSTS}
    return told


def table(sets: list[dict], title: str) -> str:
    """The figures as Markdown: ours, the best peer's, and by how much ours is above."""
    reference = METHODS[REFERENCE][0].split()[0]
    costs = " | ".join(f"{word}, × {reference}" for word in COSTS.values())
    lines = [f"| data | | {' | '.join(FIGURES)} | {costs} |", "|---" * (2 + len(FIGURES) + len(COSTS)) + "|"]
    for one in sets:
        figures = [one["figures"][key] for key in FIGURES]
        ratios = [f"{figure(one['costs'][key])}×" if "costs" in one else "–" for key in COSTS]
        cells = [
            [one["data"], title, *(f"{each['ours']:.2f}" for each in figures), *ratios],
            ["", "best peer", *(f"{each['best']:.2f} {each['peer']}" for each in figures), *["" for _ in COSTS]],
            ["", "difference", *map(interval, figures), *["" for _ in COSTS]],
        ]
        lines += [f"| {' | '.join(row)} |" for row in cells]
    return "\n".join(lines)


def interval(each: dict) -> str:
    """A difference with its sign and, in brackets, where it lies."""
    return f"{each['difference']:+.2f} ({each['low']:+.2f} to {each['high']:+.2f})"


def counts(sets: list[dict]) -> dict[str, Any]:
    """Return how many figures are at or above the best peer's, how many clearly so or not, and where P@1 is not."""
    figures = [each for one in sets for each in one["figures"].values()]
    return {
        "figures": len(figures),
        "at or above": sum(each["difference"] >= 0 for each in figures),
        "significantly above": sum(each["low"] > 0 for each in figures),
        "significantly below": sum(each["high"] < 0 for each in figures),
        "P@1 significantly below": [one["data"] for one in sets if one["figures"]["P@1"]["high"] < 0],
        "below": [
            f"{one['data']} {key} ({each['peer']})"
            for one in sets
            for key, each in one["figures"].items()
            if each["high"] < 0
        ],
    }


def section(result: dict) -> str:
    """The table, what it comes to, and what is missing."""
    sets = [one for one in result["sets"] if "figures" in one]
    found = result["counts"]
    below = ", ".join(found["below"]) or "none"
    lines = [
        table(sets, result["method"]),
        "",
        f"- At or above the best peer: {found['at or above']} of {found['figures']} figures; the 95% interval lies "
        f"above zero for {found['significantly above']} and below it for {found['significantly below']}.",
        f"- Significantly below the best peer: {below}.",
    ]
    for key, word in COSTS.items():
        ratios = [one["costs"][key] for one in sets if "costs" in one]
        if ratios:
            least, most = figure(min(ratios)), figure(max(ratios))
            lines.append(f"- Wall time, {word}: {least} to {most} times that of {METHODS[REFERENCE][0]}.")
    for one in sets:
        titles = [METHODS[name][0] for name in PEERS]
        if result["tuned"]:
            titles = [peer_tune.title(name) for name in (*PEERS, *COMPARATORS)]
        absent = [title for title in titles if title not in (*one["peers"], result["method"])]
        if result["tuned"]:
            plain = [title for title in one["peers"] if title in (METHODS[name][0] for name in PEERS)]
            absent = [title for title in absent if title.removesuffix(", tuned") not in plain]
            lines += [f"- {one['data']}: not tuned, with the defaults: {', '.join(plain)}."] if plain else []
        lines += [f"- {one['data']} without {', '.join(absent)}."] if absent else []
    lines += [f"- {one['data']} left out: {one['left_out']}." for one in result["sets"] if "left_out" in one]
    tools = ", ".join(f"{package} {number}" for package, number in result["versions"].items())
    return "\n".join([*lines, "", f"Measured on: {result['machine']}; {result['threads']} threads; {tools}."])


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="*", help="all of the results file where none is named")
    parser.add_argument("--tuned", action="store_true", help="tuned against tuned")
    parser.add_argument("--ours", default=OURS, choices=METHODS, help="the method that is held against the peers")
    parser.add_argument("--results", type=Path, help="peers.json or peers-tuned.json in results/")
    parser.add_argument("--labels", type=Path, help="where their labels are; in results/")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args(argv)
    tuned, plain = arguments.tuned, pages.RESULTS / "peers.json"
    file = arguments.results or (pages.RESULTS / "peers-tuned.json" if tuned else plain)
    folder = arguments.labels or (TUNED_LABELS if tuned else LABELS)
    before = json.loads(file.read_text())
    rows = before["rows"]
    if tuned and plain.exists():
        rows = with_defaults(rows, json.loads(plain.read_text())["rows"], LABELS)
    result = {key: before[key] for key in ("machine", "threads", "versions")}
    result.update(tuned=tuned, method=peer_tune.title(arguments.ours) if tuned else METHODS[arguments.ours][0])
    names = arguments.data or list(dict.fromkeys(row["data"] for row in before["rows"]))
    try:
        result["sets"] = [measured(rows, name, arguments.ours, folder) for name in names]
    except DataError as error:
        raise SystemExit(f"nothing is written: {error}") from error
    result["counts"] = counts([one for one in result["sets"] if "figures" in one])
    print(section(result))
    if arguments.write:
        name = "refined-tuned" if tuned else "refined"
        pages.keep(name, result)
        pages.insert(name, section(result), pages.BENCHMARKS)


if __name__ == "__main__":
    main()

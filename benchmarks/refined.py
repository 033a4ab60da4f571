"""X1 refined beside the best of its peers: every figure's difference with its interval, and what it costs.

    python benchmarks/refined.py [bibtex eurlex4k-partial …] [--tuned] [--ours x1-refined] [--write]

Reads what peers.py measured in one run, results/peers.json and the labels kept with it, and measures nothing itself.
Each figure is held against that of the peer that is best in it. The interval is that of the difference, 95%, by a
paired bootstrap over test points. --tuned takes results/peers-tuned.json instead, where neartag's own comparators are
among the peers, and beside it all runs of peers with the defaults that are kept: a search does not always find
something better, and which run is better is told by the test part itself, in the peer's favour. What X1 has against
tuned peers alone is counted too; a peer that was not tuned on a set stands there with its defaults. A comparison of the
same two runs that was made before stays where their labels are gone. --write replaces benchmarks/results/refined.json,
or refined-tuned.json, and the part of docs/benchmarks.md.
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
from peers import LABELS, TUNED_LABELS, again_number, labels_file

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


def place(row: dict, key: str, folder: Path) -> Path:
    """Return where the labels are that were found in the run that has the median of a figure."""
    number = row.get("number", median_run(row, key) + 1)
    return labels_file(row.get("labels", folder), row["data"], row["name"], number)


def labels_of(row: dict, key: str, train: Dataset, test: Dataset, folder: Path) -> np.ndarray:
    """Return the labels found in the run that has the median of a figure."""
    file = place(row, key, folder)
    remedy = "measure with peers.py again, which keeps them"
    if not file.exists():
        raise DataError(f"{file}: there are no labels of {row['method']} on {row['data']}; {remedy}")
    with np.load(file) as stored:
        labels = stored["labels"]
    if abs(evaluate(labels, test.Y, Y_train=train.Y)[key] - row["runs"][median_run(row, key)][key]) > TOLERANCE:
        raise DataError(f"{file}: these are not the labels of the run in the results file; {remedy}")
    return labels


def nearest(row: dict, rows: list[dict], key: str, folder: Path) -> dict:
    """Return, of other runs of the same method with the same settings that have labels, the nearest; the row if none.

    How far two methods' figures scatter together is hardly another thing from run to run: its interval, moved by what
    the two runs differ in, stands for that of the run without labels.
    """
    others = [
        other
        for other in rows
        if other["method"] == row["method"] and "number" in other and place(other, key, folder).exists()
    ]
    return min(others, key=lambda other: abs(other["runs"][0][key] - row["runs"][0][key]), default=row)


def compare(
    ours: dict, peers: list[dict], train: Dataset, test: Dataset, folder: Path, before: dict | None = None
) -> dict[str, dict[str, Any]]:
    """Return, by figure, ours, that of the peer that is best in it, and the difference with its interval.

    `before` has comparisons that were made earlier, for runs whose labels are gone.
    """
    found = {}
    for key in FIGURES:
        best = max(peers, key=lambda row: row["runs"][median_run(row, key)][key])
        told = {what: row["runs"][median_run(row, key)][key] for what, row in (("ours", ours), ("best", best))}
        told["peer"] = best["method"]
        known = (before or {}).get(key, {})
        gone = not all(place(row, key, folder).exists() for row in (ours, best))
        if gone and all(known.get(what) == value for what, value in told.items()):
            found[key] = known
            continue
        stands_in = best if place(best, key, folder).exists() else nearest(best, peers, key, folder)
        both = [labels_of(row, key, train, test, folder) for row in (ours, stands_in)]
        difference, low, high = paired_bootstrap(*both, test.Y, metric=key, Y_train=train.Y)
        if stands_in is not best:
            told["interval of"] = stands_in["runs"][0][key]
            moved = told["interval of"] - told["best"]
            difference, low, high = (value + moved for value in (difference, low, high))
        found[key] = {**told, "difference": difference, "low": low, "high": high}
    return found


def with_defaults(rows: list[dict], others: list[dict], folder: Path) -> list[dict]:
    """Return tuned rows, and a row for each run with the defaults of peers on the same sets, whose labels lie there.

    Such a row says whether its peer was tuned too: "also tuned".
    """
    tuned = {(row["data"], row["name"]) for row in rows if row["runs"]}
    sets = {data for data, _ in tuned}
    together = list(rows)
    for row in others:
        if row["data"] not in sets or row["name"] not in PEERS:
            continue
        runs = dict(enumerate(row["runs"], 1)) | {again_number(n): run for n, run in enumerate(row.get("again", []), 1)}
        also = {"labels": folder, "also tuned": (row["data"], row["name"]) in tuned}
        together += [{**row, **also, "runs": [run], "number": number} for number, run in runs.items()]
    return together


def measured(rows: list[dict], data: str, ours: str, folder: Path, before: dict | None = None) -> dict[str, Any]:
    """Return what is told of one data set, or why nothing is as {"left_out": …}; `before` is what was told of it."""
    here = [row for row in rows if row["data"] == data and row["runs"]]
    order = [name for name in (*PEERS, *COMPARATORS) if name != ours]
    peers = sorted((row for row in here if row["name"] in order), key=lambda row: order.index(row["name"]))
    first = {row["name"]: row for row in reversed(here)}  # of a peer that has both the tuned row
    if ours not in first or not peers:
        missing = METHODS[ours][0] if peers else "any peer"
        return {"data": data, "left_out": f"there is no run of {missing}"}
    train, test = peer_data.load(data)
    titles = list(dict.fromkeys(row["method"] for row in peers))
    told: dict[str, Any] = {"data": data, "points": test.n_points, "peers": titles}
    before = before or {}
    told["figures"] = compare(first[ours], peers, train, test, folder, before.get("figures"))
    chosen = [row for row in peers if not row.get("also tuned")]
    if len(chosen) < len(peers):
        told["figures, tuned"] = compare(first[ours], chosen, train, test, folder, before.get("figures, tuned"))
    if REFERENCE in first:
        reference = first[REFERENCE]["median"]
        told["costs"] = {key: first[ours]["median"][key] / reference[key] for key in COSTS}
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
    """Return how many figures are at or above the best peer's, how many clearly so or not, and which are below it."""
    figures = [(one["data"], key, each) for one in sets for key, each in one["figures"].items()]
    found: dict[str, Any] = {
        "figures": len(figures),
        "at or above": sum(each["difference"] >= 0 for _, _, each in figures),
        "significantly above": sum(each["low"] > 0 for _, _, each in figures),
        "significantly below": sum(each["high"] < 0 for _, _, each in figures),
        "P@1 significantly below": [data for data, key, each in figures if key == "P@1" and each["high"] < 0],
    }
    found["below"] = [f"{data} {key} ({each['peer']})" for data, key, each in figures if each["high"] < 0]
    found["behind"] = [
        f"{data} {key} {interval(each)} {each['peer']}" for data, key, each in figures if each["difference"] < 0
    ]
    return found


def against_tuned(sets: list[dict]) -> list[dict]:
    """Return the sets with their figures beside the tuned peers, without the defaults of those that were tuned."""
    return [{**one, "figures": one.get("figures, tuned", one["figures"])} for one in sets]


def verdict(found: dict, whom: str) -> str:
    """How many figures are at or above somebody's, and how sure that is."""
    return (
        f"- At or above the best {whom}: {found['at or above']} of {found['figures']} figures; the 95% interval lies "
        f"above zero for {found['significantly above']} and below it for {found['significantly below']}."
    )


def section(result: dict) -> str:
    """The table, what it comes to, and what is missing."""
    sets = [one for one in result["sets"] if "figures" in one]
    found = result["counts"]
    whom = "run of any peer, tuned or with the defaults" if result["tuned"] else "peer"
    lines = [table(sets, result["method"]), "", verdict(found, whom)]
    if result["tuned"]:
        told = "tuned peer (with the defaults only where it was not tuned)"
        lines.append(verdict(result["counts, tuned"], told))
    lines += [
        f"- Behind the best peer: {'; '.join(found['behind']) or 'nowhere'}.",
        f"- Significantly below the best peer: {', '.join(found['below']) or 'none'}.",
    ]
    lines += [
        f"- {one['data']} {key}: the labels of that run of {each['peer']} are gone; the interval is that of another "
        f"of its runs, {each['interval of']:.2f}, moved by the {each['best'] - each['interval of']:.2f} between them."
        for one in sets
        for key, each in one["figures"].items()
        if "interval of" in each
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
            plain = [title for title in absent if title.removesuffix(", tuned") in one["peers"]]
            absent = [title for title in absent if title not in plain]
            names = ", ".join(title.removesuffix(", tuned") for title in plain)
            lines += [f"- {one['data']}: not tuned, with the defaults: {names}."] if plain else []
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
    given = json.loads(file.read_text())
    rows = given["rows"]
    if tuned and plain.exists():
        rows = with_defaults(rows, json.loads(plain.read_text())["rows"], LABELS)
    result = {key: given[key] for key in ("machine", "threads", "versions")}
    result.update(tuned=tuned, method=peer_tune.title(arguments.ours) if tuned else METHODS[arguments.ours][0])
    names = arguments.data or list(dict.fromkeys(row["data"] for row in given["rows"]))
    name = "refined-tuned" if tuned else "refined"
    before = {one["data"]: one for one in pages.kept(name).get("sets", [])}
    try:
        result["sets"] = [measured(rows, data, arguments.ours, folder, before.get(data)) for data in names]
    except DataError as error:
        raise SystemExit(f"nothing is written: {error}") from error
    found = [one for one in result["sets"] if "figures" in one]
    result["counts"] = counts(found)
    if tuned:
        result["counts, tuned"] = counts(against_tuned(found))
    print(section(result))
    if arguments.write:
        pages.keep(name, result)
        pages.insert(name, section(result), pages.BENCHMARKS)


if __name__ == "__main__":
    main()

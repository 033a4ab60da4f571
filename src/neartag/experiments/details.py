"""What a report says of itself: how it was made, what is missing, and the settings and machine of every number."""

from __future__ import annotations

import json
from collections.abc import Iterable

from neartag.experiments import datasets
from neartag.experiments.blocks import Block, Table, Text
from neartag.experiments.plan import QUICK, Cell
from neartag.experiments.results import Record, Results


def introduction(results: Results) -> list[Block]:
    """Return what stands before the experiments."""
    records = list(results.records.values())
    hours = sum(record.seconds for record in records) / 3600
    dates = sorted({record.date for record in records})
    when = f"{dates[0]} to {dates[-1]}" if len(dates) > 1 else "".join(dates)
    command = "neartag reproduce" + (" --quick" if results.plan.quick else "")
    first = (
        f"Made by `{command}` from {len(results)} measurements that took {hours:.1f} hours ({when}). In each cell: "
        "the mean, the standard deviation and in brackets the number of runs or splits; below it the figure that the "
        "paper prints, and the difference. A star or bold type marks the best of a row, once among the measured and "
        "once among the printed figures. Precisions are in percent. Given again, the command goes on where it was."
    )
    blocks: list[Block] = [Text([first, *_on_samples(results), *_left_out(results)])]
    if stand_ins := _stand_ins(results):
        blocks.append(Text(stand_ins, title="What stands for what", listed=True))
    if results.failed:
        blocks.append(Text(_failures(results), title="What could not be measured", listed=True))
    return blocks


def every_number(results: Results) -> list[Block]:
    """Return the tables that name, for each measured number, settings, seeds, machine and versions."""
    places: dict[tuple[str, str], int] = {}
    groups: dict[tuple[str, ...], list[Record]] = {}
    for record in results.records.values():
        environment = record.machine, ", ".join(f"{name} {version}" for name, version in record.versions.items())
        places.setdefault(environment, len(places) + 1)
        cell = record.cell
        options = {name: value for name, value in cell.options if name != QUICK}
        group = (
            cell.experiment,
            cell.data,
            cell.method,
            _short(options),
            _short(record.settings),
            f"{places[environment]}, {record.jobs}",
        )
        groups.setdefault(group, []).append(record)
    columns = ["experiment", "data", "method", "options", "settings", "where, cores", "seeds", "seconds"]
    rows = [
        [*group, _ranges(record.cell.seed for record in found), _seconds(found)]
        for group, found in sorted(groups.items())
    ]
    where = [[str(number), *environment] for environment, number in places.items()]
    return [
        Table("Where it was measured", ["where", "machine", "versions"], where),
        Table(
            "What was measured",
            columns,
            rows,
            note="Settings that are not named are the defaults; the seed is the number of the split and the method's "
            "random state. Seconds are those of one run of the whole cell, on average.",
        ),
    ]


def _on_samples(results: Results) -> list[str]:
    if not results.plan.quick:
        return []
    return [
        f"This is a quick run: at most {datasets.QUICK_TRAIN:,} training and {datasets.QUICK_TEST:,} test points of "
        "each set, and few runs. It shows that everything works; its figures say little of the paper's."
    ]


def _left_out(results: Results) -> list[str]:
    if not results.outdated:
        return []
    return [f"{results.outdated} measurements with settings that have been changed since are left out; run it again."]


def _stand_ins(results: Results) -> list[str]:
    found = []
    names = set(results.names("data"))
    if datasets.EMBEDDED in names:
        found.append(
            "Where none of an experiment's data sets is there, it runs on the embedded corpus of Debian packages "
            "(29,816 packages, 507 tags), of which the paper prints nothing."
        )
    for name, about in datasets.SUBSTITUTES.items():
        if name in names:
            found.append(f"{datasets.title(name)}: {about}; the printed figures beside it are those of the whole set.")
    if any(name.startswith("synthetic-") for name in names):
        found.append(
            "A synthetic set has the shape of one of the paper's (points, features, labels, and the averages a point), "
            "but made-up content: its figures show that a method runs at that size, and nothing of its accuracy there."
        )
    return found


def _failures(results: Results) -> list[str]:
    reasons: dict[tuple[str, ...], list[Cell]] = {}
    for cell, reason in results.failed.items():
        key = cell.experiment, datasets.title(cell.data), cell.method, " ".join(reason.split())
        reasons.setdefault(key, []).append(cell)
    return [
        f"{' '.join(filter(None, (experiment, data, method)))}, {len(cells)} of its runs: {reason}"
        for (experiment, data, method, reason), cells in reasons.items()
    ]


def _short(value: dict) -> str:
    return ", ".join(
        f"{name}={entry if isinstance(entry, str) else json.dumps(entry)}" for name, entry in value.items()
    )


def _seconds(records: list[Record]) -> str:
    return f"{sum(record.seconds for record in records) / len(records):.3g}"


def _ranges(numbers: Iterable[int]) -> str:
    """Return numbers as people write them: 0–9, or 0–2, 5."""
    words: list[str] = []
    found = sorted(set(numbers))
    start = 0
    for place in range(1, len(found) + 1):
        if place == len(found) or found[place] != found[place - 1] + 1:
            first, last = found[start], found[place - 1]
            words.append(str(first) if first == last else f"{first}–{last}")
            start = place
    return ", ".join(words)

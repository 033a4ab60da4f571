"""What a report says about itself: how it was made, what is missing, and how every number was measured."""

from __future__ import annotations

import json
from collections.abc import Iterable

from neartag.experiments import datasets
from neartag.experiments.plan import QUICK, Cell, Plan
from neartag.experiments.report.blocks import Block, Table, Text
from neartag.experiments.results import Record, Results
from neartag.experiments.runner import load_experiments

WORDS = (
    "A point is a document or an image: a row of d features x, and a row of L labels y. n points are trained on.",
    "P@k: the share of right labels among a method's first k answers, on average over test points.",
    "Ω: pairs of a point and one of its n̄ label neighbours, whose label vectors have the largest inner products. G = "
    "YᵀY, the inner products of label vectors. SVP finds Z, of L̂ dimensions, with ZᵀZ near to G on Ω.",
    "V: the regressors, V·x ≈ z. λ and μ are the penalties of its size and of what is not zero in V·X. k: how many "
    "nearest neighbours of V·x vote.",
    "A learner is one clustering with its embeddings; an ensemble has several, whose votes are added.",
    "X1 has three columns: X1 (paper), neartag's variant and refined, as the notes of Tables 1 and 3 describe them. "
    "Figures by learners or clusters leave out refined, whose rankers are the same for all learners; the table of "
    "large shapes leaves out the variant, whose clusters and votes are part of refined.",
)


def introduction(results: Results) -> list[Block]:
    """Return what stands before the experiments."""
    records = list(results.records.values())
    hours = sum(record.seconds for record in records) / 3600
    dates = sorted({record.date for record in records})
    when = f"{dates[0]} to {dates[-1]}" if len(dates) > 1 else "".join(dates)
    command = "neartag reproduce" + (" --quick" if results.plan.quick else "")
    first = (
        f"Made by `{command}` from {len(results)} measurements that took {hours:.1f} hours ({when}). Each cell has the "
        "mean, the standard deviation, and in brackets the number of runs or splits; below it the number that the "
        "paper prints, and the difference. A star or bold type marks the best of a row, once among the measured and "
        "once among the printed numbers. Precisions are in percent. Run again, the command continues where it stopped; "
        "what is planned and not measured yet stands under “Details”."
    )
    blocks: list[Block] = [
        Text([first, *_describe_samples(results), *_describe_outdated(results), *_describe_stale(results)])
    ]
    blocks.append(Text(WORDS, title="Words", as_list=True))
    if substitutes := _describe_substitutes(results):
        blocks.append(Text(substitutes, title="What stands for what", as_list=True))
    if results.failed:
        blocks.append(Text(_describe_failures(results), title="What could not be measured", as_list=True))
    return blocks


def every_number(results: Results) -> list[Block]:
    """Return the tables with settings, seeds, machine and versions of each measured number."""
    environments: dict[tuple[str, str], int] = {}
    groups: dict[tuple[str, ...], list[Record]] = {}
    for record in results.records.values():
        environment = record.machine, ", ".join(f"{name} {version}" for name, version in record.versions.items())
        environments.setdefault(environment, len(environments) + 1)
        cell = record.cell
        options = {name: value for name, value in cell.options if name != QUICK}
        group = (
            cell.experiment,
            cell.data,
            cell.method,
            _join_settings(options),
            _join_settings(record.settings),
            record.behaviour or "–",
            f"{environments[environment]}, {record.jobs}",
        )
        groups.setdefault(group, []).append(record)
    columns = ["experiment", "data", "method", "options", "settings", "behaviour", "where, cores", "seeds", "seconds"]
    rows = [
        [*group, _join_ranges(record.cell.seed for record in records), _mean_seconds(records)]
        for group, records in sorted(groups.items())
    ]
    where = [[str(number), *environment] for environment, number in environments.items()]
    unmeasured = _describe_unmeasured(results)
    return [
        *([Text(unmeasured, "What is planned and not measured yet", as_list=True)] if unmeasured else []),
        Table("Where it was measured", ["where", "machine", "versions"], where),
        Table(
            "What was measured",
            columns,
            rows,
            note="Settings that are not named have their defaults. The seed is the number of the split and the random "
            "state of the method. Behaviour is the digest of what the method answered on fixed data when the "
            "number was measured (`neartag reproduce --check`). Seconds are those of one run of the whole cell, on "
            "average.",
        ),
    ]


def _describe_samples(results: Results) -> list[str]:
    if not results.plan.quick:
        return []
    return [
        f"This is a quick run: at most {datasets.QUICK_TRAIN:,} training and {datasets.QUICK_TEST:,} test points of "
        "each set, and few runs. It shows that everything works; its numbers say little about the paper's."
    ]


def _describe_outdated(results: Results) -> list[str]:
    if not results.outdated:
        return []
    return [f"{results.outdated} measurements are left out, because their settings were changed since; run it again."]


def _describe_stale(results: Results) -> list[str]:
    if not results.stale:
        return []
    counts: dict[str, int] = {}
    for cell in sorted(results.stale, key=Cell.order):
        name = " ".join(filter(None, (cell.experiment, cell.method)))
        counts[name] = counts.get(name, 0) + 1
    listed = ", ".join(f"{name} ({count})" for name, count in counts.items())
    return [
        f"{len(results.stale)} measurements are stale: their method answers otherwise since, or what it answered "
        f"then was not kept: {listed}. Run it again to measure them anew."
    ]


def _describe_substitutes(results: Results) -> list[str]:
    entries = []
    names = set(results.names("data"))
    if datasets.EMBEDDED in names:
        entries.append(
            "An experiment none of whose data sets is there runs on the embedded corpus of Debian packages (29,816 "
            "packages, 507 tags), for which the paper prints nothing."
        )
    for name, about in datasets.SUBSTITUTES.items():
        if name in names:
            entries.append(
                f"{datasets.title(name)}: {about}; the printed numbers beside it are those of the whole set."
            )
    if any(name.startswith("synthetic-") for name in names):
        entries.append(
            "A synthetic set has the shape of one of the paper's (points, features, labels, and the averages per "
            "point), but made-up content: its numbers show that a method runs at that size, and nothing about its "
            "accuracy."
        )
    return entries


def _describe_failures(results: Results) -> list[str]:
    reasons: dict[tuple[str, ...], list[Cell]] = {}
    for cell, reason in results.failed.items():
        key = cell.experiment, datasets.title(cell.data), cell.method, " ".join(reason.split())
        reasons.setdefault(key, []).append(cell)
    return [
        f"{' '.join(filter(None, (experiment, data, method)))}, {len(cells)} of its runs: {reason}"
        for (experiment, data, method, reason), cells in reasons.items()
    ]


def _describe_unmeasured(results: Results) -> list[str]:
    """Say for each experiment how many of its measurements, on the data that the report has, are not there yet."""
    plan = Plan(data=tuple(results.names("data")), quick=results.plan.quick)
    entries = []
    for name, experiment in load_experiments().items():
        if not results.select(name):
            continue
        planned = dict.fromkeys(experiment.cells(plan))
        missing = [cell for cell in planned if cell not in results.records]
        counts: dict[str, int] = {}
        for cell in missing:
            words = " ".join(filter(None, (datasets.title(cell.data), cell.method, cell.option("reading"))))
            counts[words] = counts.get(words, 0) + 1
        if missing:
            listed = ", ".join(f"{words} ({count})" for words, count in counts.items())
            entries.append(f"{name}: {len(missing)} of {len(planned)}: {listed}")
    return entries


def _join_settings(settings: dict) -> str:
    return ", ".join(
        f"{name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in settings.items()
    )


def _mean_seconds(records: list[Record]) -> str:
    return f"{sum(record.seconds for record in records) / len(records):.3g}"


def _join_ranges(numbers: Iterable[int]) -> str:
    """Return numbers as people write them: 0–9, or 0–2, 5."""
    ranges: list[str] = []
    ordered = sorted(set(numbers))
    start = 0
    for end in range(1, len(ordered) + 1):
        if end == len(ordered) or ordered[end] != ordered[end - 1] + 1:
            first, last = ordered[start], ordered[end - 1]
            ranges.append(str(first) if first == last else f"{first}–{last}")
            start = end
    return ", ".join(ranges)

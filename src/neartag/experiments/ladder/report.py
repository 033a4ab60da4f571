"""The ladder's tables and plots: what each rung is worth, by data set and at a glance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from neartag.experiments import datasets, methods
from neartag.experiments.differences import Gain, lead_between
from neartag.experiments.ladder.changes import ADDED, ALONE, PRESET
from neartag.experiments.report.blocks import Block, Entry, Figure, Number, Series, Table
from neartag.experiments.results import Results


class Rung(NamedTuple):
    """What a change is worth on one data set, by precision, and the results with all changes up to it."""

    alone: dict[str, Gain]
    added: dict[str, Gain]
    results: Results


def climb(own: Results, ends: Results, names: Mapping[str, str]) -> dict[str, Rung]:
    """Return the rungs of one data set, in the order of the changes' names."""
    strict, refined = ends.select(method=methods.STRICT), ends.select(method=methods.REFINED)
    rungs: dict[str, Rung] = {}
    last, ratio = strict, _test_per_train(own)
    for name in names:
        one, added = own.select(change=name, rung=ALONE), own.select(change=name, rung=ADDED)
        if name == PRESET:
            added = refined
        rungs[name] = Rung(_gains(one, strict, ratio), _gains(added, last, ratio), added)
        last = added or last
    return rungs


def at_a_glance(own: Results, ends: Results, titles: Mapping[str, str]) -> list[Block]:
    """Return one table of all data sets: P@1 of each change, alone and added."""
    named = datasets.in_table_order(own.names("data"))
    sets = [data for data in named if ends.select(data=data, method=methods.STRICT)]
    climbed = {data: climb(own.select(data=data), ends.select(data=data), titles) for data in sets}
    rows: list[list[Entry]] = []
    for name, title in titles.items():
        row: list[Entry] = [title]
        for data in sets:
            rung = climbed[data][name]
            row += [_told(rung.alone), _told(rung.added)]
        rows.append(row)
    total: list[Entry] = ["all"]
    for data in sets:
        strict, refined = (ends.select(data=data, method=each) for each in (methods.STRICT, methods.REFINED))
        total += ["", _told(_gains(refined, strict, _test_per_train(own.select(data=data))))]
    columns = ["change", *(f"{datasets.title(data)}, {rung}" for data in sets for rung in (ALONE, ADDED))]
    note = (
        "P@1 of each change, in points: made to X1 (paper) alone, and added to all before it. In brackets the number "
        "of splits; ± is half of a 95% interval. A change whose interval holds zero is not distinguishable from none."
    )
    return [Table("At a glance", columns, [*rows, total], note)]


def _told(gains: dict[str, Gain]) -> str:
    first = gains.get(methods.PRECISIONS[0])
    return "–" if first is None else f"{first} ({first.splits})"


def report_data(own: Results, ends: Results, data: str, titles: Mapping[str, str]) -> list[Block]:
    """Return the table and the plot of one data set."""
    strict = ends.select(method=methods.STRICT)
    if not strict or not own:
        return []
    rows: list[list[Entry]] = [_row("X1 (paper)", strict, {}, {})]
    rungs = climb(own, ends, titles)
    alone = {name: rung.alone for name, rung in rungs.items()}
    whole = {name: rung.added for name, rung in rungs.items()}
    last = strict
    for name, rung in rungs.items():
        rows.append(_row(titles[name], rung.results, rung.alone, rung.added))
        last = rung.results or last
    title = datasets.title(data)
    total = _gains(last, strict, _test_per_train(own))
    rows.append(_row("all", last, {}, total))
    columns = ["change"]
    columns += [f"{name} alone" for name in methods.PRECISIONS]
    columns += [f"{name} added" for name in methods.PRECISIONS]
    columns += list(methods.PRECISIONS)
    note = (
        "“Alone”: the change made to X1 (paper), minus X1 (paper). “Added”: the change on top of all before it, "
        "minus what was there before. The last columns are the precisions with all changes up to the row. ± is "
        "half of a 95% interval of the difference over the same splits, corrected for the points that splits share "
        "(Nadeau and Bengio 2003). “–”: the change changes nothing on this set, or was not measured."
    )
    return [Table(f"The ladder, {title}", columns, rows, note), _plot(alone, whole, titles, data)]


def _test_per_train(own: Results) -> float:
    """Return how many test points a split has for each training point."""
    sized = (measured for measured in own.values() if "test_points" in measured)
    return max((measured["test_points"] / measured["train_points"] for measured in sized), default=0.0)


def _gains(after: Results, before: Results, test_per_train: float) -> dict[str, Gain]:
    found = {name: lead_between(after, before, name, test_per_train) for name in methods.PRECISIONS}
    return {name: each for name, each in found.items() if each is not None}


def _row(title: str, results: Results, alone: dict[str, Gain], added: dict[str, Gain]) -> list[Entry]:
    texts = [str(gains[name]) if name in gains else "–" for gains in (alone, added) for name in methods.PRECISIONS]
    numbers = [Number(*summary) if (summary := results.summary(name)) else Number(None) for name in methods.PRECISIONS]
    return [title, *texts, *numbers]


def _plot(
    alone: dict[str, dict[str, Gain]], added: dict[str, dict[str, Gain]], titles: Mapping[str, str], data: str
) -> Figure:
    series = []
    for label, gains, offset in (("alone", alone, -0.12), ("added to all before", added, 0.12)):
        points = [
            (each["P@1"].mean, place + offset, each["P@1"].half or 0.0)
            for place, each in enumerate(gains.values())
            if "P@1" in each
        ]
        if points:
            x, y, spread = zip(*points, strict=True)
            series.append(Series(label, x, y, spread, style="intervals"))
    return Figure(
        f"What each change is worth, {datasets.title(data)}",
        f"ladder-{data}",
        series,
        "change of P@1, points of percent",
        "",
        "From the top: the changes in their order. A bar that crosses zero is a change that the splits cannot tell "
        "from none.",
        rows=list(titles.values()),
    )

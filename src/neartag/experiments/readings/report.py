"""The tables of the readings: all on the first split, and those that were measured on all splits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from neartag.experiments import datasets, methods, trials
from neartag.experiments.differences import lead_between
from neartag.experiments.printed import TABLE_3, TABLE_3_DEVIATIONS
from neartag.experiments.readings.open_points import PRINTED, READINGS, SPLITS
from neartag.experiments.readings.validation import LARGE_LEARNERS, Choice
from neartag.experiments.report.blocks import Block, Entry, Number, Table, Text
from neartag.experiments.results import Results


def tell_readings(results: Results) -> list[Block]:
    """Return what each reading is, and the tables of each data set."""
    own = results.select("readings")
    blocks: list[Block] = []
    for data in datasets.in_table_order(own.names("data")):
        blocks.append(_table(_on_first_split(own.select(data=data)), data, _distance_to_print(results, data)))
        blocks.extend(_over_splits(results, data))
    if blocks:
        measured = {cell.option("reading") for cell in own.records}
        words = [f"{reading.title}. {reading.words}" for key, reading in READINGS.items() if key in measured]
        blocks.insert(0, Text(words, "What the paper leaves open, and how it is read", as_list=True))
    return blocks


def _on_first_split(own: Results) -> Results:
    return Results({cell: record for cell, record in own.records.items() if cell.seed < SPLITS}, own.plan)


def readings_of_all_splits(results: Results, data: str) -> list[tuple[str, Results]]:
    """Return the titles and results of the readings of a set that were measured on more than the first split."""
    asked = {key: results.select("readings", data, reading=key) for key in READINGS if READINGS[key].splits > SPLITS}
    return [(READINGS[key].title, own) for key, own in asked.items() if len(own) > SPLITS]


def _over_splits(results: Results, data: str) -> list[Table]:
    """Return a table of the readings that were measured on all splits of Table 3, beside X1 (paper) and print."""
    paper = datasets.paper_name(data)
    printed, deviations = TABLE_3[methods.STRICT].get(paper), TABLE_3_DEVIATIONS[methods.STRICT].get(paper)
    rows: list[list[Entry]] = []
    for title, own in readings_of_all_splits(results, data):
        x1 = results.select("table3", data, methods.STRICT)
        for place, precision in enumerate(methods.PRECISIONS):
            found, beside, lead = own.summary(precision), x1.summary(precision), lead_between(own, x1, precision)
            if found is None or beside is None or lead is None:
                continue
            row: list[Entry] = [title, precision, Number(*found), Number(*beside), f"{lead.mean:+.2f}"]
            if printed and deviations and data not in datasets.SUBSTITUTES:
                row += [f"{printed[place]:.2f} ± {deviations[place]:.2f}"]
                row += [f"{(found.mean - printed[place]) / deviations[place]:+.1f}"]
            rows.append(row)
    if not rows:
        return []
    columns = ["reading", "", "measured", methods.title(methods.STRICT), "against it", "printed", "in deviations"]
    note = (
        "The splits of Table 3. What the reading leaves open was chosen on a held-out fifth of each split's training "
        "part. “In deviations”: how far it is from the printed number, in the paper's own standard deviations."
    )
    return [Table(f"{datasets.title(data)}: a reading on all splits", columns[: len(rows[0])], rows, note)]


def _table(own: Results, data: str, distance: str) -> Table:
    """Return the readings of one data set; `distance`: from X1 (paper) to the printed numbers, for people."""
    rows: list[list[Entry]] = []
    means = validation_means(own)
    compared = comparable(means)
    best = best_reading(means)
    paper = own.select(reading=PRINTED)
    ensembles = bool(own.numbers("clusters_alike"))
    for key, validation in means.items():
        cells = own.select(reading=key)
        chosen = [Choice(**measured["chosen"]) for measured in cells.values()]
        summaries = [summary for name in methods.PRECISIONS if (summary := cells.summary(name)) is not None]
        left = 100 * float(np.mean([measured["unexplained"] for measured in cells.values()]))
        rows.append(
            [
                READINGS[key].title,
                Number(validation, runs=len(cells), note="best" if key == best else ""),
                *(Number(*summary) for summary in summaries),
                "–" if key == PRINTED else _difference(cells, paper),
                *(_listed(getattr(choice, field) for choice in chosen) for field in Choice._fields),
                max(measured["svp_steps"] for measured in cells.values()),
                Number(left, digits=3),
                *([_alike(cells)] if ensembles else []),
            ]
        )
    note = (
        "k, n̄ and λ of each reading were chosen on a held-out fifth of each split's training part, by the mean of "
        "P@1, P@3 and P@5, unless the list above says which are fixed."
    )
    if best:
        note += (
            f" The best mean there is the best of {len(compared)} readings, X1 (paper) among them. Readings put "
            "together of others after these had been tested are left out of that."
        )
    note += (
        " The test part was looked at once for each. “Against X1 (paper)”: P@1 / P@3 / P@5 on the same splits."
        f"{distance} Left: the share of YᵀY on Ω that SVP leaves unexplained."
    )
    if datasets.is_large(data):
        whole = methods.paper_settings(data, large=True)["n_learners"]
        note += f" There are {LARGE_LEARNERS} learners here, {whole} in Table 1 (a)."
    columns = ["reading", "validation", *methods.PRECISIONS, "against X1 (paper)", "n̄", "λ", "k", "steps of SVP"]
    columns.append("left, percent")
    if ensembles:
        columns.append("clusters alike")
        note += (
            " Clusters alike: the mean adjusted Rand index of two learners' clusters, 1 if they are the same, 0 if "
            "they have nothing to do with each other; “–” where there is one learner, or that was not measured."
        )
    return Table(datasets.title(data), columns, rows, note)


def _alike(cells: Results) -> str:
    found = cells.summary("clusters_alike")
    return "–" if found is None else f"{found.mean:.2f}"


def _difference(cells: Results, paper: Results) -> str:
    """Return how much a reading is ahead of X1 (paper) on the splits that both have, for people."""
    leads = [lead_between(cells, paper, name) for name in methods.PRECISIONS]
    return " / ".join("–" if lead is None else f"{lead.mean:+.2f}" for lead in leads)


def _distance_to_print(results: Results, data: str) -> str:
    """Say how far X1 (paper) is from the printed numbers over all splits of Table 3; "" where that is not known."""
    printed = TABLE_3[methods.STRICT].get(datasets.paper_name(data))
    summaries = [results.select("table3", data, methods.STRICT).summary(name) for name in methods.PRECISIONS]
    measured = [summary for summary in summaries if summary is not None]
    if not printed or data in datasets.SUBSTITUTES or len(measured) < len(summaries):
        return ""
    apart = " / ".join(f"{summary.mean - value:+.2f}" for summary, value in zip(measured, printed, strict=True))
    return (
        f" Over {measured[0].runs} splits X1 (paper) is {apart} from the printed numbers: a reading that is as much "
        "ahead of it would explain that."
    )


def validation_means(own: Results) -> dict[str, float]:
    """Return the mean of P@1, P@3 and P@5 on held-out points of each reading; all results are of one data set."""
    first = _on_first_split(own)
    measured = {key: list(first.select(reading=key).values()) for key in READINGS}
    return {
        key: float(np.mean([trials.mean_of(each["validation"]) for each in cells]))
        for key, cells in measured.items()
        if cells
    }


def comparable(means: Mapping[str, float]) -> list[str]:
    """Return the readings of which one is the best.

    Left out are those put together of others after these had been tested, and those that test a cause on large sets.
    """
    return [key for key in means if not READINGS[key].for_large and not READINGS[key].after_test]


def best_reading(means: Mapping[str, float]) -> str:
    """Return the reading that is best on held-out points; "" if there are no two to choose from."""
    compared = comparable(means)
    return max(compared, key=means.__getitem__) if len(compared) > 1 else ""


def _listed(values: Iterator[float]) -> str:
    return ", ".join(f"{value:g}" for value in dict.fromkeys(values))

"""The report in short: X1 (paper) beside the printed numbers, and how often the paper's claims hold."""

from __future__ import annotations

from neartag.experiments import datasets, methods, table3
from neartag.experiments.claims.experiment import check_all, count_answers
from neartag.experiments.claims.findings import NO, NOT_HERE, Claim, Finding
from neartag.experiments.printed import TABLE_3, TABLE_3_DEVIATIONS
from neartag.experiments.readings.open_points import READINGS
from neartag.experiments.readings.report import best_reading, readings_of_all_splits, validation_means
from neartag.experiments.report.blocks import Block, Entry, Table, Text
from neartag.experiments.results import Results
from neartag.experiments.runner import Overview

X1 = methods.STRICT


class Summary(Overview):
    """The report in a page."""

    name = "summary"
    title = "In short"

    def report(self, results: Results) -> list[Block]:
        """Return how near X1 (paper) comes to the printed numbers, the counts of claims, and which do not hold."""
        if not results:
            return []
        checked = check_all(results)
        blocks: list[Block] = [*_beside_print(results), Text([count_answers(checked)], "The paper's claims")]
        lines = [_describe(claim, found) for claim, found in checked.items() if _against(found)]
        if lines:
            blocks.append(Text(lines, "Claims that do not hold everywhere", as_list=True))
        return blocks


def _beside_print(results: Results) -> list[Block]:
    """Return a table of X1 (paper) on all splits, with its distance in the paper's own standard deviations."""
    rows: list[list[Entry]] = []
    others = ""
    for data in datasets.in_table_order(results.select("table3", method=X1).names("data")):
        paper = datasets.paper_name(data)
        printed, deviations = TABLE_3[X1].get(paper), TABLE_3_DEVIATIONS[X1].get(paper)
        if printed is None or deviations is None:
            continue
        best = _best_reading(results, data)
        others += _describe_other_readings(results, data)
        for place, precision in enumerate(methods.PRECISIONS):
            number = table3.number(results.select("table3"), data, X1, place)
            apart = (number.difference or 0.0) / deviations[place]
            told = "other data" if data in datasets.SUBSTITUTES else f"{apart:+.1f}"
            rows.append([datasets.title(data), precision, number, told, best])
    if not rows:
        return []
    columns = ["data set", "", methods.title(X1), "difference in printed deviations", "best reading by validation"]
    note = (
        "Differences beyond one deviation are what the readings look into: what the paper leaves open, tried one point "
        "at a time. The last column names the one that is best on held-out points of the first split."
        f"{others}"
    )
    return [Table("X1 (paper) beside the printed numbers", columns, rows, note)]


def _describe_other_readings(results: Results, data: str) -> str:
    """Say what X1 has on a set as the readings that were measured on more than the first split."""
    told = ""
    for title, own in readings_of_all_splits(results, data):
        summaries = [summary for name in methods.PRECISIONS if (summary := own.summary(name)) is not None]
        numbers = " / ".join(f"{summary.mean:.2f}" for summary in summaries)
        told += f" On {datasets.title(data)} X1 has {numbers} over {len(own)} splits {title}."
    return told


def _best_reading(results: Results, data: str) -> str:
    best = best_reading(validation_means(results.select("readings", data)))
    return READINGS[best].title if best else "–"


def _against(found: list[Finding]) -> list[Finding]:
    return [finding for finding in found if finding.answer == NO]


def _describe(claim: Claim, found: list[Finding]) -> str:
    against = _against(found)
    where = ", ".join(dict.fromkeys(finding.where for finding in against))
    judged = sum(finding.answer != NOT_HERE for finding in found)
    return f"{claim.statement} ({claim.place}): {len(against)} of {judged} checks against it, on {where}."


EXPERIMENT = Summary()

"""The orders that the paper claims, each checked against what the other experiments measured."""

from __future__ import annotations

from neartag.experiments.claims.checks import CLAIMS, Verdict
from neartag.experiments.plan import Cell, Plan
from neartag.experiments.report.blocks import Block, Entry, Table, Text
from neartag.experiments.results import Results
from neartag.experiments.runner import Experiment


class Claims(Experiment):
    """Measures nothing of its own."""

    name = "claims"
    title = "The orders that the paper claims"

    def cells(self, plan: Plan) -> list[Cell]:
        """Return nothing: other experiments measure what is checked."""
        return []

    def report(self, results: Results) -> list[Block]:
        """Return each claim with what was measured of it, and a list of the disagreements."""
        verdicts = [(claim.statement, list(claim.check(results))) for claim in CLAIMS]
        if not any(found for _, found in verdicts):
            return []
        rows: list[list[Entry]] = []
        for statement, found in verdicts:
            rows += [[statement, verdict.where, verdict.measured, _answer(verdict.agrees)] for verdict in found]
            if not found:
                rows.append([statement, "–", "not measured", "–"])
        note = (
            "Means over the runs that are there, as differences in points of percent. ± is the standard deviation of "
            "the difference over runs; a difference of no more than two standard errors is too close to tell."
        )
        table = Table("", ["the paper claims", "data set", "measured", "agrees"], rows, note)
        return [table, *_summarise(verdicts)]


def _summarise(verdicts: list[tuple[str, list[Verdict]]]) -> list[Block]:
    """Say how often measurements agree with the paper, and list every disagreement."""
    checks = [(statement, verdict) for statement, found in verdicts for verdict in found]
    count = {answer: sum(verdict.agrees is answer for _, verdict in checks) for answer in (True, False, None)}
    summary = (
        f"Of {len(checks)} checks the measurement agrees with the paper in {count[True]}, disagrees in {count[False]}, "
        f"and is too close to tell in {count[None]}."
    )
    missing = [statement for statement, found in verdicts if not found]
    if missing:
        summary += f" Not measured: {'; '.join(missing)}."
    against = [
        f"{statement}. {verdict.where}: {verdict.measured}." for statement, verdict in checks if verdict.agrees is False
    ]
    blocks: list[Block] = [Text([summary])]
    if against:
        blocks.append(Text(against, "Where the measurement disagrees", as_list=True))
    return blocks


def _answer(agrees: bool | None) -> str:
    return {True: "yes", False: "no", None: "too close to tell"}[agrees]


EXPERIMENT = Claims()

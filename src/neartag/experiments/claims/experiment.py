"""What the paper claims, each point checked against what the other experiments measured."""

from __future__ import annotations

from collections.abc import Sequence

from neartag.experiments import methods
from neartag.experiments.claims import (
    accuracy,
    clusters,
    costs,
    ensembles,
    label_matrix,
    penalty,
    rare_labels,
    scaling,
)
from neartag.experiments.claims.findings import ANSWERS, CLOSE, NO, NOT_HERE, YES, Claim, Finding
from neartag.experiments.report.blocks import Block, Entry, Table, Text
from neartag.experiments.results import Results
from neartag.experiments.runner import Overview

MODULES = (accuracy, rare_labels, clusters, ensembles, label_matrix, costs, scaling, penalty)
CLAIMS: tuple[Claim, ...] = tuple(claim for module in MODULES for claim in module.CLAIMS)
NOT_FOUND = "the cause is not found yet"


class Claims(Overview):
    """Every claim, with what was measured of it."""

    name = "claims"
    title = "What the paper claims, checked"

    def report(self, results: Results) -> list[Block]:
        """Return each claim with what was measured of it, how often it holds, and the causes where it does not."""
        if not results:
            return []
        checked = check_all(results)
        note = (
            f"All verdicts rest on {methods.title(methods.STRICT)}. Differences are in percentage points, means over "
            "the runs that are there. ± is half of a 95% interval of the difference by Student's t; for random splits "
            "it is corrected for the points that they share (Nadeau and Bengio 2003), as in the ladder. A difference "
            "whose interval includes zero is too close to tell. One run has no interval: its error is that of two "
            "independent samples of as many test points, which overstates it; that of two runs is no smaller. Runs "
            "with other seeds on the same points show the scatter of training alone. Where a claim compares many "
            "numbers, of rivals or of clusters, each has its own 95% interval: one of them may be beyond by chance. A "
            "claim that names a data set, or large sets, is not applicable on others; yso-finna-en-100k counts as a "
            "large set, though it is none of the paper's. Synthetic sets are judged by time and memory only: their "
            "labels are made up."
        )
        columns = ["the paper claims", "where", "data set", "measure", "measured", "agrees"]
        return [
            Text([count_answers(checked)]),
            Table("", columns, _rows(checked), note),
            *_disagreements(checked),
        ]


def check_all(results: Results) -> dict[Claim, list[Finding]]:
    """Return what was found of every claim."""
    return {claim: list(claim.check(results)) for claim in CLAIMS}


def _rows(checked: dict[Claim, list[Finding]]) -> list[list[Entry]]:
    rows: list[list[Entry]] = []
    for claim, found in checked.items():
        rows += [[claim.statement, claim.place, *finding[:4]] for finding in found]
        if not found:
            rows.append([claim.statement, claim.place, "–", "", "not measured", "–"])
    return rows


def count_answers(checked: dict[Claim, list[Finding]]) -> str:
    """Say how often measurements agree with the paper."""
    answers = [finding.answer for found in checked.values() for finding in found]
    agree, disagree, close, not_here = (answers.count(answer) for answer in ANSWERS)
    missing = [claim.statement for claim, found in checked.items() if not found]
    counts = (
        f"{len(answers)} checks of {len(checked)} claims: {agree} agree with the paper, {disagree} disagree, {close} "
        f"{'is' if close == 1 else 'are'} too close to tell, and {not_here} are not applicable here."
    )
    return _count_claims(checked) + " " + counts + (f" Not measured: {'; '.join(missing)}." if missing else "")


def _count_claims(checked: dict[Claim, list[Finding]]) -> str:
    """Say how many claims can be judged here, and how they do: a claim may have 15 checks, or a single one."""
    judged = [{each.answer for each in found} - {NOT_HERE} for found in checked.values()]
    judged = [answers for answers in judged if answers]
    hold, against = sum(answers == {YES} for answers in judged), sum(NO in answers for answers in judged)
    none = sum(answers == {CLOSE} for answers in judged)
    return (
        f"Of {len(checked)} claims {len(judged)} can be judged by what was measured here. {hold} hold in every check, "
        f"{against} fail in at least one, {none} are too close to tell in all, and the others hold in some and are too "
        "close to tell in some."
    )


def _disagreements(checked: dict[Claim, list[Finding]]) -> list[Block]:
    """List every disagreement with its cause; those of one claim, data set and cause together."""
    groups: dict[tuple[str, str, str], list[Finding]] = {}
    for claim, found in checked.items():
        for finding in found:
            if finding.answer == NO:
                groups.setdefault((claim.statement, finding.where, finding.cause or NOT_FOUND), []).append(finding)
    lines = [
        f"{statement}. {where}: {_join(findings)}. Cause: {cause}."
        for (statement, where, cause), findings in groups.items()
    ]
    return [Text(lines, "Where the measurement disagrees, and why", as_list=True)] if lines else []


def _join(findings: Sequence[Finding]) -> str:
    return "; ".join(" ".join(filter(None, (finding.measure, finding.measured))) for finding in findings)


EXPERIMENT = Claims()

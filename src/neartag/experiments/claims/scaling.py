"""Claims about how large a set each method can be trained on.

These are judged on made-up sets of the large shapes too: time and memory depend on sizes, not on what labels mean.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from neartag.experiments import datasets, methods
from neartag.experiments.claims.costs import OWN_LEML
from neartag.experiments.claims.findings import (
    NOT_TESTED,
    Check,
    Claim,
    Finding,
    answer_of,
    by_data,
    judge_large,
    not_here,
)
from neartag.experiments.results import Results
from neartag.experiments.scale.limits import LIMITS, QUICK_LIMITS, find_reach
from neartag.experiments.sizes import count_labels

X1 = methods.STRICT
MILLION = 1_000_000
# Embedding methods that the paper could train on small sets only.
SMALLEST_OF_LARGE = 30_938  # labels of Wiki10
OTHER_EMBEDDINGS = ("cs", "cplst", "ml_cssp", "wsabie")


def _with_a_million_labels(method: str, claimed: bool) -> Check:
    """Return the check that a method can be trained with a million labels, or, if not `claimed`, that it cannot."""

    def check(results: Results) -> Iterator[Finding]:
        own = results.select("scale", method=method)
        finished = [(cell.data, measured) for cell, measured in own.items() if "labels" in measured]
        large = [(data, measured) for data, measured in finished if measured["labels"] >= MILLION]
        for data, measured in large:
            told = f"{measured['labels']:,} labels in {_describe_cost(measured)}"
            cause = f"the paper names neither its “standard resources” nor LEML's limit; {OWN_LEML}"
            yield Finding(datasets.title(data), "", told, answer_of(claimed), "" if claimed else cause)
        if finished and not large:
            largest = max(int(measured["labels"]) for _, measured in finished)
            told = f"the largest that it finished within {_describe_limits(own)} has {largest:,} labels"
            yield not_here("synthetic sets", told, "the paper's limit is not told, and it had hours")

    return check


def _describe_limits(own: Results) -> str:
    limits = QUICK_LIMITS if own.plan.quick else LIMITS
    cores = sorted({record.jobs for record in own.records.values()})
    several = f"{' or '.join(map(str, cores))} core{'' if cores == [1] else 's'}"
    return f"{limits.minutes:g} minutes on {several} and {limits.gigabytes:g} GB"


def _describe_cost(measured: dict[str, Any]) -> str:
    return f"{measured['train_seconds'] / 60:.1f} min and {measured['peak_mb'] / 1000:.1f} GB"


def _other_embeddings(results: Results) -> Iterator[Finding]:
    for data, own in by_data(results, "table1"):
        finished = {
            method: summary
            for method in OTHER_EMBEDDINGS
            if (summary := own.select(method=method).summary("train_cpu_seconds")) is not None
        }
        if finished:
            labels = count_labels(results, data)
            times = " and ".join(f"{methods.title(each)} in {time.mean:,.0f} CPU s" for each, time in finished.items())
            told = f"with {labels:,} labels: {times}"
            if labels < SMALLEST_OF_LARGE:
                reason = f"the paper's large sets have {SMALLEST_OF_LARGE:,} labels and more"
                yield not_here(datasets.title(data), told, reason)
                continue
            cause = f"the paper does not say what kept them from its large sets; {NOT_TESTED}"
            yield judge_large(data, "", told, False, cause)


def _further_than_leml(results: Results) -> Iterator[Finding]:
    """Compare the largest fractions of each shape that X1 and LEML finish, where both met a limit or its end."""
    own = results.select("scale")
    for data in datasets.in_table_order(cell.data for cell in own.records):
        ours, theirs = (find_reach(own.select(data=data, method=method)) for method in (X1, "leml"))
        if ours is None or theirs is None:
            continue
        told = "; ".join(
            f"{methods.title(method)} {reach.name} in {_describe_cost(reach.measured)}"
            for method, reach in ((X1, ours), ("leml", theirs))
        )
        if not (ours.at_limit and theirs.at_limit):
            yield not_here(datasets.title(data), told, "larger fractions are not measured yet")
            continue
        if ours.fraction == theirs.fraction == 1:
            yield not_here(datasets.title(data), told, "neither met a limit")
            continue
        agrees = None if ours.fraction == theirs.fraction else ours.fraction < theirs.fraction
        cause = f"SVP runs to convergence in X1, here for 15 learners; LEML's rank is 500 at most; {OWN_LEML}"
        told = f"within {_describe_limits(own)}: {told}"
        yield Finding(datasets.title(data), "", told, answer_of(agrees), cause if agrees is False else "")


CLAIMS = (
    Claim("X1 can be trained with a million labels", "Sections 1 and 3", _with_a_million_labels(X1, True)),
    Claim("LEML cannot be trained with a million labels", "Section 3, Table 1", _with_a_million_labels("leml", False)),
    Claim("Of other embedding methods only LEML can be trained on large sets", "Section 3", _other_embeddings),
    Claim("X1 scales better than LEML", "Section 3", _further_than_leml),
)

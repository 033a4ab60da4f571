"""Claims about how well few dimensions approximate the labels, read from Figure 1 (a)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from neartag.experiments import datasets
from neartag.experiments.claims.findings import (
    NOT_TESTED,
    Check,
    Claim,
    Finding,
    by_data,
    finding,
    judge_named,
    not_here,
)
from neartag.experiments.figure1a import SVP_TOL
from neartag.experiments.results import Results
from neartag.experiments.sizes import count_labels

PAPER_SET = "WikiLSHTC"
CLAIMED_ERROR = 0.9  # that a global SVD of rank 500 leaves of WikiLSHTC's labels
MIN_LEFT = 0.1  # share of the labels that a matrix leaves which is "not close" to low rank, at X1's own L̂
OWN_DIM = 100  # L̂ of X1 on small sets
NO_LABELS_COUNTED = "its labels were not counted (Table 2)"
MAX_DIM_SHARE = 0.5  # of the labels: with more dimensions every matrix is of low rank


def _global_error(results: Results) -> Iterator[Finding]:
    for data, measured in _measured(results, "global"):
        left, dim = measured["global"][-1], measured["dimensions"][-1]
        text = f"{100 * left:.1f}% left at L̂ = {dim}"
        yield judge_named(PAPER_SET, data, "", text, left >= CLAIMED_ERROR, NOT_TESTED)


def _falls_linearly(results: Results) -> Iterator[Finding]:
    for data, measured in _measured(results, "global"):
        dims, left = measured["dimensions"], measured["global"]
        falls = [
            100 * (left[place] - left[place + 1]) / (dims[place + 1] - dims[place]) for place in range(len(dims) - 1)
        ]
        if falls:
            text = (
                f"{falls[0]:.3f} points for each dimension at first, {falls[-1]:.3f} at last; an SVD takes the largest "
                "directions first, so that this holds for every matrix"
            )
            yield judge_named(PAPER_SET, data, "", text, falls == sorted(falls, reverse=True), NOT_TESTED)


def _clusters_not_low_rank(results: Results) -> Iterator[Finding]:
    for data, measured in _measured(results, "equal_rank"):
        dims, left = measured["dimensions"], measured["equal_rank"]
        place = min(range(len(dims)), key=lambda each: abs(dims[each] - OWN_DIM))
        text = f"an SVD in each of {measured['clusters']} clusters leaves {100 * left[place]:.1f}% at L̂ = {dims[place]}"
        labels = count_labels(results, data)
        if dims[place] > MAX_DIM_SHARE * labels:
            reason = f"of {labels:,} labels, so many dimensions are no low rank" if labels else NO_LABELS_COUNTED
            yield not_here(datasets.title(data), text, reason)
            continue
        text += f"; “not close” is read as {MIN_LEFT:.0%} at the L̂ that is nearest to X1's {OWN_DIM}"
        yield finding(data, "", text, left[place] >= MIN_LEFT, NOT_TESTED)


def _smaller_error(name: str, words: str) -> Check:
    """Return the check that X1's own error is smaller than that of an SVD at every L̂.

    Where SVP had not converged its error is an upper bound: it can say yes, but not no.
    """

    def check(results: Results) -> Iterator[Finding]:
        for data, measured in _measured(results, name, "x1"):
            rows = list(zip(measured["dimensions"], measured["x1"], measured[name], strict=True))
            same_target = "same_target" in measured
            told = "; ".join(
                f"at L̂ = {dim}: {words} {100 * svd:.3g}% of Y, X1 {100 * x1:.3g}% of YᵀY on Ω, another target"
                + (f", of which an SVD leaves {100 * measured['same_target'][place]:.3g}%" if same_target else "")
                for place, (dim, x1, svd) in ((place, rows[place]) for place in (0, -1))
            )
            places = [place for place, row in enumerate(rows) if row[1] >= row[2]]
            agrees: bool | None = True
            cause = ""
            if places:
                agrees = None
                dim, x1, svd = rows[places[0]]
                told += f"; not so at L̂ = {dim}: X1 {100 * x1:.3f}%, {words} {100 * svd:.3f}%"
                converged = [place for place in places if measured["last_falls"][place] <= SVP_TOL]
                if converged:
                    steps = measured["steps"][converged[0]]
                    agrees, cause = False, f"SVP made {steps} steps and had converged; the cause is {NOT_TESTED}"
            yield finding(data, "", told + _describe_unfinished(measured), agrees, cause)

    return check


def _describe_unfinished(measured: dict[str, Any]) -> str:
    """Say where SVP had not converged: X1's error there would become smaller, whether it is ahead or behind."""
    falls = zip(measured["dimensions"], measured["last_falls"], strict=True)
    unfinished = [str(dim) for dim, fall in falls if fall > SVP_TOL]
    return f"; SVP had not converged at L̂ = {', '.join(unfinished)}" if unfinished else ""


def _measured(results: Results, *names: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the data sets of Figure 1 (a) of which these curves were measured, with all that was."""
    for data, own in by_data(results, "figure1a"):
        measured = {key: value for record in own.values() for key, value in record.items()}
        if set(names) <= set(measured):
            yield data, measured


CLAIMS = (
    Claim("A global SVD of rank 500 leaves 90% of WikiLSHTC's labels", "Section 1, Figure 1 (a)", _global_error),
    Claim("The error of a global SVD falls at most linearly with L̂", "Figure 1 (a), caption", _falls_linearly),
    Claim("The labels of any cluster are still not close to low rank", "Section 2.2", _clusters_not_low_rank),
    Claim(
        "X1's own error is smaller than a global SVD's",
        "Figure 1 (a), Section 1",
        _smaller_error("global", "global SVD"),
    ),
    Claim(
        "X1's own error is smaller than that of an SVD in each cluster",
        "Figure 1 (a)",
        _smaller_error("equal_rank", "SVD in each cluster"),
    ),
)

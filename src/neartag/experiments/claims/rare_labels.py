"""Claims about labels that few documents have: the tail."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import Any

from neartag.experiments import datasets, methods
from neartag.experiments.claims.causes import explain_ladder
from neartag.experiments.claims.findings import (
    NOT_TESTED,
    Check,
    Claim,
    Finding,
    by_data,
    finding,
    judge_named,
    not_here,
    or_missing,
)
from neartag.experiments.claims.leads import all_ahead, chance, is_ahead, split_ratio
from neartag.experiments.differences import Gain, estimate_gain
from neartag.experiments.figure1b import RARE_BELOW
from neartag.experiments.results import Results
from neartag.experiments.tail import METRIC, band_sizes

X1 = methods.STRICT
RARE_BAND = "0-5"  # labels that at most five training documents have
# Labels in fewer than five documents that the paper tells of WikiLSHTC, and the share by which "about" may be off.
CLAIMED_RARE, ABOUT = 300_000, 0.1
# Columns that differ in the vote, or in the vote and a few steps before it: what a cause may be held against.
OTHER_VOTES = {X1: methods.OWN, "knn": "knn-weighted"}
# Methods that learn what tells labels apart: "discriminative methods". Naive Bayes, in LPSR-NB, is a generative one.
DISCRIMINATIVE = ("one_vs_all", "lpsr", "fastxml")


def _finds_rare_labels(results: Results) -> Iterator[Finding]:
    for experiment in ("table3", "table1"):
        for data, own in by_data(results, experiment):
            ratio = split_ratio(results, experiment, data)
            gains = {band: estimate_gain(list(each.values()), ratio) for band, each in band_gains(own).items()}
            if not gains:
                continue
            listed = ", ".join(f"{band}: {each}" for band, each in gains.items())
            if RARE_BAND not in gains:
                yield not_here(datasets.title(data), listed, "no test label is as rare as that", METRIC)
                continue
            agrees = is_ahead(gains[RARE_BAND], _chance_in_band(own, (X1, "leml")))
            cause = _explain(results, own, data, X1)
            yield finding(data, METRIC, listed + _describe_share(own), agrees, cause)


def _ahead_on_rare_labels(method: str, others: Sequence[str] | None, words: str = "") -> Check:
    """Return the check that none of the others is ahead of a method on rare labels; None: all that the paper has.

    `words` say how the claim is read.
    """

    def check(results: Results) -> Iterator[Finding]:
        for experiment in ("table3", "table1"):
            for data, own in by_data(results, experiment):
                wanted = own.names("method") if others is None else others
                rivals = [each for each in wanted if each not in (method, *methods.NOT_IN_PAPER)]
                leads = _rare_leads(own, method, rivals, split_ratio(results, experiment, data))
                if not leads:
                    continue
                order = sorted(leads, key=lambda each: leads[each].mean)
                listed = ", ".join(f"{leads[each]} over {methods.title(each)}" for each in order)
                agrees = all_ahead(is_ahead(leads[each], _chance_in_band(own, (method, each))) for each in order)
                cause = _explain(results, own, data, method)
                yield finding(data, METRIC, listed + _describe_share(own) + words, agrees, cause)

    return check


def _explain(results: Results, own: Results, data: str, method: str) -> str:
    """Say what was tested of a method's recall of rare labels: other votes, and for X1 the changes of the ladder."""
    told = []
    if method == X1:
        told.append(explain_ladder(results, data, f"{METRIC} of these labels", _recall))
    changed = OTHER_VOTES[method]
    before, after = (
        [_recall(measured) for measured in own.select(method=each).values() if "bands" in measured]
        for each in (method, changed)
    )
    if before and after:
        told.append(f"{methods.title(changed)} has {fmean(after):.2f} in place of {fmean(before):.2f}")
    return "; ".join(filter(None, told)) or NOT_TESTED


def _recall(measured: dict[str, Any]) -> float:
    return float(measured["bands"][RARE_BAND][METRIC])


def _rare_leads(own: Results, method: str, rivals: Sequence[str], ratio: float) -> dict[str, Gain]:
    """Return how far a method is ahead of each rival on rare labels; all results are of one data set."""
    gains = {each: band_gains(own, method, each).get(RARE_BAND, {}) for each in rivals}
    return {each: estimate_gain(list(found.values()), ratio) for each, found in gains.items() if found}


def _describe_share(own: Results) -> str:
    return f"; labels in at most 5 documents are {band_sizes(own)[RARE_BAND][1]:.1%} of the test labels"


def _chance_in_band(own: Results, compared: Sequence[str]) -> float:
    """Return how much two methods may differ by chance in one run on the rare labels."""
    bands = [
        measured["bands"][RARE_BAND]
        for method in compared
        for measured in own.select(method=method).values()
        if "bands" in measured
    ]
    return max(chance(band[METRIC], band["pairs"]) for band in bands)


def band_gains(own: Results, one: str = X1, other: str = "leml") -> dict[str, dict[int, float]]:
    """Return a method's gain over another by bands of documents per label and by seed, on one data set."""
    gains: dict[str, dict[int, float]] = {}
    for seed in own.names("seed"):
        bands = {
            cell.method: measured["bands"]
            for cell, measured in own.items()
            if cell.seed == seed and "bands" in measured
        }
        if one in bands and other in bands:
            for band, theirs in bands[other].items():
                if theirs["pairs"] > 0:
                    gains.setdefault(band, {})[seed] = bands[one][band][METRIC] - theirs[METRIC]
    return gains


def _many_rare_labels(results: Results) -> Iterator[Finding]:
    def check() -> Iterator[Finding]:
        for data, own in by_data(results, "figure1b"):
            for measured in own.values():
                rare, labels = measured["rare"] + measured["unseen"], measured["labels"]
                text = f"{rare:,} of {labels:,} labels are in fewer than {RARE_BELOW} training documents"
                agrees = abs(rare - CLAIMED_RARE) <= ABOUT * CLAIMED_RARE
                yield judge_named("WikiLSHTC", data, "", text, agrees, NOT_TESTED)

    return or_missing(check(), "WikiLSHTC", f"about {CLAIMED_RARE:,} of 325,056 labels")


CLAIMS = (
    Claim(
        "X1 predicts labels in at most 5 documents more accurately than LEML",
        "Abstract, Sections 1 and 3",
        _finds_rare_labels,
    ),
    Claim(
        "X1 predicts labels in at most 5 documents accurately",
        "Abstract",
        _ahead_on_rare_labels(X1, None, "; “accurately” is read as: no method of the paper is ahead"),
    ),
    Claim(
        "kNN predicts labels in at most 5 documents better than discriminative methods",
        "Section 1",
        _ahead_on_rare_labels("knn", DISCRIMINATIVE),
    ),
    Claim("About 300,000 labels of WikiLSHTC are in fewer than 5 documents", "Figure 1, caption", _many_rare_labels),
)

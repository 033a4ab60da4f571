"""Claims about labels that few documents have: the tail."""

from __future__ import annotations

from collections.abc import Iterator

from neartag.experiments import datasets, methods
from neartag.experiments.claims.findings import (
    NOT_TESTED,
    Claim,
    Finding,
    by_data,
    finding,
    judge_named,
    not_here,
    or_missing,
)
from neartag.experiments.claims.leads import chance, is_ahead, split_ratio
from neartag.experiments.figure1b import RARE_BELOW
from neartag.experiments.gains import estimate_gain
from neartag.experiments.results import Results
from neartag.experiments.tail import METRIC, band_sizes

X1 = methods.STRICT
RARE_BAND = "0-5"  # labels that at most five training documents have
# Labels in fewer than five documents that the paper tells of WikiLSHTC, and the share by which "about" may be off.
CLAIMED_RARE, ABOUT = 300_000, 0.1


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
            share = band_sizes(own)[RARE_BAND][1]
            text = f"{listed}; labels in at most 5 documents are {share:.1%} of the test labels"
            agrees = is_ahead(gains[RARE_BAND], _chance_in_band(own))
            yield finding(data, METRIC, text, agrees, NOT_TESTED)


def _chance_in_band(own: Results) -> float:
    """Return how much two methods may differ by chance in one run on the rare labels."""
    bands = [
        measured["bands"][RARE_BAND]
        for method in (X1, "leml")
        for measured in own.select(method=method).values()
        if "bands" in measured
    ]
    return max(chance(band[METRIC], band["pairs"]) for band in bands)


def band_gains(own: Results) -> dict[str, dict[int, float]]:
    """Return X1's gain over LEML by bands of documents per label and by seed; all results are of one data set."""
    gains: dict[str, dict[int, float]] = {}
    for seed in own.names("seed"):
        bands = {
            cell.method: measured["bands"]
            for cell, measured in own.items()
            if cell.seed == seed and "bands" in measured
        }
        if X1 in bands and "leml" in bands:
            for band, leml in bands["leml"].items():
                if leml["pairs"] > 0:
                    gains.setdefault(band, {})[seed] = bands[X1][band][METRIC] - leml[METRIC]
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
    Claim("About 300,000 labels of WikiLSHTC are in fewer than 5 documents", "Figure 1, caption", _many_rare_labels),
)

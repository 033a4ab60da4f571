"""The orders that the paper claims, each checked against what the other experiments measured, and stated."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from neartag.experiments import datasets, figure1c, figure2, methods
from neartag.experiments.blocks import Block, Entry, Table, Text
from neartag.experiments.leads import difference, ensemble_difference, leads, words
from neartag.experiments.learners import summary_of
from neartag.experiments.plan import Cell, Plan
from neartag.experiments.results import Results
from neartag.experiments.runner import Experiment

WSABIE_LEAD = 10.0  # points, the paper's largest
TAIL = "0-5"  # the band of labels in at most five training documents
FOUND = "R@5"  # share of a band's labels that the first five answers find
STRAIGHT = 0.95  # of the variance that a straight line must explain
UNMEASURED = "not measured"


class Verdict(NamedTuple):
    """What was measured of a claim on one data set."""

    where: str  # the data set, for people
    measured: str
    agrees: bool | None  # None: too close to tell


class Claim(NamedTuple):
    """An order of the paper, and how it is checked."""

    statement: str
    check: Callable[[Results], Iterator[Verdict]]


class Claims(Experiment):
    """Measures nothing of its own."""

    name = "claims"
    title = "The orders that the paper claims"

    def cells(self, plan: Plan) -> list[Cell]:
        """Return nothing: other experiments measure what is checked."""
        return []

    def report(self, results: Results) -> list[Block]:
        """Return each claim with what was measured of it, and those with which the measurement disagrees."""
        found = [(claim.statement, list(claim.check(results))) for claim in CLAIMS]
        if not any(verdicts for _, verdicts in found):
            return []
        rows: list[list[Entry]] = []
        for statement, verdicts in found:
            rows += [[statement, each.where, each.measured, _answer(each.agrees)] for each in verdicts]
            if not verdicts:
                rows.append([statement, "–", UNMEASURED, "–"])
        note = (
            "Means over the runs that are there, as differences in points of percent. ± is the standard deviation of "
            "the difference over runs; a difference of no more than two standard errors is too close to tell."
        )
        table = Table("", ["the paper claims", "data set", "measured", "agrees"], rows, note)
        return [table, *_stated(found)]


def _stated(found: list[tuple[str, list[Verdict]]]) -> list[Block]:
    """Return in words how often measurements agree, and every disagreement."""
    every = [(statement, each) for statement, verdicts in found for each in verdicts]
    count = {answer: sum(each.agrees is answer for _, each in every) for answer in (True, False, None)}
    summary = (
        f"Of {len(every)} checks the measurement agrees with the paper in {count[True]}, disagrees in {count[False]}, "
        f"and is too close to tell in {count[None]}."
    )
    missing = [statement for statement, verdicts in found if not verdicts]
    if missing:
        summary += f" Nothing was measured of: {'; '.join(missing)}."
    against = [f"{statement}. {each.where}: {each.measured}." for statement, each in every if each.agrees is False]
    blocks: list[Block] = [Text([summary])]
    if against:
        blocks.append(Text(against, "Where the measurement disagrees", listed=True))
    return blocks


def _answer(agrees: bool | None) -> str:
    return {True: "yes", False: "no", None: "too close to tell"}[agrees]


def _by_data(results: Results, experiment: str) -> Iterator[tuple[str, Results]]:
    found = results.select(experiment)
    for data in datasets.ordered(found.names("data")):
        yield data, found.select(data=data)


# ---- ensembles


def _at_every_count(results: Results) -> Iterator[Verdict]:
    for data, found in _by_data(results, "figure2"):
        all_leads = {
            count: ensemble_difference(found, "x1", count, "local_leml", count) for count in figure2.COUNTS["x1"]
        }
        known = {count: lead for count, lead in all_leads.items() if lead is not None}
        if not known:
            continue
        least, most = (choose(known, key=lambda count: known[count].mean) for choose in (min, max))
        answers = [leads(lead) for lead in known.values()]
        agrees = False if False in answers else None if None in answers else True
        measured = f"from {words(known[least])} with {least} to {words(known[most])} with {most}"
        yield Verdict(datasets.title(data), measured, agrees)


def _ensembles(count: int, other: str, other_count: int) -> Callable[[Results], Iterator[Verdict]]:
    def check(results: Results) -> Iterator[Verdict]:
        for data, found in _by_data(results, "figure2"):
            lead = ensemble_difference(found, "x1", count, other, other_count)
            if lead is not None:
                yield Verdict(datasets.title(data), words(lead), leads(lead))

    return check


def _saturation(results: Results) -> Iterator[Verdict]:
    for data, found in _by_data(results, "figure2"):
        points = figure2.curve(found, "x1", "P@1")
        if not {1, 5, 10} <= set(points):
            continue
        early, late = points[5].mean - points[1].mean, points[10].mean - points[5].mean
        measured = f"{early:+.2f} points from 1 to 5 learners, {late:+.2f} from 5 to 10"
        yield Verdict(datasets.title(data), measured, late < early / 2 if early > 0 else None)


# ---- tables


def _ahead(experiment: str, other: str) -> Callable[[Results], Iterator[Verdict]]:
    def check(results: Results) -> Iterator[Verdict]:
        for data, found in _by_data(results, experiment):
            lead = difference(found, "x1", other)
            if lead is not None:
                yield Verdict(datasets.title(data), words(lead), leads(lead))

    return check


def _wsabie(results: Results) -> Iterator[Verdict]:
    yield from _ahead("table3", "wsabie")(results)
    found = {data: difference(own, "x1", "wsabie") for data, own in _by_data(results, "table3")}
    known = {data: lead for data, lead in found.items() if lead is not None}
    if known:
        best = max(known, key=lambda data: known[data].mean)
        measured = f"largest lead {words(known[best])}, on {datasets.title(best)}; the paper's: {WSABIE_LEAD:g}"
        yield Verdict("all", measured, known[best].mean >= WSABIE_LEAD)


def _rank(results: Results) -> Iterator[Verdict]:
    for data, found in _by_data(results, "table3"):
        means = {
            method: summary.mean
            for method in found.names("method")
            if method != "x1-preset" and (summary := found.select(method=method).summary("P@1")) is not None
        }
        if "x1" not in means or len(means) < 2:
            continue
        order = sorted(means, key=lambda method: -means[method])
        place, wanted = order.index("x1") + 1, 2 if datasets.paper_name(data) == "Delicious" else 1
        measured = f"place {place} of {len(order)}, first {methods.title(order[0])} with {means[order[0]]:.2f}"
        yield Verdict(datasets.title(data), measured, place <= wanted)


def _tail(results: Results) -> Iterator[Verdict]:
    for data, found in _by_data(results, "table3"):
        gains: dict[str, list[float]] = {}
        for seed in found.names("seed"):
            bands = {cell.method: own["bands"] for cell, own in found.items() if cell.seed == seed and "bands" in own}
            if "x1" in bands and "leml" in bands:
                for band, of_leml in bands["leml"].items():
                    if of_leml["pairs"] > 0:
                        gains.setdefault(band, []).append(bands["x1"][band][FOUND] - of_leml[FOUND])
        if TAIL not in gains or len(gains) < 2:
            continue
        means = {band: summary_of(values) for band, values in gains.items()}
        measured = f"gain in {FOUND} by documents a label: " + ", ".join(
            f"{band}: {mean.mean:+.2f}" for band, mean in means.items()
        )
        rival = max(means[band].mean for band in means if band != TAIL)
        yield Verdict(datasets.title(data), measured, means[TAIL].mean > max(0.0, rival))


# ---- clusters, approximation, time


def _too_many_clusters(results: Results) -> Iterator[Verdict]:
    for data, found in _by_data(results, "figure1c"):
        points = figure1c.curve(found, "local_leml")
        if len(points) < 3:
            continue
        best, most = max(points, key=lambda count: points[count].mean), max(points)
        fall = points[best].mean - points[most].mean
        measured = f"P@1 {points[best].mean:.2f} with {best}, {points[most].mean:.2f} with {most} clusters"
        spread = max(points[best].deviation or 0.0, points[most].deviation or 0.0)
        yield Verdict(datasets.title(data), measured, None if 0 < fall <= spread else fall > 0)


def _approximation(results: Results) -> Iterator[Verdict]:
    for data, found in _by_data(results, "figure1a"):
        measured = {name: value for each in found.values() for name, value in each.items()}
        if not {"global", "x1"} <= set(measured):
            continue
        rows = zip(measured["dimensions"], measured["x1"], measured["global"], strict=True)
        higher = [(dim, ours, theirs) for dim, ours, theirs in rows if ours >= theirs]
        shares = {name: 100 * measured[name][0] for name in ("global", "equal_rank", "equal_stored", "x1")}
        text = (
            f"at L̂ = {measured['dimensions'][0]}: global SVD {shares['global']:.1f}%, SVD in each cluster "
            f"{shares['equal_rank']:.1f}% at equal L̂ and {shares['equal_stored']:.1f}% at equal stored numbers, "
            f"X1 {shares['x1']:.1f}%"
        )
        if higher:
            dim, ours, theirs = higher[0]
            text += f"; not so at L̂ = {dim}: X1 {100 * ours:.2f}%, global SVD {100 * theirs:.2f}%"
        yield Verdict(datasets.title(data), text, not higher)


def _between(results: Results) -> Iterator[Verdict]:
    for data, found in _by_data(results.select(clusters=None), "timings"):
        for name, kind in (("predict_ms_alone", "one at a time"), ("predict_ms_a_point", "all at once")):
            times = {method: found.select(method=method).summary(name) for method in ("fastxml", "x1", "leml")}
            known = [time.mean for time in times.values() if time is not None]
            if len(known) == len(times):
                measured = f"{kind}: FastXML {known[0]:.3f}, X1 {known[1]:.3f}, LEML {known[2]:.3f} ms a point"
                yield Verdict(datasets.title(data), measured, known[0] < known[1] < known[2])


def _linear(results: Results) -> Iterator[Verdict]:
    for data, found in _by_data(results, "timings"):
        points = [
            (own["points_searched"], own["predict_ms_alone"])
            for cell, own in found.items()
            if cell.option("clusters") is not None
        ]
        if len(points) >= 3:
            sizes, times = np.array(points).T
            slope, start = np.polyfit(sizes, times, 1)
            explained = float(np.corrcoef(sizes, times)[0, 1] ** 2)
            measured = (
                f"a straight line explains {100 * explained:.1f}% of the variance: {start:.3f} ms and "
                f"{1000 * slope:.3f} ms for each thousand points of the cluster"
            )
            yield Verdict(datasets.title(data), measured, bool(explained >= STRAIGHT and slope > 0))


CLAIMS = (
    Claim("X1 is more accurate than LocalLEML at every number of learners", _at_every_count),
    Claim("One learner of X1 is more accurate than 10 of LocalLEML", _ensembles(1, "local_leml", 10)),
    Claim("Two learners of X1 are more accurate than 50 trees of FastXML", _ensembles(2, "fastxml", 50)),
    Claim("X1's accuracy saturates after a few learners", _saturation),
    Claim("X1 is more accurate than WSABIE, by up to 10 points", _wsabie),
    Claim("X1 is the most accurate on each small set, and second on Delicious", _rank),
    Claim("X1 is more accurate than LEML on large sets", _ahead("table1", "leml")),
    Claim("X1 is more accurate than FastXML on large sets", _ahead("table1", "fastxml")),
    Claim("X1's gain over LEML is largest on labels in at most 5 documents", _tail),
    Claim("LocalLEML falls with too many clusters", _too_many_clusters),
    Claim("X1's own error is smaller than that of a global SVD", _approximation),
    Claim("X1's prediction takes longer than FastXML's and less than LEML's", _between),
    Claim("X1's prediction time is linear in the cluster's size", _linear),
)
EXPERIMENT = Claims()

"""How each claim of the paper is checked against the results of the other experiments."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from neartag.experiments import datasets, figure1c, figure2, methods
from neartag.experiments.claims.leads import describe_lead, ensemble_lead, is_ahead, method_lead
from neartag.experiments.results import Results, summarise

PAPER_WSABIE_LEAD = 10.0  # points: the paper's largest
RARE_BAND = "0-5"  # labels that at most five training documents have
RARE_METRIC = "R@5"  # share of a band's labels that are among the first five predictions
MIN_EXPLAINED = 0.95  # of the variance, for a line to count as straight


class Verdict(NamedTuple):
    """What was measured of a claim on one data set."""

    where: str  # the data set, for people
    measured: str
    agrees: bool | None  # None: too close to tell


class Claim(NamedTuple):
    """An order that the paper claims, and how it is checked."""

    statement: str
    check: Callable[[Results], Iterator[Verdict]]


def _by_data(results: Results, experiment: str) -> Iterator[tuple[str, Results]]:
    own = results.select(experiment)
    for data in datasets.in_table_order(own.names("data")):
        yield data, own.select(data=data)


# ---- ensembles


def _ahead_at_every_count(results: Results) -> Iterator[Verdict]:
    for data, own in _by_data(results, "figure2"):
        leads = {
            count: lead
            for count in figure2.COUNTS["x1"]
            if (lead := ensemble_lead(own, "x1", count, "local_leml", count)) is not None
        }
        if not leads:
            continue
        least, most = (choose(leads, key=lambda count: leads[count].mean) for choose in (min, max))
        answers = [is_ahead(lead) for lead in leads.values()]
        agrees = False if False in answers else None if None in answers else True
        measured = f"from {describe_lead(leads[least])} with {least} to {describe_lead(leads[most])} with {most}"
        yield Verdict(datasets.title(data), measured, agrees)


def _ensemble_ahead(count: int, other: str, other_count: int) -> Callable[[Results], Iterator[Verdict]]:
    def check(results: Results) -> Iterator[Verdict]:
        for data, own in _by_data(results, "figure2"):
            lead = ensemble_lead(own, "x1", count, other, other_count)
            if lead is not None:
                yield Verdict(datasets.title(data), describe_lead(lead), is_ahead(lead))

    return check


def _saturates(results: Results) -> Iterator[Verdict]:
    for data, own in _by_data(results, "figure2"):
        points = figure2.curve(own, "x1", "P@1")
        if not {1, 5, 10} <= set(points):
            continue
        early, late = points[5].mean - points[1].mean, points[10].mean - points[5].mean
        measured = f"{early:+.2f} points from 1 to 5 learners, {late:+.2f} from 5 to 10"
        yield Verdict(datasets.title(data), measured, late < early / 2 if early > 0 else None)


# ---- tables


def _method_ahead(experiment: str, other: str) -> Callable[[Results], Iterator[Verdict]]:
    def check(results: Results) -> Iterator[Verdict]:
        for data, own in _by_data(results, experiment):
            lead = method_lead(own, "x1", other)
            if lead is not None:
                yield Verdict(datasets.title(data), describe_lead(lead), is_ahead(lead))

    return check


def _ahead_of_wsabie(results: Results) -> Iterator[Verdict]:
    yield from _method_ahead("table3", "wsabie")(results)
    leads = {
        data: lead
        for data, own in _by_data(results, "table3")
        if (lead := method_lead(own, "x1", "wsabie")) is not None
    }
    if leads:
        best = max(leads, key=lambda data: leads[data].mean)
        largest = f"largest lead {describe_lead(leads[best])}, on {datasets.title(best)}"
        yield Verdict("all", f"{largest}; the paper's: {PAPER_WSABIE_LEAD:g}", leads[best].mean >= PAPER_WSABIE_LEAD)


def _most_accurate(results: Results) -> Iterator[Verdict]:
    for data, own in _by_data(results, "table3"):
        means = {
            method: summary.mean
            for method in own.names("method")
            if method not in methods.X1_COLUMNS[1:]
            and (summary := own.select(method=method).summary("P@1")) is not None
        }
        if "x1" not in means or len(means) < 2:
            continue
        order = sorted(means, key=lambda method: -means[method])
        place, wanted = order.index("x1") + 1, 2 if datasets.paper_name(data) == "Delicious" else 1
        measured = f"place {place} of {len(order)}, first {methods.title(order[0])} with {means[order[0]]:.2f}"
        yield Verdict(datasets.title(data), measured, place <= wanted)


def _gains_on_rare_labels(results: Results) -> Iterator[Verdict]:
    for data, own in _by_data(results, "table3"):
        gains: dict[str, list[float]] = {}
        for seed in own.names("seed"):
            bands = {
                cell.method: measured["bands"]
                for cell, measured in own.items()
                if cell.seed == seed and "bands" in measured
            }
            if "x1" in bands and "leml" in bands:
                for band, leml in bands["leml"].items():
                    if leml["pairs"] > 0:
                        gains.setdefault(band, []).append(bands["x1"][band][RARE_METRIC] - leml[RARE_METRIC])
        if RARE_BAND not in gains or len(gains) < 2:
            continue
        means = {band: summarise(values).mean for band, values in gains.items()}
        listed = ", ".join(f"{band}: {mean:+.2f}" for band, mean in means.items())
        largest_other = max(mean for band, mean in means.items() if band != RARE_BAND)
        measured = f"gain in {RARE_METRIC} by documents per label: {listed}"
        yield Verdict(datasets.title(data), measured, means[RARE_BAND] > max(0.0, largest_other))


# ---- clusters, approximation, time


def _too_many_clusters(results: Results) -> Iterator[Verdict]:
    for data, own in _by_data(results, "figure1c"):
        points = figure1c.curve(own, "local_leml")
        if len(points) < 3:
            continue
        best, most = max(points, key=lambda count: points[count].mean), max(points)
        fall = points[best].mean - points[most].mean
        measured = f"P@1 {points[best].mean:.2f} with {best}, {points[most].mean:.2f} with {most} clusters"
        spread = max(points[best].deviation or 0.0, points[most].deviation or 0.0)
        yield Verdict(datasets.title(data), measured, None if 0 < fall <= spread else fall > 0)


def _smaller_error(results: Results) -> Iterator[Verdict]:
    for data, own in _by_data(results, "figure1a"):
        measured = {name: value for record in own.values() for name, value in record.items()}
        if not {"global", "x1"} <= set(measured):
            continue
        rows = zip(measured["dimensions"], measured["x1"], measured["global"], strict=True)
        not_smaller = [(dim, x1, svd) for dim, x1, svd in rows if x1 >= svd]
        shares = {name: 100 * measured[name][0] for name in ("global", "equal_rank", "equal_stored", "x1")}
        text = (
            f"at L̂ = {measured['dimensions'][0]}: global SVD {shares['global']:.1f}%, SVD in each cluster "
            f"{shares['equal_rank']:.1f}% at equal L̂ and {shares['equal_stored']:.1f}% at equal stored numbers, "
            f"X1 {shares['x1']:.1f}%"
        )
        if not_smaller:
            dim, x1, svd = not_smaller[0]
            text += f"; not so at L̂ = {dim}: X1 {100 * x1:.2f}%, global SVD {100 * svd:.2f}%"
        yield Verdict(datasets.title(data), text, not not_smaller)


def _time_between(results: Results) -> Iterator[Verdict]:
    for data, own in _by_data(results.select(clusters=None), "timings"):
        for name, kind in (("predict_ms_alone", "one at a time"), ("predict_ms_a_point", "all at once")):
            summaries = [own.select(method=method).summary(name) for method in ("fastxml", "x1", "leml")]
            times = [summary.mean for summary in summaries if summary is not None]
            if len(times) == len(summaries):
                measured = f"{kind}: FastXML {times[0]:.3f}, X1 {times[1]:.3f}, LEML {times[2]:.3f} ms per point"
                yield Verdict(datasets.title(data), measured, times[0] < times[1] < times[2])


def _time_linear(results: Results) -> Iterator[Verdict]:
    for data, own in _by_data(results, "timings"):
        points = [
            (measured["points_searched"], measured["predict_ms_alone"])
            for cell, measured in own.items()
            if cell.option("clusters") is not None
        ]
        if len(points) >= 3:
            sizes, times = np.array(points).T
            slope, start = np.polyfit(sizes, times, 1)
            explained = float(np.corrcoef(sizes, times)[0, 1] ** 2)
            text = (
                f"a straight line explains {100 * explained:.1f}% of the variance: {start:.3f} ms and "
                f"{1000 * slope:.3f} ms for each thousand points of the cluster"
            )
            yield Verdict(datasets.title(data), text, bool(explained >= MIN_EXPLAINED and slope > 0))


CLAIMS = (
    Claim("X1 is more accurate than LocalLEML at every number of learners", _ahead_at_every_count),
    Claim("One learner of X1 is more accurate than 10 of LocalLEML", _ensemble_ahead(1, "local_leml", 10)),
    Claim("Two learners of X1 are more accurate than 50 trees of FastXML", _ensemble_ahead(2, "fastxml", 50)),
    Claim("X1's accuracy saturates after a few learners", _saturates),
    Claim("X1 is more accurate than WSABIE, by up to 10 points", _ahead_of_wsabie),
    Claim("X1 is the most accurate on each small set, and second on Delicious", _most_accurate),
    Claim("X1 is more accurate than LEML on large sets", _method_ahead("table1", "leml")),
    Claim("X1 is more accurate than FastXML on large sets", _method_ahead("table1", "fastxml")),
    Claim("X1's gain over LEML is largest on labels in at most 5 documents", _gains_on_rare_labels),
    Claim("LocalLEML falls with too many clusters", _too_many_clusters),
    Claim("X1's own error is smaller than that of a global SVD", _smaller_error),
    Claim("X1's prediction takes longer than FastXML's and less than LEML's", _time_between),
    Claim("X1's prediction time is linear in the cluster's size", _time_linear),
)

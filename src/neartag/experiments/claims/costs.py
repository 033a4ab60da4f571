"""Claims about time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.stats import f as f_distribution

from neartag.experiments import datasets, methods, timings
from neartag.experiments.claims.findings import (
    NOT_TESTED,
    Check,
    Claim,
    Finding,
    by_data,
    finding,
    judge_large,
    judge_named,
    not_here,
    or_missing,
)
from neartag.experiments.printed import PREDICT_MILLISECONDS
from neartag.experiments.results import Results
from neartag.experiments.sizes import count_labels

X1 = methods.STRICT
PAPER_SET = "WikiLSHTC"
CLAIMED_LABELS = 325_056  # WikiLSHTC's, for which the paper tells times
CLAIMED_SPEED = 300  # times as fast as LEML, at most (Section 3, which names no set for it)
ORDERS = 100  # times as fast as LEML on WikiLSHTC, at least (Section 1)
COMPARABLE = 1.5  # times as long, at most, that "comparable" is read as
LINEAR = 1.5  # times as long as so many single learners, at most, that "linear" is read as
MAX_SCATTERED = 2.0  # times as long, at most, that the scatter of times between runs on several days may explain
# What all learners cost (Table 1), for people.
WHOLE_COSTS = (("train_cpu_seconds", "training", "CPU s"), ("predict_ms_a_point", "prediction", "ms per point"))
MIN_EXPLAINED = 0.95  # of the variance, for a line to count as straight
# What another program would not share.
OWN_LEML = (
    "LEML is neartag's own program, which starts near the labels' main directions and needs few alternations; the "
    f"authors' own, whose time the paper tells, is {NOT_TESTED}"
)
TINY = 1e-300  # in place of zero, to divide by


def _time_between(results: Results) -> Iterator[Finding]:
    for data, own in by_data(results.select(clusters=None), "timings"):
        for name, kind in timings.PREDICTION_TIMES.items():
            summaries = [own.select(method=method).summary(name) for method in ("fastxml", X1, "leml")]
            times = [summary.mean for summary in summaries if summary is not None]
            if len(times) == len(summaries):
                told = f"FastXML {times[0]:.3f}, a learner of X1 {times[1]:.3f}, LEML {times[2]:.3f} ms per point"
                yield _judge_size(results, data, told, times[0] < times[1] < times[2], kind)


def _faster_than_leml(least: float) -> Check:
    def check(results: Results) -> Iterator[Finding]:
        return _compare_with_leml(results, least)

    return check


def _compare_with_leml(results: Results, least: float) -> Iterator[Finding]:
    x1, leml = PREDICT_MILLISECONDS[X1], PREDICT_MILLISECONDS["leml"]
    printed = f"{x1:g} ms beside {leml:g} ms, which is {leml / x1:.0f} times, on WikiLSHTC"

    def check() -> Iterator[Finding]:
        for data, own in by_data(results.select(clusters=None), "timings"):
            for name, kind in timings.PREDICTION_TIMES.items():
                ours, theirs = (own.select(method=method).summary(name) for method in (X1, "leml"))
                if ours and theirs:
                    times = theirs.mean / ours.mean
                    ratio = f"{times:.1f} times faster" if times >= 1 else f"{1 / times:.1f} times slower"
                    text = f"{ratio}: a learner {ours.mean:.3f}, LEML {theirs.mean:.3f} ms; printed {printed}"
                    text += _describe_whole(results, data)
                    yield judge_named(PAPER_SET, data, kind, text, times >= least, NOT_TESTED)

    return or_missing(check(), PAPER_SET, printed)


def _describe_whole(results: Results, data: str) -> str:
    """Say what the whole ensemble takes beside LEML, where Table 1 (a) has both; it is as precise, one learner not."""
    ours, theirs = (results.select("table1", data, each).summary("predict_ms_a_point") for each in (X1, "leml"))
    if not ours or not theirs:
        return ""
    count = methods.paper_settings(data, large=True)["n_learners"]
    return f"; Table 1 (a): all {count} learners {ours.mean:.2f}, LEML {theirs.mean:.2f} ms"


def _whole_faster_than_leml(results: Results) -> Iterator[Finding]:
    """Compare all learners of a large set with LEML, training and prediction: the claim that names no set."""
    for data, own in by_data(results, "table1"):
        for name, kind, unit in WHOLE_COSTS:
            ours, theirs = (own.select(method=method).summary(name) for method in (X1, "leml"))
            if not ours or not theirs:
                continue
            count = methods.paper_settings(data, large=True)["n_learners"]
            text = f"{count} learners {ours.mean:,.2f}, LEML {theirs.mean:,.2f} {unit}"
            ratio = ours.mean / theirs.mean
            agrees = None if 1 / MAX_SCATTERED <= ratio <= MAX_SCATTERED else ratio < 1
            if several := _cores_told(own, name, X1, "leml"):
                agrees, text = None, text + several
            one = ours.mean / count
            already = " already takes longer than LEML" if one > theirs.mean else " of them took"
            cause = f"one learner of X1{already}: {one:,.2f} {unit}; {OWN_LEML}"
            yield judge_large(data, kind, text, agrees, cause)


def _cores_told(own: Results, name: str, *names: str) -> str:
    """Say that a time on the clock was taken with several cores; "" for CPU time, or where one core was used."""
    records = [record for method in names for record in own.select(method=method).records.values()]
    several = "cpu" not in name and any(record.jobs != 1 for record in records)
    return "; taken with more than one core, so that it cannot be compared" if several else ""


def _linear_in_learners(results: Results) -> Iterator[Finding]:
    """Compare all learners of a large set with as many times a single one's cost."""
    for data, own in by_data(results, "table1"):
        single = results.select("timings", data, X1).select(clusters=None)
        for (name, kind, unit), of_one in zip(WHOLE_COSTS, ("train_seconds", "predict_ms_a_point"), strict=True):
            whole, one = own.select(method=X1).summary(name), single.summary(of_one)
            if not whole or not one:
                continue
            count = methods.paper_settings(data, large=True)["n_learners"]
            ratio = whole.mean / (count * one.mean)
            text = (
                f"{count} learners {whole.mean:,.2f} {unit}, which is {ratio:.1f} times what {count} single ones of "
                f"{one.mean:,.2f} on one core would take; “linear” is read as {LINEAR:g} times at most, up to "
                f"{MAX_SCATTERED:g} is too close to tell"
            )
            agrees = True if ratio <= LINEAR else None if ratio <= MAX_SCATTERED else False
            if several := _cores_told(own, name, X1):
                agrees, text = None, text + several
            yield judge_large(data, kind, text, agrees, NOT_TESTED)


def _training_times(results: Results) -> Iterator[Finding]:
    for data, own in by_data(results.select(clusters=None), "timings"):
        summaries = [own.select(method=method).summary("train_seconds") for method in (X1, "fastxml", "leml")]
        if all(summaries):
            x1, tree, leml = (summary.mean for summary in summaries if summary)
            told = f"three learners of X1 {3 * x1:.1f} s, 50 trees of FastXML {50 * tree:.1f} s, LEML {leml:.1f} s"
            agrees = 3 * x1 <= COMPARABLE * 50 * tree and max(3 * x1, 50 * tree) < leml
            yield _judge_size(results, data, told, agrees)


def _judge_size(results: Results, data: str, told: str, agrees: bool, measure: str = "") -> Finding:
    """Return the finding of a claim about 325,000 labels: on fewer it cannot be judged."""
    labels = count_labels(results, data)
    if labels < CLAIMED_LABELS:
        count = f"{labels:,} labels" if labels else "fewer labels"
        return not_here(datasets.title(data), told, f"claimed for {CLAIMED_LABELS:,} labels, here {count}", measure)
    return finding(data, measure, told, agrees, NOT_TESTED)


def _time_linear(results: Results) -> Iterator[Finding]:
    for data, own in by_data(results, "timings"):
        for name, kind in timings.PREDICTION_TIMES.items():
            line = timings.growth(own, name)
            if line is not None:
                straight = line.explained >= MIN_EXPLAINED and line.slope > 0
                agrees = False if _bends(line) else True if straight else None
                cause = f"a parabola fits better, beyond chance; why is {NOT_TESTED}"
                yield finding(data, kind, line.describe(), agrees, cause)


def _bends(line: timings.Growth) -> bool:
    """Return whether a parabola fits better than the line beyond chance: scatter around a line is no bend."""
    left = [
        float(np.square(line.times - np.polyval(np.polyfit(line.sizes, line.times, degree), line.sizes)).sum())
        for degree in (1, 2)
    ]
    free = len(line.sizes) - 3
    if free < 1:
        return False
    return bool(f_distribution.sf((left[0] - left[1]) * free / max(left[1], TINY), 1, free) < timings.MAX_CHANCE)


CLAIMS = (
    Claim("X1 predicts more slowly than FastXML and faster than LEML", "Section 3", _time_between),
    Claim(
        "X1 is faster at training and prediction than embedding methods such as LEML",
        "Sections 1 and 3",
        _whole_faster_than_leml,
    ),
    Claim("An ensemble costs only linearly more time than a learner", "Section 1", _linear_in_learners),
    Claim("X1 predicts up to 300 times faster than LEML", "Section 3", _faster_than_leml(CLAIMED_SPEED)),
    Claim(
        "X1 predicts more than a hundred times faster than LEML on WikiLSHTC", "Section 1", _faster_than_leml(ORDERS)
    ),
    Claim(
        "Three learners of X1 take about as long to train as FastXML, and both less than LEML",
        "Sections 1 and 3",
        _training_times,
    ),
    Claim("X1's prediction time is linear in the cluster's size", "Section 1", _time_linear),
)

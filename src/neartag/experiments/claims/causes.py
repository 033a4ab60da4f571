"""What a result that is not the paper's comes from: the evidence, and what was not tested."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import fmean
from typing import Any

from neartag.experiments import datasets, methods
from neartag.experiments.claims.findings import NOT_TESTED
from neartag.experiments.claims.leads import split_ratio
from neartag.experiments.differences import estimate_gain
from neartag.experiments.ladder.changes import ALONE, CHANGES
from neartag.experiments.printed import TABLE_1, TABLE_3
from neartag.experiments.readings.open_points import READINGS
from neartag.experiments.readings.report import readings_of_all_splits
from neartag.experiments.results import Results, summarise
from neartag.experiments.sizes import part_sizes

X1 = methods.STRICT
MOST_TOLD = 3  # changes of the ladder in a cause
# What is known to be otherwise here than in the paper.
DIFFERENCES = {
    "lpsr": "LPSR is over linear machines here, over naive Bayes in Section 3",
}
# Embedding methods have the dimension that validation chose here, and 0.8 L in Section 3.
OTHER_DIMENSION = ("leml", "wsabie", "cplst", "cs", "ml_cssp")


def explain(results: Results, own: Results, data: str, others: Sequence[str], name: str) -> str:
    """Say why X1 is behind other methods on a data set, as far as it is known; `own` has the results of its table."""
    if order := explain_order(own, data, others, name):
        return "; ".join(filter(None, (order, explain_reading(results, own, data, others, name))))
    if substitute := explain_substitute(data):
        return "; ".join(filter(None, (explain_ladder(results, data, name), substitute)))
    return explain_routing(results, data)


def explain_reading(results: Results, own: Results, data: str, others: Sequence[str], name: str) -> str:
    """Say what X1 has as another reading of the paper, on the splits of the other methods; "" if none was measured.

    Only readings of several splits count; `own` has the results of the other methods.
    """
    seeds = {cell.seed for method in others for cell in own.select(method=method)}
    told = []
    for title, found in readings_of_all_splits(results, data):
        values = [measured[name] for cell, measured in found.items() if cell.seed in seeds]
        if len(values) > 1:
            told.append(f"{title}, X1 has {fmean(values):.2f} on {len(values)} of these splits")
    return "; ".join(told)


def printed_number(data: str, method: str, name: str) -> float | None:
    """Return what the paper prints for a method; None if that is nothing, or of other data."""
    paper = datasets.paper_name(data)
    if not paper or data in datasets.SUBSTITUTES:
        return None
    numbers = TABLE_3.get(method, {}).get(paper) or TABLE_1.get(method, {}).get(paper)
    return None if numbers is None else numbers[methods.PRECISIONS.index(name)]


def is_ahead_in_print(data: str, method: str, name: str) -> bool:
    """Return whether the paper prints more for a method than for X1."""
    ours, theirs = (printed_number(data, each, name) for each in (X1, method))
    return ours is not None and theirs is not None and theirs > ours


def explain_order(own: Results, data: str, others: Sequence[str], name: str) -> str:
    """Say whether X1 would be ahead if it had its printed number, and whether it would if the others had theirs.

    Of the others only those count that are behind X1 in print; "" if there is none.
    """
    ours = printed_number(data, X1, name)
    numbers = {method: printed_number(data, method, name) for method in others}
    printed = {method: value for method, value in numbers.items() if value is not None and ours and value < ours}
    here = _common_means(own, (X1, *printed), name)
    if ours is None or not printed or not here:
        return ""
    groups: dict[tuple[bool, bool], list[str]] = {}
    for method, value in printed.items():
        groups.setdefault((ours > here[method], value < here[X1]), []).append(method)
    return "; ".join(_explain_group(names, ours, printed, here, *restored_by) for restored_by, names in groups.items())


def _explain_group(
    names: Sequence[str], ours: float, printed: dict[str, float], here: dict[str, float], by_x1: bool, by_other: bool
) -> str:
    """Explain methods for which the same printed numbers restore the paper's order: X1's, their own, both, neither."""
    who, several = _join(map(methods.title, names)), len(names) > 1
    its, them, be = ("their", "them", "are") if several else ("its", "it", "is")
    title = methods.title(X1)
    tried = (
        f"{title} at its printed {ours:.2f} would {'' if by_x1 else 'not '}be ahead of the measured "
        f"{_join(f'{here[each]:.2f}' for each in names)} of {who}; {who} at {its} printed "
        f"{_join(f'{printed[each]:.2f}' for each in names)} would {'' if by_other else 'not '}be behind the measured "
        f"{here[X1]:.2f} of {title}"
    )
    x1 = f"X1 is {here[X1] - ours:+.2f} from print on the same splits"
    better = _join(f"{here[each] - printed[each]:+.2f}" for each in names)
    other = f"{who} {be} better here by {better}; why is not known: the paper tuned {them} too"
    other += "".join(f"; {words}" for method, words in DIFFERENCES.items() if method in names)
    if embedding := [method for method in names if method in OTHER_DIMENSION]:
        owner = _join(map(methods.title, embedding))
        other += f"; {owner} {'have' if len(embedding) > 1 else 'has'} the dimension that validation chose, not 0.8 L"
    reasons = {
        (True, True): f"either is enough: {x1}; {other}",
        (True, False): f"the cause is in X1: {x1}",
        (False, True): other,
        (False, False): f"neither is enough alone: {x1}; {other}",
    }
    return f"{tried}: {reasons[by_x1, by_other]}"


def explain_distance(own: Results, data: str, other: str, name: str) -> str:
    """Say by how much X1 and another method differ from print, where a lead is smaller than the printed one."""
    ours, theirs = (printed_number(data, each, name) for each in (X1, other))
    here = _common_means(own, (X1, other), name)
    if ours is None or theirs is None or not here:
        return ""
    return (
        f"on {datasets.title(data)} the printed lead is {ours - theirs:+.2f}; {methods.title(X1)} is "
        f"{here[X1] - ours:+.2f} from print on the same splits, and {methods.title(other)} "
        f"{here[other] - theirs:+.2f}; why is not known: the paper tuned it too"
    )


def _common_means(own: Results, names: Sequence[str], name: str) -> dict[str, float]:
    """Return the mean of each method over the seeds that all of them have; nothing if there is none."""
    found = [{cell.seed: m[name] for cell, m in own.select(method=each).items() if name in m} for each in names]
    seeds = set.intersection(*map(set, found))
    return {each: fmean(values[seed] for seed in seeds) for each, values in zip(names, found, strict=True) if seeds}


def _join(words: Iterable[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def explain_substitute(data: str) -> str:
    """Say that a set only stands for one of the paper's; "" if it does not."""
    if data not in datasets.SUBSTITUTES:
        return ""
    paper = datasets.paper_name(data)
    return (
        f"these are other documents and features than {paper}'s in the paper; whether that is the cause is {NOT_TESTED}"
    )


def explain_ladder(
    results: Results, data: str, what: str, measure: Callable[[dict[str, Any]], float] | None = None
) -> str:
    """Say which changes of the ladder, each alone, bring X1 (paper) forward on a set; "" where there is no ladder.

    `measure` takes the number that `what` names from what was measured.
    """
    measure = measure or (lambda measured: float(measured[what]))
    before = {cell.seed: measure(measured) for cell, measured in results.select("table3", data, X1).items()}
    ratio, gains = split_ratio(results, "table3", data), {}
    for name, change in CHANGES.items():
        after = results.select("ladder", data, X1, change=name, rung=ALONE)
        apart = [measure(measured) - before[cell.seed] for cell, measured in after.items() if cell.seed in before]
        if len(apart) > 1:
            gains[change.title] = estimate_gain(apart, ratio)
    if not gains:
        return ""
    helping = {title: gain for title, gain in gains.items() if gain.mean > (gain.half or 0.0)}
    most = sorted(helping, key=lambda title: -helping[title].mean)[:MOST_TOLD]
    told = ", ".join(f"{title} {helping[title]}" for title in most) or "none helps beyond chance"
    return f"tested one at a time (the ladder), in points of {what}, what neartag changes: {told}"


# What was tested on large sets, each beside SVP stopped early and nothing else (readings).
TESTED = {
    "large-dimensions": f"{READINGS['large-dimensions'].changes['embedding_dim']} dimensions in place of 50",
    "large-products": "k-means by inner products",
    "large-short-k-means": "k-means of seven rounds",
    "large-even": f"no cluster over {READINGS['large-even'].changes['max_cluster_size']:,} points",
}


def explain_tested(results: Results, data: str) -> list[str]:
    """Say what more dimensions and other clusters change on a large set, if that was tested."""
    own = results.select("readings", data, X1)
    before = own.select(reading="large-early").summary("P@1")
    after = {words: own.select(reading=key).summary("P@1") for key, words in TESTED.items()}
    told = [f"{words} {found.mean - before.mean:+.2f}" for words, found in after.items() if found and before]
    if not told:
        return []
    return [f"tested, in points of P@1 of three learners with SVP stopped early (readings): {', '.join(told)}"]


def explain_routing(results: Results, data: str) -> str:
    """Say what is known of X1's neighbours on a large set: among how many points, and what more learners bring."""
    own = results.select("table4", data, X1) or results.select("figure2", data, X1)
    if not own:
        return ""
    told = explain_tested(results, data)
    searched = results.select("timings", data, X1).select(clusters=None).summary("points_searched")
    points = part_sizes(results, data)[0]
    if searched and points:
        told.append(
            f"{'' if told else f'possible cause, {NOT_TESTED}: '}k-means from random starts leaves a test point in a "
            f"cluster of {searched.mean:,.0f} of {points:,} points on average"
        )
    runs = [measured["P@1"] for measured in own.values()]
    first, last = (summarise([run[place] for run in runs]).mean for place in (0, -1))
    count, whole = len(runs[0]), results.select("table1", data, X1).summary("P@1")
    if whole:
        count, last = methods.paper_settings(data, large=True)["n_learners"], whole.mean
    known = f"known: P@1 of {methods.title(X1)} is {first:.2f} with one learner and {last:.2f} with {count}"
    knn = results.select("table1", data, "knn").summary("P@1")
    if knn:
        known += f", of kNN by the features {knn.mean:.2f}"
    return "; ".join([*(told or [f"the cause is {NOT_TESTED}"]), known])

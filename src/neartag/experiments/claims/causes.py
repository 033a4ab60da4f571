"""What a result that is not the paper's comes from, with the evidence."""

from __future__ import annotations

from collections.abc import Sequence

from neartag.experiments import datasets, ladder, methods
from neartag.experiments.gains import ALONE, gain
from neartag.experiments.printed import TABLE_1, TABLE_3
from neartag.experiments.results import Results, summarise

X1 = methods.STRICT
# Why a comparator may be better here than in print (docs/comparators.md).
WHY_BETTER = {
    "wsabie": "its margin, norm and learning rate are tuned",
    "cplst": "0.8 L dimensions, the penalty tuned",
    "cs": "0.8 L dimensions, ridge regression",
    "ml_cssp": "0.8 L labels, ridge regression",
    "one_vs_all": "its cost is tuned",
    "lpsr": "over linear machines whose cost is tuned",
    "fastxml": "its cost is tuned",
    "leml": "its rank and penalty are tuned",
    "knn": "k and the distance are tuned",
}


def against_print(own: Results, data: str, method: str, name: str) -> float | None:
    """Return by how much a method's mean differs from its printed number; None if there is none for these data."""
    paper = datasets.paper_name(data)
    if not paper or data in datasets.SUBSTITUTES:
        return None
    printed = TABLE_3.get(method, {}).get(paper) or TABLE_1.get(method, {}).get(paper)
    summary = own.select(method=method).summary(name)
    return None if printed is None or summary is None else summary.mean - printed[methods.PRECISIONS.index(name)]


def explain_lead(own: Results, data: str, one: str, other: str, name: str) -> str:
    """Say which of two methods differs more from its printed number: that is where another order comes from."""
    apart = {method: against_print(own, data, method, name) for method in (one, other)}
    known = {method: value for method, value in apart.items() if value is not None}
    if len(known) < 2:
        return ""
    larger = max(known, key=lambda method: abs(known[method]))
    told = ", ".join(f"{methods.title(method)} {value:+.2f}" for method, value in known.items())
    return f"against the printed numbers {told}: most of the change is in {methods.title(larger)}{_why(larger)}"


def explain_rank(own: Results, data: str, ahead: Sequence[str], name: str) -> str:
    """Say which methods are ahead of X1 here and behind it in print, and how far they are from their numbers."""
    ours = against_print(own, data, X1, name)
    if ours is None:
        return ""
    paper, place = datasets.paper_name(data), methods.PRECISIONS.index(name)
    told = []
    for method in ahead:
        theirs = against_print(own, data, method, name)
        if theirs is not None and TABLE_3[method][paper][place] < TABLE_3[X1][paper][place]:
            told.append(f"{methods.title(method)} {theirs:+.2f}{_why(method)}")
    if not told:
        return ""
    return f"behind in print, and ahead here: against the printed numbers {', '.join(told)}; X1 (paper) {ours:+.2f}"


def _why(method: str) -> str:
    return f" ({WHY_BETTER[method]})" if method in WHY_BETTER else ""


def explain_substitute(results: Results, data: str) -> str:
    """Say what X1 gains most by on a set that stands for one of the paper's, by the ladder."""
    if data not in datasets.SUBSTITUTES:
        return ""
    strict = results.select("table3", data, X1)
    rungs = results.select("ladder", data)
    gains = {
        change.title: found
        for name, change in ladder.CHANGES.items()
        if (found := gain(rungs.select(change=name, rung=ALONE), strict, "P@1")) is not None
    }
    best = sorted(gains, key=lambda title: -gains[title].mean)[:2]
    told = f"; what X1 gains most by here is {' and '.join(f'{each} ({gains[each]})' for each in best)}" if best else ""
    return f"other documents and features than the paper's{told}"


def explain_routing(results: Results, data: str) -> str:
    """Say how X1 finds neighbours on a large set: among how many points, and what more learners bring."""
    own = results.select("table4", data, X1) or results.select("figure2", data, X1)
    if not own:
        return ""
    told = []
    searched = results.select("timings", data, X1).select(clusters=None).summary("points_searched")
    points = max((int(measured["train"]) for measured in results.select("table2", data).values()), default=0)
    if searched and points:
        told.append(
            f"k-means from random starts leaves a test point in a cluster of {searched.mean:,.0f} of {points:,} points "
            "on average, where 50 dimensions stand for all their labels"
        )
    runs = [measured["P@1"] for measured in own.values()]
    first, last = (summarise([run[place] for run in runs]).mean for place in (0, -1))
    count, whole = len(runs[0]), results.select("table1", data, X1).summary("P@1")
    if whole:
        count, last = 15, whole.mean
    told.append(f"P@1 is {first:.2f} with one learner and {last:.2f} with {count}")
    knn = results.select("table1", data, "knn").summary("P@1")
    if knn:
        told.append(f"kNN by the features has {knn.mean:.2f}")
    return "; ".join(told)

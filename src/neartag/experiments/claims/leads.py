"""By how much one method is ahead of another, run by run, and what a lead that is not the paper's comes from."""

from __future__ import annotations

from neartag.experiments import datasets, methods
from neartag.experiments.printed import TABLE_1, TABLE_3
from neartag.experiments.results import Results, Summary, summarise


def method_lead(results: Results, one: str, other: str, name: str = "P@1") -> Summary | None:
    """Return by how much a method is ahead of another, over the seeds that both have; None if there is none."""
    differences = []
    for seed in results.names("seed"):
        ours, theirs = (
            [measured[name] for cell, measured in results.items() if (cell.method, cell.seed) == (method, seed)]
            for method in (one, other)
        )
        if ours and theirs:
            differences.append(ours[0] - theirs[0])
    return summarise(differences) if differences else None


def ensemble_lead(
    results: Results, one: str, count: int, other: str, other_count: int, name: str = "P@1"
) -> Summary | None:
    """Return by how much an ensemble is ahead of another; all results are of one data set."""
    by_seed: dict[int, dict[str, float]] = {}
    for method, wanted in ((one, count), (other, other_count)):
        for cell, measured in results.select(method=method).items():
            precisions = dict(zip(measured["learners"], measured[name], strict=True))
            if wanted in precisions:
                by_seed.setdefault(cell.seed, {})[f"{method} {wanted}"] = precisions[wanted]
    differences = [
        values[f"{one} {count}"] - values[f"{other} {other_count}"] for values in by_seed.values() if len(values) == 2
    ]
    return summarise(differences) if differences else None


def describe_lead(lead: Summary) -> str:
    """Return a difference for people."""
    spread = "" if lead.deviation is None else f" ± {lead.deviation:.2f}"
    return f"{lead.mean:+.2f}{spread} points ({lead.runs} run{'s' if lead.runs > 1 else ''})"


def explain_lead(own: Results, data: str, one: str, other: str, name: str) -> str:
    """Say which of two methods differs more from its printed number: that is where another order comes from."""
    place, paper = methods.PRECISIONS.index(name), datasets.paper_name(data)
    apart = {}
    for method in (one, other):
        printed = (TABLE_3.get(method, {}).get(paper) or TABLE_1.get(method, {}).get(paper)) if paper else None
        summary = own.select(method=method).summary(name)
        if printed is None or summary is None:
            return ""
        apart[method] = summary.mean - printed[place]
    larger = max(apart, key=lambda method: abs(apart[method]))
    told = ", ".join(f"{methods.title(method)} {value:+.2f}" for method, value in apart.items())
    return f"against the printed numbers {told}: most of the change is in {methods.title(larger)}"


def explain_routing(results: Results, data: str) -> str:
    """Say what more learners bring on a set: where that is much, one cluster for each point was the loss."""
    own = results.select("table4", data, methods.STRICT) or results.select("figure2", data, methods.STRICT)
    if not own:
        return ""
    runs = [measured["P@1"] for measured in own.values()]
    first, last = (summarise([run[place] for run in runs]).mean for place in (0, -1))
    knn = results.select("table1", data, "knn").summary("P@1")
    plain = f"; kNN over all points has {knn.mean:.2f}" if knn else ""
    return (
        f"a point is looked up in one cluster of each learner: P@1 is {first:.2f} with one learner and {last:.2f} with "
        f"{len(runs[0])}{plain}"
    )

"""By how much one method is ahead of another, run by run."""

from __future__ import annotations

from neartag.experiments.claims.findings import chance
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


def chance_on(results: Results, data: str, level: float) -> float:
    """Return how much two precisions near a level may differ by chance in one run on a set's test points."""
    points = max((int(measured["test"]) for measured in results.select("table2", data).values()), default=0)
    return chance(level, points)

"""By how much one method is ahead of another, run by run, and whether that is more than chance."""

from __future__ import annotations

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


def ensemble_lead(results: Results, one: str, count: int, other: str, other_count: int) -> Summary | None:
    """Return by how much an ensemble is ahead of another in P@1; all results are of one data set."""
    by_seed: dict[int, dict[str, float]] = {}
    for method, wanted in ((one, count), (other, other_count)):
        for cell, measured in results.select(method=method).items():
            precisions = dict(zip(measured["learners"], measured["P@1"], strict=True))
            if wanted in precisions:
                by_seed.setdefault(cell.seed, {})[f"{method} {wanted}"] = precisions[wanted]
    differences = [
        values[f"{one} {count}"] - values[f"{other} {other_count}"] for values in by_seed.values() if len(values) == 2
    ]
    return summarise(differences) if differences else None


def is_ahead(lead: Summary) -> bool | None:
    """Return whether a difference is positive; None if it is no larger than twice its standard error."""
    if lead.mean == 0 or (lead.deviation is not None and abs(lead.mean) <= 2 * lead.deviation / lead.runs**0.5):
        return None
    return lead.mean > 0


def describe_lead(lead: Summary) -> str:
    """Return a difference for people."""
    spread = "" if lead.deviation is None else f" ± {lead.deviation:.2f}"
    return f"{lead.mean:+.2f}{spread} points ({lead.runs} run{'s' if lead.runs > 1 else ''})"

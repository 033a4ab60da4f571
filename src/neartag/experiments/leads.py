"""By how much one method leads another, run by run, and whether that is more than runs differ."""

from __future__ import annotations

from neartag.experiments.learners import summary_of
from neartag.experiments.results import Results, Summary


def difference(results: Results, one: str, other: str, name: str = "P@1") -> Summary | None:
    """Return by how much a method leads another in a number, over the seeds that both have; None without any."""
    found = []
    for seed in results.names("seed"):
        ours, theirs = (
            [measured[name] for cell, measured in results.items() if (cell.method, cell.seed) == (method, seed)]
            for method in (one, other)
        )
        if ours and theirs:
            found.append(ours[0] - theirs[0])
    return summary_of(found) if found else None


def ensemble_difference(results: Results, one: str, count: int, other: str, other_count: int) -> Summary | None:
    """Return by how much some learners of a method lead some of another in P@1; results are of one data set."""
    by_seed: dict[int, dict[str, float]] = {}
    for method, wanted in ((one, count), (other, other_count)):
        for cell, measured in results.select(method=method).items():
            known = dict(zip(measured["learners"], measured["P@1"], strict=True))
            if wanted in known:
                by_seed.setdefault(cell.seed, {})[f"{method} {wanted}"] = known[wanted]
    found = [
        values[f"{one} {count}"] - values[f"{other} {other_count}"] for values in by_seed.values() if len(values) == 2
    ]
    return summary_of(found) if found else None


def leads(lead: Summary) -> bool | None:
    """Return whether a difference is positive; None where it is no larger than twice its standard error."""
    if lead.mean == 0 or (lead.deviation is not None and abs(lead.mean) <= 2 * lead.deviation / lead.runs**0.5):
        return None
    return lead.mean > 0


def words(lead: Summary) -> str:
    """Return a difference for people."""
    spread = "" if lead.deviation is None else f" ± {lead.deviation:.2f}"
    return f"{lead.mean:+.2f}{spread} points ({lead.runs} run{'s' if lead.runs > 1 else ''})"

"""LocalLEML on a large set: its rank is below LEML's own there, so a lead over it may come from the rank."""

from __future__ import annotations

from neartag.experiments import figure1c
from neartag.experiments.results import Results

LOCAL = "local_leml"


def describe_rank(results: Results, data: str) -> str:
    """Say that LocalLEML's rank is below LEML's, and what that costs where it was measured; "" where it is the same."""
    rank = figure1c.describe_rank(data)
    if not rank:
        return ""
    small = results.select("figure1c", data, LOCAL).select(clusters=1).summary("P@1")
    whole = results.select("table1", data, "leml").summary("P@1")
    if small and whole:
        rank += f", with which one LEML of all points has P@1 {small.mean:.2f} and {whole.mean:.2f}"
    return f"; {rank}"


def allow_for_rank(agrees: bool | None, data: str) -> bool | None:
    """Return the answer to whether X1 leads: too close to tell in place of yes, where LocalLEML's rank is below LEML's.

    The rank was set by memory there, not by validation. Where X1 is behind in spite of it, that stands.
    """
    return None if agrees and figure1c.describe_rank(data) else agrees

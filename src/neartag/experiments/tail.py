"""The tail: what each method finds of labels in few training documents, by bands of their number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from neartag.experiments import datasets, methods
from neartag.experiments.report.blocks import Block, Entry, Number, Table
from neartag.experiments.results import Results, summarise

METRIC = "R@5"  # share of a band's labels that are among the first five predictions
LEAST_SHARE = 0.001  # of the test labels that is told as a number
NOTE = (
    f"{METRIC}: of the test points' labels that so many training documents have, the share that is among a method's "
    "first five answers, in percent. Bands without such labels are left out."
)


def tail_table(own: Results, columns: Sequence[str]) -> list[Block]:
    """Return a table with one row per data set and band, one column per method; nothing if nothing was measured."""
    shown = [method for method in columns if any("bands" in each for each in own.select(method=method).values())]
    rows: list[list[Entry]] = []
    for data in datasets.in_table_order(own.names("data")):
        of_data = own.select(data=data)
        sizes = band_sizes(of_data)
        whole = sum(pairs for _, pairs in sizes.values())
        for band, (labels, pairs) in sizes.items():
            numbers = [_number(of_data.select(method=method), band) for method in shown]
            share = f"{100 * pairs / whole:.1f}%" if pairs >= LEAST_SHARE * whole else f"< {LEAST_SHARE:.1%}"
            rows.append([datasets.title(data), band, f"{labels:,}", share, *numbers])
    if not rows:
        return []
    headings = ["data set", "documents of a label", "labels", "of the test labels", *map(methods.title, shown)]
    return [Table("The tail: labels by their number of documents", headings, rows, NOTE, range(4, len(headings)))]


def band_sizes(own: Results) -> dict[str, tuple[int, int]]:
    """Return the labels of each band and how often test points have them, in the first split; none of empty bands."""
    bands: dict[str, Any] = next((measured["bands"] for measured in own.values() if "bands" in measured), {})
    return {band: (int(each["labels"]), int(each["pairs"])) for band, each in bands.items() if each["pairs"]}


def _number(own: Results, band: str) -> Number:
    values = [
        measured["bands"][band][METRIC]
        for measured in own.values()
        if measured.get("bands", {}).get(band, {}).get("pairs")
    ]
    return Number(*summarise(values)) if values else Number(None)

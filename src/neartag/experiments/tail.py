"""The tail: what each method finds of labels in few training documents, by bands of their number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from neartag.experiments import datasets, methods
from neartag.experiments.report.blocks import Block, Entry, Number, Table
from neartag.experiments.results import Results, summarise

METRIC = "R@5"  # share of a band's labels that are among the first five predictions
LEAST_SHARE = 0.001  # of the test labels: a band with fewer says nothing
NOTE = (
    f"{METRIC}: of the test points' labels that so many training documents have, the share that is among a method's "
    f"first five answers, in percent. Bands with fewer than {LEAST_SHARE:.1%} of the test labels are left out; numbers "
    "of labels are means over splits."
)


def tail_table(own: Results, columns: Sequence[str]) -> list[Block]:
    """Return a table with one row per data set and band, one column per method; nothing if nothing was measured."""
    shown = [method for method in columns if any("bands" in each for each in own.select(method=method).values())]
    rows: list[list[Entry]] = []
    for data in datasets.in_table_order(own.names("data")):
        of_data = own.select(data=data)
        sizes = band_sizes(of_data)
        for band, (labels, share) in sizes.items():
            if share >= LEAST_SHARE:
                numbers = [_number(of_data.select(method=method), band) for method in shown]
                rows.append([datasets.title(data), band, f"{labels:,.0f}", f"{share:.1%}", *numbers])
    if not rows:
        return []
    headings = ["data set", "documents of a label", "labels", "of the test labels", *map(methods.title, shown)]
    return [Table("The tail: labels by their number of documents", headings, rows, NOTE, range(4, len(headings)))]


def band_sizes(own: Results) -> dict[str, tuple[float, float]]:
    """Return how many labels each band has and their share of the test labels, over all splits of one data set."""
    splits: dict[int, dict[str, Any]] = {
        cell.seed: measured["bands"] for cell, measured in own.items() if "bands" in measured
    }
    labels: dict[str, list[float]] = {}
    pairs: dict[str, float] = {}
    for bands in splits.values():
        for band, found in bands.items():
            labels.setdefault(band, []).append(found["labels"])
            pairs[band] = pairs.get(band, 0.0) + found["pairs"]
    whole = sum(pairs.values())
    return {band: (summarise(labels[band]).mean, pairs[band] / whole) for band in labels if pairs[band]}


def _number(own: Results, band: str) -> Number:
    values = [
        measured["bands"][band][METRIC]
        for measured in own.values()
        if measured.get("bands", {}).get(band, {}).get("pairs")
    ]
    return Number(*summarise(values)) if values else Number(None)

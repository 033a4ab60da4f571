"""`neartag review … -o FILE`: what was listed as CSV, a row for each document, to be corrected and added to the model.

Texts are whole, and the column `labels` has the labels that a document has now: whoever corrects it can give the file
to `neartag add`. A document of which several labels are doubted stands there once: rows of the same id would replace
each other.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from typing import Any

from neartag.core.errors import DataError
from neartag.data.documents.added_columns import choose_separator
from neartag.data.documents.label_cells import LIST, find_separator, split_cell

Row = dict[str, Any]
NAMES = ["id", "text", "labels", "score", "why", "suggested", "evidence"]
NAMES_OF_DOUBTS = ["id", "text", "labels", "label", "kind", "score", "why", "evidence"]
BETWEEN_DOUBTS = " || "


def as_csv(rows: Sequence[Row], say_evidence: Callable[[Row], str], *, doubts: bool) -> str:
    """Return entries as CSV. Those of one document, which have the same `index`, are put together."""
    by_document: dict[int, list[Row]] = {}
    for row in rows:
        by_document.setdefault(row["index"], []).append(row)
    join = _choose_join(rows)
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    with_texts = not rows or any(row["text"] is not None for row in rows)
    names = [name for name in (NAMES_OF_DOUBTS if doubts else NAMES) if name != "text" or with_texts]
    writer.writerow(names)
    for several in by_document.values():
        first = several[0]
        cells = {
            **first,
            "labels": join(first["labels"]),
            "label": join([row["label"] for row in several if doubts]),
            "kind": join([row["kind"] for row in several if doubts]),
            "why": BETWEEN_DOUBTS.join(row["why"] for row in several),
            "suggested": say_suggested(first.get("suggested", ())),
            "evidence": BETWEEN_DOUBTS.join(" | ".join(map(say_evidence, row["evidence"])) for row in several),
        }
        writer.writerow([cells[name] for name in names])
    return written.getvalue()


def say_suggested(tags: Sequence[Row]) -> str:
    """Return labels with their scores in a line."""
    return "; ".join(f"{each['label']} {100 * each['score']:.0f}%" for each in tags)


def _choose_join(rows: Sequence[Row]) -> Callable[[Sequence[str]], str]:
    """Return how labels are put into a cell: so that whoever reads the column, without being told, has them again."""
    listed = [row["labels"] for row in rows]
    doubted = [row["label"] for row in rows if "label" in row]  # they may be written into `labels` too
    mark = choose_separator([*(name for names in listed for name in names), *doubted], delimiter=",")
    if mark != LIST and _is_read_again([mark.join(names) for names in listed], listed):
        return mark.join
    return lambda names: json.dumps(list(names), ensure_ascii=False)


def _is_read_again(cells: Sequence[str], listed: Sequence[Sequence[str]]) -> bool:
    """Return whether cells give these labels where nobody says what separates them."""
    try:
        found = find_separator(cells)
        return all(split_cell(cell, found) == list(names) for cell, names in zip(cells, listed, strict=True))
    except (DataError, ValueError):
        return False

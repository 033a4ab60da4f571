"""The table of labels: in the page, where it can be sorted, and as a file of tab-separated values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from neartag.data.files import open_to_replace
from neartag.report.markup import clean, paragraph, percent, scroll

MAX_ROWS = 2000  # in the page: browsers are slow with more
_COLUMNS = {
    "label": "label",
    "count": "documents",
    "f1": "F1",
    "precision": "precision",
    "recall": "recall",
    "given": "given",
    "right": "right",
    "training": "in training",
    "confused_with": "most confused with",
    "confused": "times",
}
_WORDS = ("label", "confused_with")
_PERCENT = ("precision", "recall", "f1")


def labels_section(report: Mapping[str, Any]) -> str:
    """Return the table of the most frequent labels, with a field to search it."""
    rows: Sequence[Mapping[str, Any]] = report["by_label"]
    shown = rows[:MAX_ROWS]
    about = (
        "How many documents here have the label, its figures in percent, how often the model gave it, how often that "
        "was right, and how many training documents have the label. “Most confused with”: where this label was missed, "
        "the wrong label that was given most often in its place. Click a heading to sort."
    )
    left_out = (
        f"The table has the {len(shown):,} most frequent of {len(rows):,} labels; `--labels-tsv FILE` writes all."
        if len(rows) > len(shown)
        else ""
    )
    heads = "".join(map(_head, _COLUMNS))
    body = "\n".join(map(_row, shown))
    content = (
        '<table class="sortable" data-filter="filter" data-told="told">'
        f"<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"
    )
    search = (
        '<p class="search"><label>Show labels that contain <input id="filter" type="search"></label> '
        '<span id="told" class="soft" role="status"></span></p>'
    )
    return (
        paragraph(about)
        + (paragraph(left_out, "soft") if left_out else "")
        + search
        + scroll("Table of labels", content, "scroll tall")
    )


def _head(field: str) -> str:
    """Return the heading of a column; rows come sorted by how many documents have the label."""
    number = "" if field in _WORDS else ' class="number"'
    order = ' aria-sort="descending"' if field == "count" else ""
    return f'<th scope="col"{number}{order}><button type="button">{_COLUMNS[field]}</button></th>'


def _row(row: Mapping[str, Any]) -> str:
    cells = []
    for field in list(_COLUMNS)[1:]:
        value = row[field]
        if field in _WORDS:
            cells.append(f"<td>{clean(value or '–')}</td>")
        else:
            cells.append(f'<td class="number">{percent(value) if field in _PERCENT else f"{value:,}"}</td>')
    return f'<tr><th scope="row">{clean(row["label"])}</th>{"".join(cells)}</tr>'


def write_labels(rows: Sequence[Mapping[str, Any]], target: str | Path) -> None:
    """Write the figures of all labels as tab-separated values, with a heading; an empty cell: there is no figure."""
    with open_to_replace(target) as stream:
        fields = (*_COLUMNS, "uri")
        stream.write(("\t".join(fields) + "\n").encode())
        for row in rows:
            stream.write(("\t".join(_field(row[name]) for name in fields) + "\n").encode("utf-8", "replace"))


def _field(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.2f}"
    return " ".join(value.split()) if isinstance(value, str) else str(value)

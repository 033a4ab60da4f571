"""What was understood of a file, in words: how it was read, its labels, and what looks wrong about them."""

from __future__ import annotations

from typing import Any

import numpy as np

from neartag.data.documents.fields import LABEL_FIELDS, Fields
from neartag.data.documents.label_cells import WEAKEST, looks_like_lists, reuse
from neartag.data.near_duplicates import describe_near_duplicates, find_near_duplicates

_SHOWN = 5
_LONG_NAME = 100  # characters: more like a text than a label
_MIN_BLANKS = 3
_SUSPICIOUS_REUSE = 0.5  # of words in several labels
_MARKS = (";", ",", "|", "\n", "\t")


def describe_fields(fields: Fields, labelled: bool = True) -> str:
    """Return in a line how settled fields read a file."""
    parts = []
    if fields.delimiter is not None:
        mark = "tabs" if fields.delimiter == "\t" else repr(fields.delimiter)
        quoting = "" if fields.quoting == "double" else f", quoting {fields.quoting}"
        parts.append(f"cells separated by {mark}{quoting}")
    if fields.encoding is not None:
        parts.append(f"encoding {fields.encoding}")
    parts.append(f"text from {' + '.join(fields.text_fields)}")
    if labelled:
        names = fields.label_fields
        where = f"{names[0]} … {names[-1]} ({len(names)} columns)" if len(names) > _SHOWN else ", ".join(names)
        if names == LABEL_FIELDS:
            where = " or ".join(names)
        parts.append(f"labels from {where}, " + ("by 0 and 1" if fields.indicators else fields.describe_separator()))
    if fields.label_per_row:
        parts.append("rows of one document put together")
    return "; ".join(parts)


def describe_labels(Y: Any, names: list[str]) -> list[str]:
    """Return lines about the labels of documents, given label rows (n, L): how many, the most frequent, suspicions."""
    counts = np.bincount(Y.indices, minlength=Y.shape[1])  # (L,)
    n_labels = int((counts > 0).sum())
    without = int((np.diff(Y.indptr) == 0).sum())
    lacking = f"; without a label: {without:,}" if without else ""
    lines = [f"{Y.shape[0]:,} documents, {n_labels:,} labels{lacking}"]
    if n_labels:
        order = np.argsort(-counts, kind="stable")[: min(_SHOWN, n_labels)]
        lines.append("most frequent: " + ", ".join(f"{names[label]} ({counts[label]:,})" for label in order))
        lines.extend(f"suspicious: {problem}" for problem in find_suspicions(names, counts))
    return lines


def find_suspicions(names: list[str], counts: np.ndarray) -> list[str]:
    """Return what looks as if labels were misread, a line each.

    >>> find_suspicions(["0", "1"], np.array([2, 3]))
    ['the only labels are 0 and 1; for columns of 0 and 1 name each by --label-field']
    """
    used = [name for name, count in zip(names, counts.tolist(), strict=True) if count]
    problems = []
    if len(used) <= 2 and set(used) <= {"0", "1", "0.0", "1.0"}:
        problems.append("the only labels are 0 and 1; for columns of 0 and 1 name each by --label-field")
    for mark in _MARKS:
        held = [name for name in used if mark in name]
        if held:
            problems.append(f"{len(held):,} labels hold {mark!r}, such as {held[0][:40]!r}; --separator splits them")
    for mark in WEAKEST:
        if looks_like_lists(used, mark, _SUSPICIOUS_REUSE):
            held = [name for name in used if mark in name]
            problems.append(
                f"{len(held):,} labels are made of the same parts, such as {held[0][:40]!r}; --separator {mark} splits "
                "them"
            )
    blanks = [name for name in used if " " in name]
    if len(blanks) >= _MIN_BLANKS and reuse(used, " ") >= _SUSPICIOUS_REUSE:
        problems.append(
            f"{len(blanks):,} labels are made of the same words, such as {blanks[0][:40]!r}; --separator space splits "
            "them"
        )
    alike = find_near_duplicates(used)
    if alike:
        problems.append(describe_near_duplicates(alike))
    long = [name for name in used if len(name) > _LONG_NAME]
    if long:
        problems.append(f"{len(long):,} labels are longer than {_LONG_NAME} characters, such as {long[0][:40]!r}")
    if len(used) > 10 and int(counts.max()) == 1:
        problems.append("no label stands at two documents: is it the right column?")
    return problems

"""The documents of a model, to be browsed and searched: the newest first, some at a time."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from neartag.core.errors import ParameterError
from neartag.serve.labels import names_of
from neartag.storage.bundle import StoredModel
from neartag.tagging.explain import labels_of
from neartag.tagging.label_changes import find_label
from neartag.tagging.tagger import TextTagger

MAX_SHOWN_CHARACTERS = 20_000  # of a text
MAX_TITLE_CHARACTERS = 200  # a first line that is longer is no title
MAX_SEARCH_SECONDS = 2.0  # then what was found until then is the answer


def browse(tagger: TextTagger, query: str, label: str, name: str, offset: int, limit: int) -> dict[str, Any]:
    """Return the documents that fit, and how many there are.

    Parameters
    ----------
    tagger : TextTagger
    query : str
        What to look for in texts and ids, in upper or lower case; "" for all.
    label : str
        Name or URI of a label that they have; "" for all.
    name : str
        The id of the only one that is wanted; "" for all.
    offset, limit : int
        Of those that fit, the newest first: which to begin with, and at most how many.
    """
    stored = tagger.stored
    points = _with_label(stored, label) if label else np.arange(int(stored.model.n_points))
    if name:
        points = points[[point_id(stored, int(point)) == name for point in points]]
    points, complete = (points[::-1], True) if not query else _search(stored, points[::-1], query)
    shown = [describe(stored, int(point)) for point in points[offset : offset + limit]]
    names = names_of(stored.vocabulary, (label for document in shown for label in document["labels"]))
    return {"documents": shown, "total": len(points), "complete": complete, "names": names}


def describe(stored: StoredModel, point: int) -> dict[str, Any]:
    """Return a document, fit for JSON; its text is cut off where it is long, and null where texts are not kept."""
    text = None if stored.texts is None else stored.texts[point]
    name = point_id(stored, point)
    names = stored.label_names or []
    has_labels = hasattr(stored.model, "Y")
    return {
        "id": name,
        "title": title_of(text),
        "link": link_of(name),
        "text": None if text is None else text[:MAX_SHOWN_CHARACTERS],
        "cut": text is not None and len(text) > MAX_SHOWN_CHARACTERS,
        "labels": [names[label] for label in labels_of(stored.model, point)] if has_labels else [],
    }


def point_id(stored: StoredModel, point: int) -> str:
    """Return the id of a point, which is its number where the model has no ids."""
    return str(point) if stored.point_names is None else stored.point_names[point]


def title_of(text: str | None) -> str | None:
    """Return the first line of a text that has more lines, if it is short: fields that were joined stand so."""
    first, newline, rest = (text or "").lstrip().partition("\n")
    first = first.strip()
    return first if newline and rest.strip() and 0 < len(first) <= MAX_TITLE_CHARACTERS else None


def link_of(name: str) -> str | None:
    """Return the address that an id is, None where it is none."""
    return name if re.fullmatch(r"https?://[^\s\"<>]+", name, re.IGNORECASE) else None


def _with_label(stored: StoredModel, label: str) -> np.ndarray:
    if not hasattr(stored.model, "Y"):
        raise ParameterError(f"a model of kind {stored.model.kind!r} does not tell which documents have a label")
    Y = stored.model.Y  # (n, L)
    places = np.flatnonzero(Y.indices == find_label(stored, label))
    return np.unique(np.searchsorted(Y.indptr, places, side="right") - 1)


def _search(stored: StoredModel, points: np.ndarray, query: str) -> tuple[np.ndarray, bool]:
    """Return the points whose id or text holds the query, and whether all were looked at in time."""
    holds = re.compile(re.escape(query.strip()), re.IGNORECASE).search
    end = time.monotonic() + MAX_SEARCH_SECONDS
    found = []
    for number, (point, text) in enumerate(_texts(stored, points)):
        if holds(text):
            found.append(point)
        if number % 256 == 0 and time.monotonic() > end:
            return np.array(found, np.int64), False
    return np.array(found, np.int64), True


def _texts(stored: StoredModel, points: np.ndarray) -> Iterator[tuple[int, str]]:
    for point in points.tolist():
        yield point, f"{point_id(stored, point)}\n{'' if stored.texts is None else stored.texts[point]}"

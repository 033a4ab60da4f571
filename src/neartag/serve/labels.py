"""Labels by what somebody has typed, quickly enough to answer at each key."""

from __future__ import annotations

from typing import Any

import numpy as np

from neartag.tagging.tagger import TextTagger

SEPARATOR = "\n"  # between two names
MAX_HITS = 100_000  # of millions of labels, a single letter fits nearly all


class LabelSearch:
    """Finds labels. All names are in one long string: finding in it is a single scan in C."""

    def __init__(self) -> None:
        # The names, the string, and where each name's break stands in it: one value, which threads may exchange.
        self._index: tuple[list[str], str, np.ndarray] = [], SEPARATOR, np.empty(0, np.int64)

    def find(self, tagger: TextTagger, typed: str, limit: int) -> dict[str, Any]:
        """Return labels, how many points have each, and how many labels fit.

        First come names that begin with what was typed, then names with a word that begins so, then names that have it
        elsewhere; of each kind the most frequent first.
        """
        names, string, starts = self._index_names(tagger.stored.label_names or [])
        frequency = _frequency(tagger.stored.model, len(names))
        wanted = typed.casefold().replace(SEPARATOR, " ")
        chosen = np.empty(0, np.int64)
        for numbers in _match_names(string, starts, wanted) if wanted else [np.arange(len(names))]:
            more = np.setdiff1d(numbers, chosen)
            chosen = np.concatenate([chosen, more[np.argsort(-frequency[more], kind="stable")]])
        shown = chosen[:limit].tolist()
        points = [int(frequency[place]) for place in shown]
        return {"labels": [names[place] for place in shown], "points": points, "total": len(chosen)}

    def _index_names(self, names: list[str]) -> tuple[list[str], str, np.ndarray]:
        index = self._index
        if names is not index[0] and names != index[0]:
            folded = [name.casefold().replace(SEPARATOR, " ") for name in names]
            lengths = np.array([len(name) + 1 for name in folded], np.int64)
            self._index = index = names, SEPARATOR + SEPARATOR.join(folded), np.cumsum(lengths) - lengths
        return index


def _match_names(string: str, starts: np.ndarray, wanted: str) -> list[np.ndarray]:
    """Return the numbers of the names that begin so, of those with a word that begins so, and of all that have it."""
    begins, holds = _find_hits(string, SEPARATOR + wanted), _find_hits(string, wanted)
    words = [at for at in holds if not string[at - 1].isalnum()]
    return [np.searchsorted(starts, np.array(hits, np.int64), side="right") - 1 for hits in (begins, words, holds)]


def _find_hits(string: str, wanted: str) -> list[int]:
    hits: list[int] = []
    at = string.find(wanted)
    while at >= 0 and len(hits) < MAX_HITS:
        hits.append(at)
        at = string.find(wanted, at + 1)
    return hits


def _frequency(model: Any, labels: int) -> np.ndarray:
    frequency = getattr(model, "frequency", None)
    return frequency if frequency is not None and len(frequency) == labels else np.zeros(labels, np.int64)

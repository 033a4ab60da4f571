"""Labels given from a score on: what each threshold gives, and the averages of precision, recall and F1 at one.

An answer is a label with its score. It is given where its score is above 0 and reaches the threshold.

Micro averages count all pairs of document and label alike. Macro averages are means over labels, each of which counts
the same. Averages over documents are means over documents. All three are defined as in scikit-learn: 0 where nothing
could be divided.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from neartag.evaluation.matches import Matches, divide


class Cuts(NamedTuple):
    """Thresholds from the highest down, and what each gives over all answers together; all (m,)."""

    threshold: np.ndarray
    precision: np.ndarray
    recall: np.ndarray
    f1: np.ndarray

    def get(self, place: int) -> dict[str, float]:
        """Return one threshold with what it gives."""
        return {name: float(values[place]) for name, values in zip(self._fields, self, strict=True)}

    @property
    def best(self) -> dict[str, float]:
        """The threshold with the largest F1; of equal ones the highest."""
        return self.get(int(self.f1.argmax()))

    def most_found(self, precision: float) -> dict[str, float] | None:
        """Return the threshold that finds most with at least this precision; None where none is so precise."""
        enough = np.flatnonzero(self.precision >= precision)
        return self.get(int(enough[self.recall[enough].argmax()])) if len(enough) else None

    def thin(self, most: int) -> Cuts:
        """Return at most so many thresholds, evenly spread over the recall that they give; first and last are kept."""
        if len(self.recall) <= most:
            return self
        wanted = np.linspace(self.recall[0], self.recall[-1], most)
        places = np.minimum(np.searchsorted(self.recall, wanted), len(self.recall) - 1)
        places = np.unique(np.append(places[:-1], len(self.recall) - 1))
        return Cuts(*(values[places] for values in self))


def threshold_cuts(scores: np.ndarray, right: np.ndarray, relevant: int) -> Cuts:
    """Return what each threshold gives, for answers with these scores (m,), of which some are right (m,).

    `relevant` is how many answers would be right if all true labels were found.
    """
    order = np.argsort(-scores, kind="stable")
    sorted_scores, hits = scores[order], np.cumsum(right[order])
    last = np.flatnonzero(np.append(np.diff(sorted_scores) < 0, True))  # of equal ones all or none are given
    precision, recall = hits[last] / (last + 1), hits[last] / max(1, relevant)
    f1 = divide(2 * precision * recall, precision + recall)
    # In the middle of the gap below the last answer given: a new answer there is as likely to be on either side.
    lowest = sorted_scores[last]
    middle = (lowest[:-1] + lowest[1:]) / 2
    thresholds = np.append(np.where(middle > lowest[1:], middle, lowest[:-1]), lowest[-1])  # rounding may leave no gap
    return Cuts(thresholds, precision, recall, f1)


def mark_given(matches: Matches, scores: np.ndarray, threshold: float = 0.0, k: int | None = None) -> np.ndarray:
    """Return which answers are given, (n, columns): those that reach the threshold, among the k best."""
    given = (matches.labels >= 0) & (scores > 0) & (scores >= threshold)
    if k is not None:
        given[:, k:] = False
    return given


class LabelTally(NamedTuple):
    """How often each label is true, given, and both; all (L,)."""

    true: np.ndarray
    given: np.ndarray
    right: np.ndarray


def tally_labels(matches: Matches, given: np.ndarray) -> LabelTally:
    """Return how often each label is true, given, and both."""
    width = matches.truth.shape[1]
    return LabelTally(
        np.bincount(matches.truth.indices, minlength=width),
        np.bincount(matches.labels[given], minlength=width),
        np.bincount(matches.labels[given & matches.hits], minlength=width),
    )


def figures(true: np.ndarray, given: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return precision, recall and F1 in percent, of counts of one shape; 0 where nothing could be divided."""
    true, given, right = (np.asarray(each, float) for each in (true, given, right))
    return 100 * divide(right, given), 100 * divide(right, true), 100 * divide(2 * right, true + given)


def average_figures(matches: Matches, given: np.ndarray) -> dict[str, dict[str, float]]:
    """Return precision, recall and F1 in percent: "micro", "macro", "macro_all" and "documents".

    Macro takes the labels that some point has or that were given; "macro_all" takes all labels, of which those that
    nobody asked for count as 0.
    """
    tally = tally_labels(matches, given)
    seen = (tally.true > 0) | (tally.given > 0)
    by_label = figures(*tally)
    by_point = figures(matches.counts, given.sum(axis=1), (given & matches.hits).sum(axis=1))
    return {
        "micro": _named(figures(*(each.sum() for each in tally))),
        "macro": _named(values[seen] for values in by_label),
        "macro_all": _named(by_label),
        "documents": _named(by_point),
    }


def _named(values: Iterable[np.ndarray]) -> dict[str, float]:
    """Return the means of precision, recall and F1, 0 where there is nothing."""
    precision, recall, f1 = (float(np.mean(each)) if np.size(each) else 0.0 for each in values)
    return {"precision": precision, "recall": recall, "f1": f1}

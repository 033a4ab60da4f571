"""What a model answered to labelled points, and from which score on its labels count as given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from neartag.evaluation.matches import Matches, match_labels
from neartag.evaluation.propensities import LabelCounts
from neartag.evaluation.thresholds import Cuts, mark_given, threshold_cuts
from neartag.linalg import csr
from neartag.storage.bundle import StoredModel
from neartag.tagging.answering import find_min_score
from neartag.tagging.calibration import Calibration, calibrate_scores, from_extras

MAX_DEPTH = 50  # labels looked at for each point; curves and thresholds see no more
MAX_ANSWERS = 10_000_000  # of all points together: several arrays of so many numbers are made
# Who chose the threshold: the person, the model (on documents held out of training), or the evaluated points.
ASKED, MODEL, HERE = "asked", "model", "here"


def choose_depth(n_points: int, n_labels: int, least: int) -> int:
    """Return how many labels of each point are looked at: fewer where there are very many points, or few labels."""
    return max(least, min(MAX_DEPTH, n_labels, MAX_ANSWERS // max(1, n_points)))


class Threshold(NamedTuple):
    """The score from which labels are given, and who chose it."""

    value: float
    source: str


@dataclass(frozen=True)
class Evaluation:
    """Answers to labelled points, matched with the truth; labels that the model does not know come after its own."""

    stored: StoredModel
    X: Any  # (n, d)
    matches: Matches
    scores: np.ndarray  # (n, depth) as the model tells them: calibrated, if it is
    counts: LabelCounts  # of all labels of the matches
    label_names: Sequence[str] | None
    ids: Sequence[str | None] | None
    texts: Sequence[str] | None
    calibration: Calibration | None
    threshold: Threshold
    cuts: Cuts | None  # None where nothing was answered

    @cached_property
    def given(self) -> np.ndarray:
        """Which answers are given at the threshold, (n, depth)."""
        return mark_given(self.matches, self.scores, self.threshold.value)

    def label_name(self, label: int) -> str:
        """Return a label's name, its number where it has none."""
        return str(label) if self.label_names is None else self.label_names[label]

    def label_uri(self, label: int) -> str | None:
        """Return a label's URI, None where the model's vocabulary has none."""
        vocabulary = self.stored.vocabulary
        concept = None if vocabulary is None else vocabulary.get(self.label_name(label))
        return None if concept is None else concept.uri or None


def make_evaluation(
    stored: StoredModel,
    X: Any,
    Y: csr_matrix,
    answers: tuple[np.ndarray, np.ndarray],
    counts: LabelCounts,
    *,
    threshold: str | float | None = None,
    label_names: Sequence[str] | None = None,
    ids: Sequence[str | None] | None = None,
    texts: Sequence[str] | None = None,
) -> Evaluation:
    """Return the evaluation of answers: labels and the model's own scores, best first, (n, depth) each.

    The threshold is the one asked for; else the model's own for the best F1; else the one that is best here.
    """
    labels, scores = answers
    width = max(Y.shape[1], len(counts.frequency))
    matches = match_labels(labels, csr.widen(Y, width))
    calibration = from_extras(stored.extras)
    scores = calibrate_scores(calibration, scores)
    positive = mark_given(matches, scores)
    relevant = int(matches.truth.nnz)
    cuts = threshold_cuts(scores[positive], matches.hits[positive], relevant) if positive.any() else None
    return Evaluation(
        stored,
        X,
        matches,
        scores,
        counts.widen(width),
        label_names,
        ids,
        texts,
        calibration,
        _find_threshold(threshold, calibration, cuts),
        cuts,
    )


def _find_threshold(asked: str | float | None, calibration: Calibration | None, cuts: Cuts | None) -> Threshold:
    if asked is not None:
        return Threshold(find_min_score(asked, calibration), ASKED)
    if calibration is not None:
        return Threshold(calibration.threshold("f1"), MODEL)
    return Threshold(0.0 if cuts is None else cuts.best["threshold"], HERE)

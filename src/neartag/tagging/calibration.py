"""Calibration: it turns scores into probabilities, and finds thresholds for a precision or the best F1.

A score is a share of the votes, or what rankers say, which is nearly a probability already. Some points are kept out of
training. What the model answers for them tells how often a label with a given score is right. The curve through these
answers is an isotonic regression, which never falls, or, where there are few answers, a logistic function of the
score's log-odds (Platt scaling). How far to trust the curve is measured on points that it was not fitted to: two halves
of the points, each with the other half's curve.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from numbers import Real
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from neartag.core.errors import ModelError, ParameterError
from neartag.evaluation.matches import match_labels
from neartag.evaluation.reliability import measure_reliability
from neartag.evaluation.thresholds import threshold_cuts
from neartag.tagging.curves import KINDS, apply_curve, check_curve, fit_curve

MIN_ANSWERS = 100  # below, no curve is fitted
MIN_ISOTONIC_ANSWERS = 1000  # from here on "auto" fits an isotonic curve, which needs many
PRECISIONS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99)  # for which thresholds are kept
EXTRA_NAME = "calibration"  # the name under which a model folder keeps it
# The numbers that each part of a stored calibration has.
_FIGURE_FIELDS = ("points", "error", "brier")
_CUT_FIELDS = ("threshold", "precision", "recall", "f1")
_BIN_FIELDS = ("low", "high", "answers", "probability", "right")


@dataclass(frozen=True)
class Calibration:
    """A curve from vote share to probability, and how good it is."""

    kind: str  # "isotonic" or "platt"
    shares: list[float]  # isotonic: the knots of a piecewise linear curve, rising; platt: slope and offset
    probabilities: list[float]  # isotonic: the curve at the knots; platt: nothing
    points: int  # held-out points that it was fitted to
    error: float  # expected calibration error: mean distance between probability and truth, over bins
    brier: float  # mean squared distance between probability and truth
    bins: list[dict[str, float]]  # of each bin: answers, mean probability, and the share of them that is right
    best_f1: dict[str, float]  # threshold, precision, recall, f1
    for_precision: dict[str, dict[str, float] | None]  # by wished precision: the same; None: out of reach

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        """Return the probabilities of labels with these vote shares; 0 where there is no vote."""
        scores = np.asarray(scores, np.float64)
        return np.where(scores > 0, apply_curve(self.kind, (self.shares, self.probabilities), scores), 0.0)

    def threshold(self, wish: str | float) -> float:
        """Return the probability from which labels are given: a number itself, or that of "f1" or "precision=0.8"."""
        if wish == "f1":
            return self.best_f1["threshold"]
        if isinstance(wish, str) and wish.startswith("precision="):
            return self._threshold_for(_read_precision(wish))
        if isinstance(wish, Real) and not isinstance(wish, bool) and 0 <= wish <= 1:
            return float(wish)
        raise _no_threshold(wish)

    def _threshold_for(self, precision: float) -> float:
        """Return, of the known thresholds that are precise enough, the one that finds most."""
        tried = [cut for cut in (*self.for_precision.values(), self.best_f1) if cut is not None]
        enough = [cut for cut in tried if cut["precision"] >= precision]
        if enough:
            return max(enough, key=lambda cut: cut["recall"])["threshold"]
        reached = ", ".join(wish for wish, cut in self.for_precision.items() if cut is not None) or "none"
        if any(cut is None and float(wish) <= precision for wish, cut in self.for_precision.items()):
            raise ParameterError(
                f"a precision of {precision:g} was not reached on what was held out; reached: {reached}"
            )
        raise ParameterError(
            f"the model keeps no threshold for a precision of {precision:g}, only for {reached}: "
            "give one of these, or a score"
        )

    def to_json(self) -> dict[str, Any]:
        """Return the calibration as JSON types."""
        return asdict(self)

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Calibration:
        """Return the calibration that `to_json` described; ValueError where it cannot be one."""
        calibration = cls(**document)
        check_curve(calibration.kind, (calibration.shares, calibration.probabilities))
        _check_numbers({name: getattr(calibration, name) for name in _FIGURE_FIELDS}, _FIGURE_FIELDS)
        _check_numbers(calibration.best_f1, _CUT_FIELDS)
        if not isinstance(calibration.bins, list) or not isinstance(calibration.for_precision, dict):
            raise ValueError("its bins or its precisions are missing")
        for each in calibration.bins:
            _check_numbers(each, _BIN_FIELDS)
        for wish, cut in calibration.for_precision.items():
            float(wish)
            if cut is not None:
                _check_numbers(cut, _CUT_FIELDS)
        return calibration


def check_kind(kind: str) -> None:
    """Raise ParameterError where no calibration is of this kind."""
    if kind != "auto" and kind not in KINDS:
        raise ParameterError(f"calibration must be one of {('auto', *KINDS)}, not {kind!r}")


def to_extras(calibration: Calibration | None) -> dict[str, Any]:
    """Return the calibration as a stored model keeps it."""
    return {} if calibration is None else {EXTRA_NAME: calibration.to_json()}


def from_extras(extras: dict[str, Any]) -> Calibration | None:
    """Return the calibration of a stored model; ModelError where it is damaged."""
    if extras.get(EXTRA_NAME) is None:
        return None
    try:
        return Calibration.from_json(extras[EXTRA_NAME])
    except (LookupError, TypeError, ValueError) as error:
        raise ModelError(f"the model's calibration cannot be read ({error}): train it again") from error


def calibrate_scores(calibration: Calibration | None, scores: np.ndarray) -> np.ndarray:
    """Return a model's scores as it tells them: as probabilities, or as they are where nothing calibrates them."""
    return scores if calibration is None else calibration(scores)


def calibrate_held_out(held_out: Any, Y: csr_matrix, kind: str = "auto") -> Calibration | None:
    """Return the calibration fitted to the answers that `fit(…, held_out=True)` kept, None where there are too few."""
    return None if held_out is None else calibrate(held_out.labels, held_out.scores, Y[held_out.points], kind)


def calibrate(labels: np.ndarray, scores: np.ndarray, Y: csr_matrix, kind: str = "auto") -> Calibration | None:
    """Return the calibration fitted to answers to held-out points, (m, k) each, and their true labels (m, L).

    None where there are too few answers to fit a curve to.
    """
    check_kind(kind)
    matches = match_labels(labels, Y)
    given = (labels >= 0) & (scores > 0)
    shares, right = scores[given], matches.hits[given]
    half = np.broadcast_to((np.arange(len(labels)) % 2)[:, None], labels.shape)[given]
    if len(shares) < MIN_ANSWERS or right.all() or not right.any() or half.all() or not half.any():
        return None
    if kind == "auto":
        kind = "isotonic" if len(shares) >= MIN_ISOTONIC_ANSWERS else "platt"
    honest = np.empty(len(shares))  # the probability of each answer by the other half's curve
    for one in (0, 1):
        curve = fit_curve(kind, shares[half != one], right[half != one])
        honest[half == one] = apply_curve(kind, curve, shares[half == one])
    reliability = measure_reliability(honest, right)
    cuts = threshold_cuts(honest, right, int(Y.nnz))
    return Calibration(
        kind,
        *fit_curve(kind, shares, right),
        points=len(labels),
        error=reliability["error"],
        brier=reliability["brier"],
        bins=reliability["bins"],
        best_f1=cuts.best,
        for_precision={f"{wish:g}": cuts.most_found(wish) for wish in PRECISIONS},
    )


def _check_numbers(part: Any, names: tuple[str, ...]) -> None:
    if not isinstance(part, dict) or any(type(part.get(name)) not in (int, float) for name in names):
        raise ValueError(f"not all of {', '.join(names)} are numbers")


def _read_precision(wish: str) -> float:
    """Return the number of "precision=0.8"."""
    try:
        precision = float(wish.partition("=")[2])
    except ValueError:
        raise _no_threshold(wish) from None
    if not 0 < precision <= 1:
        raise _no_threshold(wish)
    return precision


def _no_threshold(wish: object) -> ParameterError:
    return ParameterError(f"threshold must be a number from 0 to 1, 'f1' or 'precision=0.8', not {wish!r}")

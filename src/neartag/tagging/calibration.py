"""Scores that mean something: probabilities from vote shares, and thresholds for a wished precision or the best F1.

Some points are kept out of training, and what the model answers for them tells how often a label with a given share of
the votes is right. The curve through that never falls (isotonic regression), or, where there are few answers, is a
logistic function of the share's log-odds (Platt's way). How far it can be trusted is measured on points that the curve
was not drawn from: two halves, each judged by the other's curve.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from numbers import Real
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from neartag.core.errors import ParameterError
from neartag.evaluation.matches import match_labels

KINDS = ("isotonic", "platt")
FEWEST, ENOUGH = 100, 1000  # answers below which nothing is drawn, and from which on an isotonic curve is
MOST_KNOTS = 200
BINS = 10
PRECISIONS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
SMALLEST = 1e-6  # share: its log-odds must be a number
# The numbers that each part of a stored calibration has.
_FIGURES = ("points", "error", "brier")
_CUT = ("threshold", "precision", "recall", "f1")
_BIN = ("low", "high", "answers", "probability", "right")


@dataclass(frozen=True)
class Calibration:
    """A curve from vote share to probability, and what is known of it."""

    kind: str  # "isotonic" or "platt"
    shares: list[float]  # isotonic: the knots of a piecewise linear curve, rising; platt: slope and offset
    probabilities: list[float]  # isotonic: the curve at the knots; platt: nothing
    points: int  # held-out points that it was drawn from
    error: float  # expected calibration error: mean distance between probability and truth, over bins
    brier: float  # mean squared distance between probability and truth
    bins: list[dict[str, float]]  # of each bin: answers, mean probability, and the share of them that is right
    best_f1: dict[str, float]  # threshold, precision, recall, f1
    for_precision: dict[str, dict[str, float] | None]  # by wished precision: the same; None: out of reach

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        """Return the probabilities of labels with these vote shares; 0 where there is no vote."""
        scores = np.asarray(scores, np.float64)
        if self.kind == "isotonic":
            found = np.interp(scores, self.shares, self.probabilities)
        else:
            found = _logistic(self.shares[0] * _log_odds(scores) + self.shares[1])
        return np.where(scores > 0, found, 0.0)

    def threshold(self, wish: str | float) -> float:
        """Return the probability from which labels are given: a number itself, or that of "f1" or "precision=0.8"."""
        if isinstance(wish, Real) and not isinstance(wish, bool):
            if not 0 <= wish <= 1:
                raise ParameterError(f"threshold must be a number from 0 to 1, 'f1' or 'precision=0.8', not {wish!r}")
            return float(wish)
        if wish == "f1":
            return self.best_f1["threshold"]
        name, _, value = str(wish).partition("=")
        try:
            wanted = float(value)
        except ValueError:
            wanted = -1.0
        if name != "precision" or not 0 < wanted <= 1:
            raise ParameterError(f"threshold must be a number from 0 to 1, 'f1' or 'precision=0.8', not {wish!r}")
        # Of the thresholds that are known, the one that finds most of those that are precise enough.
        tried = [found for found in (*self.for_precision.values(), self.best_f1) if found is not None]
        enough = [found for found in tried if found["precision"] >= wanted]
        if enough:
            return max(enough, key=lambda found: found["recall"])["threshold"]
        reached = [each for each, found in self.for_precision.items() if found is not None]
        raise ParameterError(
            f"a precision of {wanted:g} was not reached on held-out points; reached were {', '.join(reached) or 'none'}"
        )

    def to_json(self) -> dict[str, Any]:
        """Return the calibration as JSON types."""
        return asdict(self)

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Calibration:
        """Return what `to_json` described; ValueError where it cannot be one."""
        made = cls(**document)
        knots = np.array([made.shares, made.probabilities] if made.kind == "isotonic" else [made.shares], float)
        fine = made.kind in KINDS and np.isfinite(knots).all() and knots.shape[1] >= 2
        if fine and made.kind == "isotonic":
            fine = (np.diff(knots[0]) >= 0).all() and ((knots[1] >= 0) & (knots[1] <= 1)).all()
        if not fine:
            raise ValueError("it is no curve")
        _check_numbers({"points": made.points, "error": made.error, "brier": made.brier}, _FIGURES)
        _check_numbers(made.best_f1, _CUT)
        if not isinstance(made.bins, list) or not isinstance(made.for_precision, dict):
            raise ValueError("its bins or its precisions are missing")
        for each in made.bins:
            _check_numbers(each, _BIN)
        for wish, cut in made.for_precision.items():
            float(wish)
            if cut is not None:
                _check_numbers(cut, _CUT)
        return made


def check_kind(kind: str) -> None:
    """Raise ParameterError where no calibration is of this kind."""
    if kind != "auto" and kind not in KINDS:
        raise ParameterError(f"calibration must be one of {('auto', *KINDS)}, not {kind!r}")


def of_held_out(answered: Any, Y: csr_matrix, kind: str | None) -> dict[str, Any]:
    """Return what is to be kept with a model: its calibration, drawn from the answers of `fit(…, held_out=True)`.

    Nothing where no calibration is wished, kind None, or none can be drawn.
    """
    if kind is None or answered is None:
        return {}
    drawn = calibrate(answered.labels, answered.scores, Y[answered.points], kind)
    return {} if drawn is None else {"calibration": drawn.to_json()}


def calibrate(labels: np.ndarray, scores: np.ndarray, Y: csr_matrix, kind: str = "auto") -> Calibration | None:
    """Return the calibration drawn from answers to held-out points, (m, k) each, and their true labels (m, L).

    None where there are too few answers to draw a curve from.
    """
    check_kind(kind)
    judged = match_labels(labels, Y)
    given = (labels >= 0) & (scores > 0)
    shares, right = scores[given], judged.hits[given]
    half = np.broadcast_to((np.arange(len(labels)) % 2)[:, None], labels.shape)[given]
    if len(shares) < FEWEST or right.all() or not right.any() or half.all() or not half.any():
        return None
    if kind == "auto":
        kind = "isotonic" if len(shares) >= ENOUGH else "platt"
    honest = np.empty(len(shares))
    for one in (0, 1):
        honest[half == one] = _apply(kind, _curve(kind, shares[half != one], right[half != one]), shares[half == one])
    bins = _bins(honest, right)
    error = sum(each["answers"] * abs(each["probability"] - each["right"]) for each in bins) / len(shares)
    cuts = _cuts(honest, right, int(Y.nnz))
    knots = _curve(kind, shares, right)
    return Calibration(
        kind,
        *knots,
        points=len(labels),
        error=float(error),
        brier=float(np.mean((honest - right) ** 2)),
        bins=bins,
        best_f1=max(cuts, key=lambda cut: cut["f1"]),
        for_precision={f"{wish:g}": _first(cuts, wish) for wish in PRECISIONS},
    )


def _curve(kind: str, shares: np.ndarray, right: np.ndarray) -> tuple[list[float], list[float]]:
    """Return the knots of a curve, or a slope and an offset."""
    if right.all() or not right.any():
        return ([0.0, 1.0], [float(right[0])] * 2) if kind == "isotonic" else ([0.0, 20.0 if right[0] else -20.0], [])
    if kind == "isotonic":
        from sklearn.isotonic import IsotonicRegression

        found = IsotonicRegression(y_min=0, y_max=1).fit(shares, right)
        x, y = found.X_thresholds_, found.y_thresholds_
        if len(x) == 1:  # all shares are the same
            return [0.0, 1.0], [float(y[0])] * 2
        if len(x) > MOST_KNOTS:
            kept = np.unique(np.linspace(0, len(x) - 1, MOST_KNOTS).astype(int))
            x, y = x[kept], y[kept]
        return x.tolist(), y.tolist()
    from sklearn.linear_model import LogisticRegression

    fitted = LogisticRegression(C=1e3).fit(_log_odds(shares)[:, None], right)
    slope = float(fitted.coef_[0, 0])
    if slope <= 0:  # shares tell nothing: each answer is as likely as all together
        return [0.0, float(np.log(right.mean() / (1 - right.mean())))], []
    return [slope, float(fitted.intercept_[0])], []


def _apply(kind: str, curve: tuple[list[float], list[float]], shares: np.ndarray) -> np.ndarray:
    if kind == "isotonic":
        return np.interp(shares, *curve)
    return _logistic(curve[0][0] * _log_odds(shares) + curve[0][1])


def _bins(probabilities: np.ndarray, right: np.ndarray) -> list[dict[str, float]]:
    """Return how probable answers were said to be and how many were right, by tenths of probability."""
    place = np.minimum((probabilities * BINS).astype(int), BINS - 1)
    return [
        {
            "low": number / BINS,
            "high": (number + 1) / BINS,
            "answers": int(inside.sum()),
            "probability": float(probabilities[inside].mean()),
            "right": float(right[inside].mean()),
        }
        for number in range(BINS)
        if (inside := place == number).any()
    ]


def _cuts(probabilities: np.ndarray, right: np.ndarray, relevant: int) -> list[dict[str, float]]:
    """Return what precision and recall each threshold gives, over all answers together, from the highest down."""
    order = np.argsort(-probabilities, kind="stable")
    sorted_probabilities, hits = probabilities[order], np.cumsum(right[order])
    last = np.flatnonzero(np.append(np.diff(sorted_probabilities) < 0, True))  # of equal ones all or none are given
    precision, recall = hits[last] / (last + 1), hits[last] / max(1, relevant)
    f1 = np.divide(2 * precision * recall, precision + recall, out=np.zeros(len(last)), where=precision + recall > 0)
    values = zip(sorted_probabilities[last], precision, recall, f1, strict=True)
    return [dict(zip(_CUT, map(float, each), strict=True)) for each in values]


def _first(cuts: list[dict[str, float]], wish: float) -> dict[str, float] | None:
    """Return the threshold that finds most with at least this precision."""
    enough = [cut for cut in cuts if cut["precision"] >= wish]
    return max(enough, key=lambda cut: cut["recall"]) if enough else None


def _check_numbers(part: Any, names: tuple[str, ...]) -> None:
    if not isinstance(part, dict) or any(type(part.get(name)) not in (int, float) for name in names):
        raise ValueError(f"not all of {', '.join(names)} are numbers")


def _log_odds(shares: np.ndarray) -> np.ndarray:
    inside = np.clip(shares, SMALLEST, 1 - SMALLEST)
    return np.log(inside / (1 - inside))


def _logistic(values: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-np.clip(values, -50, 50)))

"""Curves from the share of votes to the probability that a label is right: isotonic regression, or Platt scaling.

A curve is two lists. Isotonic: the knots' shares and probabilities, between which it is linear. Platt: slope and offset
of a logistic function of the share's log-odds, and an empty list.
"""

from __future__ import annotations

import numpy as np

Curve = tuple[list[float], list[float]]

KINDS = ("isotonic", "platt")
MAX_KNOTS = 200
MIN_SHARE = 1e-6  # the log-odds of a share must be a number
MAX_LOG_ODDS = 50.0  # beyond, exp leaves float64's range or changes nothing
CERTAIN_LOG_ODDS = 20.0  # of a curve that was fitted to answers all right or all wrong


def fit_curve(kind: str, shares: np.ndarray, right: np.ndarray) -> Curve:
    """Return the curve fitted to answers: their shares (m,), and whether they were right (m,)."""
    if right.all() or not right.any():
        return _constant_curve(kind, bool(right[0]))
    return _fit_isotonic(shares, right) if kind == "isotonic" else _fit_platt(shares, right)


def apply_curve(kind: str, curve: Curve, shares: np.ndarray) -> np.ndarray:
    """Return the probabilities of shares."""
    if kind == "isotonic":
        return np.interp(shares, *curve)
    slope, offset = curve[0][:2]
    return _logistic(slope * _log_odds(shares) + offset)


def check_curve(kind: str, curve: Curve) -> None:
    """Raise ValueError where two lists, as somebody stored them, are no curve."""
    knots = np.array(curve if kind == "isotonic" else curve[:1], float)
    fine = kind in KINDS and np.isfinite(knots).all() and knots.shape[1] >= 2
    if fine and kind == "isotonic":
        fine = (np.diff(knots[0]) >= 0).all() and ((knots[1] >= 0) & (knots[1] <= 1)).all()
    if not fine:
        raise ValueError("it is no curve")


def _constant_curve(kind: str, right: bool) -> Curve:
    if kind == "isotonic":
        return [0.0, 1.0], [float(right)] * 2
    return [0.0, CERTAIN_LOG_ODDS if right else -CERTAIN_LOG_ODDS], []


def _fit_isotonic(shares: np.ndarray, right: np.ndarray) -> Curve:
    from sklearn.isotonic import IsotonicRegression

    fitted = IsotonicRegression(y_min=0, y_max=1).fit(shares, right)
    x, y = fitted.X_thresholds_, fitted.y_thresholds_
    if len(x) == 1:  # all shares are the same
        return [0.0, 1.0], [float(y[0])] * 2
    if len(x) > MAX_KNOTS:
        kept = np.unique(np.linspace(0, len(x) - 1, MAX_KNOTS).astype(int))
        x, y = x[kept], y[kept]
    return x.tolist(), y.tolist()


def _fit_platt(shares: np.ndarray, right: np.ndarray) -> Curve:
    from sklearn.linear_model import LogisticRegression

    fitted = LogisticRegression(C=1e3).fit(_log_odds(shares)[:, None], right)
    slope = float(fitted.coef_[0, 0])
    if slope <= 0:  # shares tell nothing: each answer is as likely to be right as all of them together
        return [0.0, float(np.log(right.mean() / (1 - right.mean())))], []
    return [slope, float(fitted.intercept_[0])], []


def _log_odds(shares: np.ndarray) -> np.ndarray:
    inside = np.clip(shares, MIN_SHARE, 1 - MIN_SHARE)
    return np.log(inside / (1 - inside))


def _logistic(values: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-np.clip(values, -MAX_LOG_ODDS, MAX_LOG_ODDS)))

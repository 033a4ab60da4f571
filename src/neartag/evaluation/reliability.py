"""Reliability: whether answers with a score of 0.7 are right in 70 of 100 cases, by tenths of the score."""

from __future__ import annotations

from typing import Any

import numpy as np

N_BINS = 10


def measure_reliability(probabilities: np.ndarray, right: np.ndarray) -> dict[str, Any]:
    """Return how far answers' probabilities (m,) are from how often they were right (m,).

    "error" is the expected calibration error: the mean distance between both, over bins. "brier" is the mean squared
    distance between probability and truth. "bins" has those tenths of probability in which there are answers.
    """
    bins = reliability_bins(probabilities, right)
    distance = sum(each["answers"] * abs(each["probability"] - each["right"]) for each in bins)
    return {
        "answers": len(probabilities),
        "error": float(distance / max(1, len(probabilities))),
        "brier": float(np.mean((probabilities - right) ** 2)) if len(probabilities) else 0.0,
        "bins": bins,
    }


def reliability_bins(probabilities: np.ndarray, right: np.ndarray) -> list[dict[str, float]]:
    """Return how probable answers were said to be and how many were right, by tenths of probability."""
    place = np.clip((probabilities * N_BINS).astype(int), 0, N_BINS - 1)
    return [
        {
            "low": number / N_BINS,
            "high": (number + 1) / N_BINS,
            "answers": int(inside.sum()),
            "probability": float(probabilities[inside].mean()),
            "right": float(right[inside].mean()),
        }
        for number in range(N_BINS)
        if (inside := place == number).any()
    ]

"""How long a search may take, and how long its next training will, told from those that are done."""

from __future__ import annotations

import time
from collections.abc import Callable

# Training time grows with so much power of the points; a prediction of it is multiplied by the margin. A small margin
# lets a search end late, a large one leaves time unused. Both are guesses.
GROWTH, MARGIN = 1.1, 1.2


class TimeBudget:
    """Seconds from now on, and the durations of trials; without a limit every trial fits.

    Parameters
    ----------
    seconds : float or None
        None: no limit.
    clock : callable
        Returns seconds.
    """

    def __init__(self, seconds: float | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._begun, self.limit = clock, clock(), seconds
        self._durations: dict[str, tuple[int, float]] = {}  # by candidate: points of the last trial, and its seconds

    @property
    def used(self) -> float:
        """Seconds since the start."""
        return self._clock() - self._begun

    @property
    def left(self) -> float:
        """Seconds that are left; infinite without a limit."""
        return float("inf") if self.limit is None else self.limit - self.used

    def note(self, candidate: str, points: int, seconds: float) -> None:
        """Take down how long a candidate took on so many points."""
        self._durations[candidate] = points, seconds

    def predict(self, candidate: str, points: int) -> float:
        """Return how many seconds a candidate will take on so many points.

        One that was never trained will take as long as the slowest that was; 0 before any was trained.
        """
        known = self._durations.get(candidate)
        measured = [known] if known else list(self._durations.values())
        return max((MARGIN * seconds * growth(before, points) for before, seconds in measured), default=0.0)


def growth(before: int, points: int) -> float:
    """Return how many times longer training on these points takes; a fixed part makes fewer points no cheaper."""
    return max(1.0, (points / before) ** GROWTH)

"""How a search for settings goes: one value that `tune`, `tune_texts` and `neartag tune` share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neartag.core.errors import ParameterError
from neartag.core.method import Settings
from neartag.methods.halving import MIN_ROUND_POINTS


@dataclass(frozen=True)
class SearchOptions:
    """What a search is given beside the points and the method; `tune` says what each of these is.

    ParameterError where `minutes` is no time that a search may take.
    """

    fixed: Mapping[str, Any] | None = None
    tried: Mapping[str, Sequence[Any]] | None = None
    random_state: int = 0
    n_jobs: int | None = -1
    max_memory: int | str | None = None
    minutes: float | None = None
    resume: Path | str | None = None
    min_round_points: int = MIN_ROUND_POINTS

    def __post_init__(self) -> None:
        if self.minutes is not None and not 0 < self.minutes < float("inf"):
            raise ParameterError(f"minutes must be above 0, not {self.minutes!r}")

    @property
    def seconds(self) -> float | None:
        """How long the search may take; None: as long as it takes."""
        return None if self.minutes is None else 60 * self.minutes

    @property
    def shared_settings(self) -> Settings:
        """The settings that every training has, beside those that are fixed."""
        return {"random_state": self.random_state, "n_jobs": self.n_jobs, "max_memory": self.max_memory}

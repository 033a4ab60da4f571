"""What was chosen for X1's votes alone: the benchmarks of votes have these settings, and `refine=False` beside them."""

from __future__ import annotations

from typing import Any

from neartag.methods import presets
from neartag.x1.presets import VOTE_PRESETS


def vote_preset(data: str) -> dict[str, Any]:
    """Return what was chosen for X1's votes alone on a data set; nothing where nothing was."""
    return dict(VOTE_PRESETS.get(presets.preset_name(data), {}))

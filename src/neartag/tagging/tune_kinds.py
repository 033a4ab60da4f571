"""The kinds of features of texts that a search for settings tries, by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from neartag.core.errors import ParameterError
from neartag.encoders.feature_kinds import ALL, AUTO, CHARACTERS, PAIRS, WORDS

# This module must stay light: the command line checks names with it before anything is read.
# What is tried, by name: a kind of features, and what differs from it. "auto" is the default of training.
TRIED: dict[str, dict[str, Any]] = {
    AUTO: {"kind": AUTO},
    CHARACTERS: {"kind": CHARACTERS},
    ALL: {"kind": ALL},
    WORDS: {"kind": WORDS},
    PAIRS: {"kind": PAIRS},
    "words-2": {"kind": WORDS, "min_df": 2},
    "characters-3-5": {"kind": CHARACTERS, "char_ngrams": [3, 5]},
}


def check_feature_kinds(names: Sequence[str]) -> None:
    """Raise ParameterError where a name is none of those that can be tried."""
    for name in names:
        if name not in TRIED:
            raise ParameterError(f"features={name!r:.60}: must be one of {', '.join(TRIED)}")

"""What the parameters of TfidfFeatures may be."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from neartag.core.errors import ParameterError
from neartag.encoders.languages import language_code
from neartag.encoders.term_counts import MAX_COLUMNS

INTEGER_TYPES = (int, np.integer)


def check_parameters(features: Any) -> None:
    """Raise ParameterError, with its name and value, for the first parameter that cannot be used."""
    for name in ("word_pairs", "sublinear"):
        if not isinstance(getattr(features, name), (bool, np.bool_)):
            raise ParameterError(f"{name}={getattr(features, name)!r}: must be True or False")
    for name in ("min_df", "max_df"):
        limit = getattr(features, name)
        share = isinstance(limit, (float, np.floating)) and 0 <= limit <= 1
        if not (share or (_is_whole(limit) and limit >= 1)):
            raise ParameterError(f"{name}={limit!r}: must be a whole number from 1 or a float from 0 to 1")
    stop_words = () if features.stop_words is None else features.stop_words
    if not isinstance(stop_words, (list, tuple, set, frozenset)) or not all_words(stop_words):
        raise ParameterError(f"stop_words={stop_words!r:.60}: must be a list or set of words, or None")
    bounds = (1, 1) if features.char_ngrams is None else features.char_ngrams
    pair = isinstance(bounds, (list, tuple)) and len(bounds) == 2 and all(isinstance(b, INTEGER_TYPES) for b in bounds)
    if not pair or not 1 <= bounds[0] <= bounds[1]:
        raise ParameterError(f"char_ngrams={bounds!r}: must be (shortest, longest) with 1 <= shortest <= longest")
    hashing = features.hashing
    if hashing is not None and not (_is_whole(hashing) and 1 <= hashing <= MAX_COLUMNS):
        raise ParameterError(f"hashing={hashing!r}: must be a whole number from 1 to {MAX_COLUMNS}, or None")
    if features.language is not None:
        language_code(features.language)


def all_words(items: Iterable[object]) -> bool:
    """Return whether every item is a string."""
    return all(issubclass(kind, str) for kind in set(map(type, items)))  # a vocabulary has a hundred thousand items


def as_python_number(number: int | float) -> int | float:
    """Return a Python number for a numpy one: JSON can hold it."""
    return int(number) if isinstance(number, INTEGER_TYPES) else float(number)


def as_count(limit: int | float, n_texts: int) -> float:
    """Return how many texts `min_df` or `max_df` means: a float is a share of them."""
    return limit if isinstance(limit, INTEGER_TYPES) else limit * n_texts


def _is_whole(number: object) -> bool:
    return isinstance(number, INTEGER_TYPES) and not isinstance(number, bool)

"""What makes rows of documents, as the options of `train` say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from neartag.core.errors import DataError, ParameterError


def read_features(
    word_pairs: bool,
    char_ngrams: str | None,
    min_df: str,
    max_df: str,
    hashing: int | None,
    stop_words: str | None,
    *,
    vectors: bool,
) -> Any:
    """Return unfitted features; ParameterError names the option that cannot be used."""
    if vectors:
        from neartag.encoders.vectors import VectorFeatures

        return VectorFeatures()
    from neartag.encoders.tfidf import TfidfFeatures

    return TfidfFeatures(
        word_pairs=word_pairs,
        min_df=_frequency("--min-df", min_df),
        max_df=_frequency("--max-df", max_df),
        stop_words=None if stop_words is None else _words(stop_words),
        char_ngrams=None if char_ngrams is None else _bounds(char_ngrams),
        hashing=hashing,
    )


def _frequency(option: str, text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise ParameterError(f"{option} must be a whole number of texts, or a share from 0.0 to 1.0, not {text!r}")
    return share


def _bounds(text: str) -> tuple[int, int]:
    low, _, high = text.partition("-")
    if not (low.isdecimal() and (high or low).isdecimal()):
        raise ParameterError(f"--char-ngrams must be two lengths such as 3-5, not {text!r}")
    return int(low), int(high or low)


def _words(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8").split()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"--stop-words {path} cannot be read: {error}") from error

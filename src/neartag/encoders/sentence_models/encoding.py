"""Many texts to vectors: what is kept is not encoded again, progress is told, and a budget of time is held."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from neartag.core.errors import DataError, NeartagError
from neartag.core.progress import Progress
from neartag.encoders.sentence_models.base import STATIC, SentenceModel, first_line
from neartag.encoders.sentence_models.vector_cache import VectorCache

# Texts are encoded, checked and kept in chunks. They grow until one takes long enough for a word of progress.
FIRST_CHUNK, MAX_CHUNK, SHORT_CHUNK = 32, 4096, 0.5  # texts, and seconds
MIN_SHARE_OF_BUDGET = 0.02  # of the budget, after which the rest of the time can be told


class EncodingBudgetError(NeartagError):
    """Encoding would take longer than it may."""


def encode_texts(
    model: SentenceModel,
    texts: Sequence[str],
    *,
    cache: VectorCache | None = None,
    progress: Progress | None = None,
    minutes: float | None = None,
) -> np.ndarray:
    """Return the vectors of texts (n, dim), as the model gives them, checked.

    Parameters
    ----------
    model : sentence model
    texts : sequence of str
    cache : VectorCache, optional
        Where vectors are looked up first, and kept.
    progress : Progress, optional
        What is told how many texts are done, and about how long the rest takes.
    minutes : float, optional
        EncodingBudgetError as soon as it is clear that it will take longer.
    """
    identity = model.identity
    vectors = np.empty((len(texts), identity.dim), np.float32)
    begun, encoded, start, size = time.monotonic(), 0, 0, FIRST_CHUNK
    with (progress or Progress()).start(len(texts), f"encoding texts with {identity.name}") as shown:
        while start < len(texts):
            some = [texts[place] for place in range(start, min(start + size, len(texts)))]
            now = time.monotonic()
            vectors[start : start + len(some)], new = _encode_chunk(model, some, start, len(texts), cache)
            encoded, start = encoded + new, start + len(some)
            size = min(2 * size, MAX_CHUNK) if time.monotonic() - now < SHORT_CHUNK else size
            taken, rest = time.monotonic() - begun, len(texts) - start
            left = taken / encoded * rest if encoded else 0.0  # as if nothing of the rest were kept
            shown.advance(len(some), f"about {_in_words(left)} left")
            if minutes is not None and rest and _is_too_long(taken, left, 60 * minutes):
                raise EncodingBudgetError(
                    f"encoding {len(texts):,} texts with {identity.name} would take about {_in_words(taken + left)}, "
                    f"and may take {minutes:g} min"
                )
    return vectors


def _encode_chunk(
    model: SentenceModel, texts: list[str], done: int, total: int, cache: VectorCache | None
) -> tuple[np.ndarray, int]:
    """Return the vectors of some texts (m, dim), and how many of them had to be encoded."""
    _check_texts(texts)
    key, dim = model.identity.digest, model.identity.dim
    cache = None if model.identity.format == STATIC else cache  # to encode them again is as fast
    kept = {} if cache is None else cache.get(key, texts, dim)
    missing = [place for place in range(len(texts)) if place not in kept]
    vectors = np.empty((len(texts), dim), np.float32)
    for place, vector in kept.items():
        vectors[place] = vector
    if missing:
        new = [texts[place] for place in missing]
        vectors[missing] = _encode(model, new, done, total, cache is not None)
        if cache is not None:
            cache.put(key, new, vectors[missing])
    return vectors, len(missing)


def _encode(model: SentenceModel, texts: list[str], done: int, total: int, kept: bool) -> np.ndarray:
    """Return checked vectors (n, dim) of some texts; an error tells how many texts were done before."""
    name = model.identity.name
    try:
        found = np.asarray(model.encode(texts))
    except NeartagError:
        raise
    except Exception as error:  # anything can go wrong in another package's code
        rest = "; what was encoded is kept: run it again to go on from there" if kept and done else ""
        raise NeartagError(
            f"the sentence encoder {name} failed after {done:,} of {total:,} texts ({first_line(error)}){rest}"
        ) from error
    if found.dtype.kind not in "fiu" or found.shape != (len(texts), model.identity.dim):
        raise DataError(
            f"the sentence encoder {name} gave {found.dtype} of shape {found.shape} for {len(texts)} texts: must be "
            f"numbers of shape ({len(texts)}, {model.identity.dim})"
        )
    with np.errstate(over="ignore"):
        found = found.astype(np.float32, copy=False)
    if not np.isfinite(found).all():
        place = int(np.flatnonzero(~np.isfinite(found).all(axis=1))[0])
        raise DataError(
            f"the sentence encoder {name} gave a vector that is not finite for the text {texts[place]!r:.60}"
        )
    return found


def _check_texts(texts: Sequence[object]) -> None:
    for text in texts:
        if not isinstance(text, str):
            raise DataError(f"{text!r:.60} is no text: sentence encoders take strings")


def _is_too_long(taken: float, left: float, allowed: float) -> bool:
    return taken > allowed or (taken > MIN_SHARE_OF_BUDGET * allowed and taken + left > allowed)


def _in_words(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"

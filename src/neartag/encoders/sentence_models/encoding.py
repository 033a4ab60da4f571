"""Many texts to vectors: what is kept is not encoded again, progress is told, and a budget of time is held."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from neartag.core.errors import DataError, NeartagError
from neartag.core.progress import Progress
from neartag.encoders.sentence_models.base import STATIC, Identity, SentenceModel, first_line
from neartag.encoders.sentence_models.vector_cache import VectorCache
from neartag.linalg.coded_rows import CodedRows, Vectors
from neartag.linalg.rows import normalise

# Texts are encoded, checked and kept in chunks, which grow until one takes long enough for a word of progress. A model
# puts texts of about the same length together: of a chunk of 32 titles and abstracts, most were padded to the longest,
# and in chunks of 512 and more a second of CPU encoded six times as many.
FIRST_CHUNK, MAX_CHUNK, SHORT_CHUNK = 64, 4096, 5.0  # texts, and seconds
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
    coded: bool = False,
) -> Vectors:
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
    coded : bool, default False
        Return CodedRows of unit length, in a quarter of the memory: no more than a chunk of texts is ever float32.
    """
    identity = model.identity
    shape = len(texts), identity.dim
    vectors: Vectors = CodedRows.empty(*shape) if coded else np.empty(shape, np.float32)
    cache = None if identity.format == STATIC else cache  # to encode them again is as fast
    begun, size = time.monotonic(), FIRST_CHUNK
    with (progress or Progress()).start(len(texts), f"encoding texts with {identity.name}") as shown:
        missing = _fill_kept(vectors, texts, identity, cache)
        shown.advance(len(texts) - len(missing))
        encoded = 0
        while encoded < len(missing):
            places, now = missing[encoded : encoded + size], time.monotonic()
            some = [texts[place] for place in places]
            done = len(texts) - len(missing) + encoded
            found = _encode(model, some, done, len(texts), cache is not None)
            _write(vectors, places, found)
            if cache is not None:
                cache.put(identity.digest, some, found)
            encoded += len(places)
            size = min(2 * size, MAX_CHUNK) if time.monotonic() - now < SHORT_CHUNK else size
            taken, rest = time.monotonic() - begun, len(missing) - encoded
            left = taken / encoded * rest
            shown.advance(len(places), f"about {_in_words(left)} left")
            if minutes is not None and rest and _is_too_long(taken, left, 60 * minutes):
                raise EncodingBudgetError(
                    f"encoding {len(missing):,} texts with {identity.name} would take about {_in_words(taken + left)}, "
                    f"and may take {minutes:g} min"
                )
    return vectors


def _write(vectors: Vectors, places: list[int], found: np.ndarray) -> None:
    """Write vectors (m, dim) of some texts in their places."""
    if isinstance(vectors, CodedRows):
        vectors.write(np.array(places), normalise(found))
    else:
        vectors[places] = found


def _fill_kept(vectors: Vectors, texts: Sequence[str], identity: Identity, cache: VectorCache | None) -> list[int]:
    """Write the vectors that are kept into `vectors` (n, dim), and return the places of the other texts."""
    missing: list[int] = []
    for start in range(0, len(texts), MAX_CHUNK):
        some = [texts[place] for place in range(start, min(start + MAX_CHUNK, len(texts)))]
        _check_texts(some)
        kept = {} if cache is None else cache.get(identity.digest, some, identity.dim)
        if kept:
            _write(vectors, [start + place for place in kept], np.array(list(kept.values()), np.float32))
        missing += [start + place for place in range(len(some)) if place not in kept]
    return missing


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

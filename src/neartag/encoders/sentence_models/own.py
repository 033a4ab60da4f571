"""A user's own object with `encode(list of texts) -> array`, of sentence-transformers, model2vec or anything else."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from neartag.core.errors import DataError, NeartagError, ParameterError
from neartag.encoders.sentence_models.base import MAX_DIM, OBJECT, Identity, first_line

# An object's weights are out of sight. It is known by its vector of this text.
PROBE = "A small text in English, pieni teksti suomeksi, ein kleiner Text auf Deutsch."
MIN_COSINE = 0.999  # of two vectors of the probe by the same model, on whatever computer


class OwnModel:
    """A sentence model of the user's.

    Parameters
    ----------
    inner : object with `encode`
        `encode(list of texts)` returns an array (n, dim), or what numpy makes one of.
    """

    def __init__(self, inner: Any) -> None:
        if not callable(getattr(inner, "encode", None)):
            raise ParameterError(f"{inner!r:.60} is no sentence encoder: it has no encode(list of texts)")
        self.inner = inner
        try:
            found = np.asarray(inner.encode([PROBE]))
        except Exception as error:  # anything can go wrong in another package's code
            raise NeartagError(f"the sentence encoder {_name(inner)} failed ({first_line(error)})") from error
        if found.dtype.kind not in "fiu" or found.ndim != 2 or len(found) != 1 or not 1 <= found.shape[1] <= MAX_DIM:
            raise DataError(f"the sentence encoder {_name(inner)} gave {found.dtype} of shape {found.shape} for 1 text")
        self.probe = found[0].astype(np.float32)  # (dim,)
        # Rounded: the last bits differ from computer to computer.
        digest = hashlib.sha256(np.round(self.probe / max(1e-12, float(np.abs(self.probe).max())), 2).tobytes())
        self.identity = Identity(_name(inner), OBJECT, len(self.probe), "its own", digest.hexdigest())

    def encode(self, texts: list[str]) -> Any:
        """Return what the object returns."""
        return self.inner.encode(texts)

    def is_like(self, probe: np.ndarray) -> bool:
        """Return whether the probe's vector is this one, but for rounding."""
        if probe.shape != self.probe.shape:
            return False
        lengths = float(np.linalg.norm(probe) * np.linalg.norm(self.probe))
        return float(probe @ self.probe) >= MIN_COSINE * lengths


def _name(inner: Any) -> str:
    return type(inner).__name__

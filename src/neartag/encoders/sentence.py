"""Texts to vectors of their meaning, by a sentence encoder: float32 rows of length 1."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import numpy as np

from neartag.core.errors import ModelError, NeartagError, ParameterError
from neartag.core.progress import Progress
from neartag.encoders.sentence_models.base import Identity
from neartag.encoders.sentence_models.encoding import encode_texts
from neartag.encoders.sentence_models.source import Source, find_source
from neartag.encoders.sentence_models.vector_cache import VectorCache, default_cache
from neartag.linalg.coded_rows import CodedRows, Vectors, float_blocks, float_rows
from neartag.linalg.rows import normalise

__all__ = ["ENCODER", "SentenceFeatures"]


class SentenceFeatures:
    """Encoder of texts: vectors of a sentence encoder, each of length 1. Texts of like meaning have vectors alike.

    Parameters
    ----------
    encoder : str, path, object, or a list of these
        A folder with model.onnx and tokenizer.json (extra `onnx`), or with static vectors of model2vec (extra
        `static`); "wordllama", the package; a name of Hugging Face's hub (extra `hub`); or any object with
        `encode(list of texts) -> array (n, dim)`. Of several, the vectors stand side by side.
    cache : VectorCache, optional
        Keeps the vectors of texts, so that training again is fast.
    bundle : bool, default False
        Copy the weights into the model folder, which then needs nothing else. An object's cannot be copied.

    Attributes
    ----------
    identities_ : list of Identity
        Which encoders they are: name, version, dimension, pooling and the digest of their weights.

    Examples
    --------
    >>> import numpy as np
    >>> from neartag.encoders.sentence import SentenceFeatures
    >>> class Lengths:
    ...     def encode(self, texts):
    ...         return np.array([[len(text), 1.0] for text in texts])
    >>> SentenceFeatures(Lengths()).fit_transform(["", "abc"]).round(2)
    array([[0.  , 1.  ],
           [0.95, 0.32]], dtype=float32)
    """

    kind: ClassVar[str] = "sentence"
    accepts: ClassVar[str] = "text"

    def __init__(self, encoder: Any, *, cache: VectorCache | None = None, bundle: bool = False) -> None:
        self.encoder = encoder
        self.cache = cache
        self.bundle = bundle

    @property
    def n_features(self) -> int:
        """Number of columns of a row."""
        return sum(identity.dim for identity in self.identities_)

    @property
    def identities_(self) -> list[Identity]:
        """Which encoders make the vectors."""
        return [source.identity for source in self._fitted_sources()]

    def open(self) -> SentenceFeatures:
        """Find the encoder and open it, and return self; ModelError, in one line, where that cannot be done."""
        given = self.encoder if isinstance(self.encoder, (list, tuple)) else [self.encoder]
        if not given or not isinstance(self.bundle, (bool, np.bool_)):
            raise ParameterError(
                f"encoder={self.encoder!r:.60}, bundle={self.bundle!r}: name an encoder, and True or False"
            )
        self._sources = [find_source(each) for each in given]
        return self

    def attach(self, encoder: Any) -> None:
        """Encode with this object from now on: one that was loaded has lost the object that it was trained with."""
        if len(self._fitted_sources()) != 1:
            raise ParameterError("this model has several sentence encoders: they cannot be given again")
        self._sources = [self._sources[0].attach(encoder)]

    def fit(self, texts: Iterable[str]) -> SentenceFeatures:
        """Open the encoder, and return self; nothing is learned from the texts."""
        return self.open()

    def fit_transform(
        self, texts: Iterable[str], *, progress: Progress | None = None, minutes: float | None = None
    ) -> np.ndarray:
        """Open the encoder, and return the rows of texts as `transform` does."""
        return self.open().transform(texts, progress=progress, minutes=minutes)

    def fit_transform_coded(
        self, texts: Sequence[str], *, progress: Progress | None = None, minutes: float | None = None
    ) -> CodedRows:
        """Return the same rows, coded: in a quarter of the memory, as training holds vectors beside words."""
        return self.open()._encode(texts, True, progress, minutes)

    def transform(
        self, texts: Iterable[str], *, progress: Progress | None = None, minutes: float | None = None
    ) -> np.ndarray:
        """Return the rows of texts.

        Parameters
        ----------
        texts : iterable of str
        progress : Progress, optional
            What is told how far it is.
        minutes : float, optional
            EncodingBudgetError as soon as it is clear that encoding will take longer.

        Returns
        -------
        ndarray of float32, (n, n_features)
            Each of length 1; zeros for a text that the encoder knows nothing of.
        """
        if isinstance(texts, str):
            raise ParameterError("texts is a single string: give a list of texts")
        read: Sequence[str] = texts if isinstance(texts, Sequence) else list(texts)
        return self._encode(read, False, progress, minutes)

    def _encode(self, texts: Sequence[str], coded: bool, progress: Progress | None, minutes: float | None) -> Any:
        """Return the unit rows of texts, as CodedRows or as an array."""
        work: dict[str, Any] = {"cache": self.cache, "progress": progress, "minutes": minutes, "coded": coded}
        sources = self._fitted_sources()
        parts = [normalise(encode_texts(source.open(), texts, **work), in_place=True) for source in sources]
        return parts[0] if len(parts) == 1 else _side_by_side(parts)

    def forget_texts(self, texts: Iterable[str]) -> None:
        """Remove the kept vectors of texts: those of this encoder's cache, and of the user's own."""
        gone = list(texts)
        own = default_cache()
        for cache in (self.cache, own):
            if cache is not None and (cache is not own or self.cache is None or self.cache.path != own.path):
                cache.forget(gone)

    def to_state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return what `from_state` needs: settings that JSON can hold, and arrays by name."""
        states, arrays = [], {}
        for number, source in enumerate(self._fitted_sources()):
            state, own = source.to_state(bool(self.bundle), f"{number}.")
            states.append(state)
            arrays.update(own)
        return {"encoders": states, "bundle": bool(self.bundle)}, arrays

    @classmethod
    def from_state(cls, settings: dict[str, Any], arrays: dict[str, np.ndarray]) -> SentenceFeatures:
        """Return the fitted features of a state that `to_state` returned; ModelError where it cannot be one."""
        try:
            states, bundle = settings["encoders"], settings["bundle"]
            if not isinstance(states, list) or not states or not isinstance(bundle, bool):
                raise ValueError("there is no list of encoders")
            sources = [Source.from_state(state, arrays, f"{number}.") for number, state in enumerate(states)]
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ModelError(f"the sentence encoder's state cannot be read: {error!r}") from error
        features = cls([source.reference for source in sources], bundle=bundle)
        features._sources = sources
        return features

    def _fitted_sources(self) -> list[Source]:
        if not hasattr(self, "_sources"):
            raise NeartagError("these SentenceFeatures have not opened their encoder yet: call fit(texts) first")
        return self._sources


def _side_by_side(parts: list[Vectors]) -> Vectors:
    """Return the vectors of several encoders as one row each (n, all dimensions), of unit length; coded if they are."""
    if not isinstance(parts[0], CodedRows):
        return normalise(np.hstack([float_rows(part) for part in parts]), in_place=True)
    coded = CodedRows.empty(len(parts[0]), sum(part.shape[1] for part in parts))
    for block, first in float_blocks(parts[0]):
        coded.write(block, normalise(np.hstack([first, *(float_rows(part, block) for part in parts[1:])])))
    return coded


ENCODER = SentenceFeatures

"""Where a sentence model comes from: a path or name, files inside the model folder, or an object of the user's.

A model folder keeps the identity. Whatever is opened later must have the same digest.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from neartag.core.errors import ModelError
from neartag.encoders.sentence_models.base import OBJECT, Identity, ModelParts, SentenceModel
from neartag.encoders.sentence_models.loading import PLACES, WORDLLAMA, open_parts, places_now, read_parts
from neartag.encoders.sentence_models.own import OwnModel

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Source:
    """One sentence model, and how it is found.

    Attributes
    ----------
    identity : Identity
        Which model it is.
    reference : str or None
        Its path or name; None for an object of the user's.
    parts : ModelParts or None
        Its files, where the model folder holds them.
    own : OwnModel or None
        The user's object, where it was given.
    probe : ndarray or None
        By what such an object is known, (dim,).
    found : ModelParts or None
        Its files outside of the model folder, once they were found and compared with the identity.
    """

    identity: Identity
    reference: str | None = None
    parts: ModelParts | None = None
    own: OwnModel | None = None
    probe: np.ndarray | None = None
    found: ModelParts | None = None

    def open(self) -> SentenceModel:
        """Return the model, ready to encode; ModelError where it is not here, or is another one."""
        if self.own is not None:
            return self.own
        if self.identity.format == OBJECT:
            raise ModelError(
                f"texts of this model are encoded by {self.identity.describe()}, an object of your own program: "
                "TextTagger.load(folder, encoder=…)"
            )
        return open_parts(self.parts or self.found or self.find_parts())

    def find_parts(self) -> ModelParts:
        """Return the files that have the right digest; ModelError where there are none."""
        problem = ModelError("nothing says where it is")
        places = [*places_now(), *([] if self.reference is None else [self.reference])]
        for place in places:
            try:
                parts = read_parts(place)
            except ModelError as error:
                problem = error
                continue
            if parts.digest == self.identity.digest:
                return parts
            problem = ModelError(f"{place} has other weights, tokenizer or settings (digest {parts.digest[:12]}…)")
        raise ModelError(
            f"this model needs the sentence encoder {self.identity.name}, digest {self.identity.digest[:12]}…, and "
            f"{problem}; set {PLACES} to the folder of the right one"
        )

    def check_weights(self) -> Source:
        """Return the source; ModelError where the files are here and are others. Nothing is downloaded to find out."""
        if self.parts is not None:
            if self.parts.digest != self.identity.digest:
                raise ModelError(
                    f"the sentence encoder {self.identity.name} in the model folder is not the one it names"
                )
        elif self.reference is not None and (self.reference == WORDLLAMA or Path(self.reference).exists()):
            return replace(self, found=self.find_parts())
        return self

    def attach(self, inner: Any) -> Source:
        """Return the source with the user's object, which must be the one that the model was trained with."""
        own = OwnModel(inner)
        if own.identity.dim != self.identity.dim:
            raise ModelError(
                f"the encoder's vectors have {own.identity.dim} numbers: this model needs {self.identity.dim}"
            )
        if self.probe is not None and not own.is_like(self.probe):
            raise ModelError(f"the encoder {own.identity.name} gives other vectors than the one that this model needs")
        return replace(self, own=own)

    def to_state(self, bundle: bool, prefix: str) -> tuple[dict[str, Any], Arrays]:
        """Return what `from_state` needs; with `bundle` also the files."""
        state: dict[str, Any] = {"identity": self.identity.to_json(), "reference": self.reference}
        if self.identity.format == OBJECT:
            return state, {} if self.probe is None else {f"{prefix}probe": self.probe}
        parts = self.parts
        if parts is None and bundle:
            parts = self.find_parts()
        if parts is None:
            return state, {}
        state["settings"] = parts.settings
        return state, {f"{prefix}weights": parts.weights, f"{prefix}tokenizer": parts.tokenizer}

    @classmethod
    def from_state(cls, state: dict[str, Any], arrays: Arrays, prefix: str) -> Source:
        """Return the source of a state; ModelError, KeyError, TypeError or ValueError where it cannot be one."""
        identity, reference = Identity.from_json(state["identity"]), state["reference"]
        if reference is not None and not isinstance(reference, str):
            raise ValueError("the place of the sentence encoder is no text")
        if f"{prefix}weights" in arrays:
            weights, tokenizer = (_bytes(arrays[f"{prefix}{part}"]) for part in ("weights", "tokenizer"))
            own, name, version = state["settings"], identity.name, identity.version
            parts = ModelParts(identity.format, name, weights, tokenizer, own, version, "the model folder")
            source = cls(identity, reference, parts)
        else:
            source = cls(identity, reference, probe=arrays.get(f"{prefix}probe"))
        return source.check_weights()


def find_source(given: Any) -> Source:
    """Return the source of a path, of a name, or of an object with `encode`; the model is opened."""
    if not isinstance(given, (str, os.PathLike)):
        own = OwnModel(given)
        return Source(own.identity, own=own, probe=own.probe)
    parts = read_parts(given)
    path = Path(given).expanduser()
    reference = str(path.resolve()) if path.exists() else str(given)  # later commands may run elsewhere
    return Source(open_parts(parts).identity, reference)


def _bytes(array: np.ndarray) -> np.ndarray:
    if array.dtype != np.uint8 or array.ndim != 1:
        raise ValueError("the files of the sentence encoder are no bytes")
    return array

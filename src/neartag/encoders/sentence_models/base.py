"""What a sentence model is: it returns a vector for each text, and can tell which model it is.

Any object with `encode(list of texts) -> array (n, dim)` serves in Python. Those that neartag opens by itself are built
from ModelParts: bytes and settings. Nothing is unpickled, and no code of theirs is run.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from neartag.core.errors import ModelError

# Formats: of models that neartag opens, and of one that only the user's program can open.
ONNX, STATIC, OBJECT = "onnx", "static", "object"
MAX_DIM = 1 << 20


class SentenceModel(Protocol):
    """What neartag needs of a model that encodes texts."""

    identity: Identity

    def encode(self, texts: list[str]) -> np.ndarray:
        """Return a vector for each text, (n, dim)."""


@dataclass(frozen=True)
class Identity:
    """Which model made vectors: a model folder keeps it, and refuses any other.

    Attributes
    ----------
    name : str
        As people know it: a name of the hub, a package, or the last part of a folder's path.
    format : str
        "onnx", "static" or "object".
    dim : int
        How many numbers a vector has.
    pooling : str
        How the vectors of tokens become one, in words.
    digest : str
        SHA-256 of weights, tokenizer and settings; empty for an object, which is known by a vector of its own.
    version : str or None
        Of the package, or of the hub's snapshot.
    """

    name: str
    format: str
    dim: int
    pooling: str
    digest: str
    version: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return it, fit for JSON."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Any) -> Identity:
        """Return what `to_json` returned; ValueError where it cannot be one."""
        if not isinstance(value, dict):
            raise ValueError("the sentence encoder has no description")
        identity = cls(**value)
        texts = (identity.name, identity.format, identity.pooling, identity.digest, identity.version or "")
        if not all(isinstance(text, str) for text in texts):
            raise ValueError("the sentence encoder's description cannot be read")
        if type(identity.dim) is not int or not 1 <= identity.dim <= MAX_DIM:
            raise ValueError(f"the sentence encoder's dimension is {identity.dim!r:.40}")
        return identity

    def describe(self) -> str:
        """Return it in a few words."""
        version = "" if self.version is None else f" {self.version}"
        return f"{self.name}{version} ({self.format}, {self.dim} dimensions, {self.pooling})"


@dataclass(frozen=True)
class ModelParts:
    """All that a model is built from; a model folder may hold it.

    Attributes
    ----------
    format : str
        "onnx" or "static".
    weights, tokenizer : ndarray of uint8
        The bytes of the files, mapped from disk: model.onnx or model.safetensors, and tokenizer.json.
    settings : dict
        What the model's configuration says of pooling, length and the like, fit for JSON.
    name, version, place
        For people: how the model is called, and where its files lie.
    """

    format: str
    name: str
    weights: np.ndarray = field(repr=False)
    tokenizer: np.ndarray = field(repr=False)
    settings: dict[str, Any]
    version: str | None = None
    place: str = ""

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of weights, tokenizer and settings together."""
        whole = hashlib.sha256(json.dumps([self.format, self.settings], sort_keys=True).encode())
        for content in (self.weights, self.tokenizer):
            whole.update(hashlib.sha256(np.ascontiguousarray(content).data).digest())
        return whole.hexdigest()

    def identify(self, dim: int, pooling: str) -> Identity:
        """Return the identity of the model that was built from these."""
        return Identity(self.name, self.format, dim, pooling, self.digest, self.version)

    def error(self, what: str) -> ModelError:
        """Return an error about these files."""
        return ModelError(f"the sentence encoder in {self.place or self.name} cannot be used, {what}")


def first_line(error: BaseException) -> str:
    """Return what an error of another library says, in one line of bearable length."""
    return " ".join(str(error).split())[:200] or type(error).__name__

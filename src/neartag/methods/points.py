"""The points of a search: what a round learns from, and what judges."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.sparse import issparse


class Split(NamedTuple):
    """Rows and labels to learn from, and those that judge."""

    X: Any
    Y: Any
    X_held: Any
    Y_held: Any


class Points(Protocol):
    """Labelled points of which a search takes parts: feature rows, or texts with several kinds of features."""

    Y: Any  # (n, L)
    features: Sequence[str]  # kinds of features that are tried; none for rows
    default_features: str | None

    def split(self, train: np.ndarray, held: np.ndarray, features: str | None) -> Split:
        """Return both parts, with features of this kind that were learned from the rows `train` alone."""

    def resolve_features(self, train: np.ndarray, features: str | None) -> str | None:
        """Return the kind of features that this one stands for when learned from the rows `train`."""

    def settle_features(self, features: str) -> None:
        """Let the default stand for this kind of features from now on, whatever rows it is learned from."""

    def describe_features(self, features: str) -> dict[str, Any]:
        """Return a kind of features as a preset has it."""

    def digest(self) -> str:
        """Return a text that is the same for the same points only."""


class RowPoints:
    """Points that are rows of features already."""

    features: Sequence[str] = ()
    default_features: str | None = None

    def __init__(self, X: Any, Y: Any) -> None:
        self.X, self.Y = X, Y

    def split(self, train: np.ndarray, held: np.ndarray, features: str | None) -> Split:
        """Return both parts."""
        return Split(self.X[train], self.Y[train], self.X[held], self.Y[held])

    def resolve_features(self, train: np.ndarray, features: str | None) -> str | None:
        """Return None: there is nothing to choose."""
        return None

    def settle_features(self, features: str) -> None:
        """Do nothing: there is nothing to choose."""

    def describe_features(self, features: str) -> dict[str, Any]:
        """Return the kind alone."""
        return {"kind": features}

    def digest(self) -> str:
        """Return a text that is the same for the same rows and labels only."""
        return digest_of(self.X, self.Y)


def digest_of(*parts: Any) -> str:
    """Return the SHA-256 of matrices, arrays and texts, with their shapes."""
    return digest_all(parts)


def digest_all(parts: Iterable[Any]) -> str:
    """Return the SHA-256 of matrices, arrays and texts, with their shapes, taken one at a time."""
    state = hashlib.sha256()
    for part in parts:
        if issparse(part):
            state.update(repr(part.shape).encode())
            pieces = [part.indptr, part.indices, part.data]
        elif isinstance(part, str):
            pieces = [np.frombuffer(part.encode("utf-8", "surrogatepass"), np.uint8)]
        else:
            pieces = [np.asarray(part)]
        for piece in pieces:
            state.update(f"{piece.dtype}{piece.shape}".encode())
            state.update(np.ascontiguousarray(piece).reshape(-1).view(np.uint8).data)
    return state.hexdigest()

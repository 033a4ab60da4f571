"""Answers with some of a model's labels only: which model gives them, kept for the next request like it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from neartag.storage.bundle import StoredModel
from neartag.vocabulary.selection import select_labels

MAX_KEPT = 8  # restricted models: a page or a service asks for the same few again and again
BATCH_ROWS = 256  # whose scores of all labels are held at once

Key = tuple[tuple[str, ...] | None, tuple[str, ...] | None]


class RestrictedModels:
    """The models that answered the last requests for some labels; a model whose stored model is gone is dropped."""

    def __init__(self) -> None:
        self._stored: StoredModel | None = None
        self._models: dict[Key, Any] = {}

    def get(self, stored: StoredModel, include: Sequence[str] | None, exclude: Sequence[str] | None) -> Any:
        """Return the model that answers with these labels; the stored one where all are asked for."""
        if include is None and not exclude:
            return stored.model
        if isinstance(include, str) or isinstance(exclude, str):
            select_labels((), None, include, exclude)  # it refuses them
        key = None if include is None else tuple(include), None if exclude is None else tuple(exclude)
        models = self._models if self._stored is stored else {}
        if key not in models:
            allowed = select_labels(stored.label_names or [], stored.vocabulary, *key)
            # A new dict, put in place at once: other threads may be reading the old one.
            models = {**dict(list(models.items())[1 - MAX_KEPT :]), key: restrict_model(stored.model, allowed)}
            self._stored, self._models = stored, models
        return models[key]


def restrict_model(model: Any, allowed: np.ndarray) -> Any:
    """Return a model that answers with the allowed labels (L,) only."""
    return model.restrict(allowed) if hasattr(model, "restrict") else _Filtered(model, allowed)


class _Filtered:
    """A model of any method, of whose scores only those of some labels are taken."""

    def __init__(self, model: Any, allowed: np.ndarray) -> None:
        self._model, self.allowed = model, allowed

    def predict_topk(self, X: Any, k: int, *, n_jobs: int | None = -1) -> tuple[np.ndarray, np.ndarray]:
        """Return the k best allowed labels of each row and their scores, (m, k); −1 and 0 where there are fewer."""
        labels, scores = np.full((X.shape[0], k), -1, np.int32), np.zeros((X.shape[0], k))
        for first in range(0, X.shape[0], BATCH_ROWS):
            block = self._model.decision_function(X[first : first + BATCH_ROWS], n_jobs=n_jobs)  # (batch, L) CSR
            for row in range(block.shape[0]):
                own = slice(block.indptr[row], block.indptr[row + 1])
                mine = self.allowed[block.indices[own]] & (block.data[own] > 0)
                ids, values = block.indices[own][mine], block.data[own][mine]
                best = np.lexsort((ids, -values))[:k]
                labels[first + row, : len(best)], scores[first + row, : len(best)] = ids[best], values[best]
        return labels, scores

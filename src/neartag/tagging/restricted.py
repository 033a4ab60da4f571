"""Answers with some of a model's labels only: which model gives them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from neartag.storage.bundle import StoredModel
from neartag.vocabulary.selection import LabelSelection

BATCH_ROWS = 256  # whose scores of all labels are held at once


class RestrictedModels:
    """Gives the model that answers with some labels; the names of the labels are laid out once for all requests."""

    def __init__(self) -> None:
        self._selection: LabelSelection | None = None

    def get(self, stored: StoredModel, include: Sequence[str] | None, exclude: Sequence[str] | None) -> Any:
        """Return the model that answers with these labels; the stored one where all are asked for."""
        if include is None and not exclude:
            return stored.model
        return restrict_model(stored.model, self._select_from(stored).select(include, exclude))

    def _select_from(self, stored: StoredModel) -> LabelSelection:
        """Return the labels of the stored model, laid out anew only where they are others than before."""
        selection, labels = self._selection, stored.label_names or []
        is_same = selection is not None and (selection.labels is labels or selection.labels == labels)
        if selection is None or not is_same or selection.vocabulary is not stored.vocabulary:
            self._selection = selection = LabelSelection(labels, stored.vocabulary)
        return selection


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

"""What a model card tells beyond `neartag inspect`: how labels are spread, what of the documents the folder holds."""

from __future__ import annotations

from typing import Any

import numpy as np

from neartag.storage.bundle import StoredModel

MAX_SHOWN = 10  # of the most frequent labels
RARE = 5  # documents; a label with fewer is seldom learned well


def describe_contents(stored: StoredModel) -> dict[str, Any]:
    """Return the facts, fit for JSON: labels by frequency, the vocabulary, and whether texts and ids are kept."""
    frequency = getattr(stored.model, "frequency", None)
    return {
        "label_counts": None if frequency is None else _count_labels(np.asarray(frequency), stored.label_names),
        "vocabulary": _describe_vocabulary(stored),
        "holds_texts": stored.texts is not None,
        "holds_ids": stored.point_names is not None,
        "bundles_encoder": _bundles_encoder(stored.features),
    }


def _count_labels(frequency: np.ndarray, names: list[str] | None) -> dict[str, Any]:
    order = np.argsort(-frequency, kind="stable")[:MAX_SHOWN].tolist()
    return {
        "most_frequent": [[str(label) if names is None else names[label], int(frequency[label])] for label in order],
        "median": float(np.median(frequency)) if len(frequency) else 0.0,
        "rare": int((frequency < RARE).sum()),
    }


def _describe_vocabulary(stored: StoredModel) -> dict[str, Any] | None:
    vocabulary = stored.vocabulary
    if vocabulary is None or not vocabulary.concepts:
        return None
    languages = sorted({language for concept in vocabulary.concepts for language in concept.names if language})
    return {"concepts": len(vocabulary.concepts), "closed": vocabulary.closed, "languages": languages}


def _bundles_encoder(features: Any) -> bool:
    """Return whether the folder holds all that encodes texts; false where a sentence model must be fetched."""
    from neartag.tagging.explained_meaning import sentence_encoder

    vectors = sentence_encoder(features)
    return vectors is None or bool(getattr(vectors, "bundle", False))

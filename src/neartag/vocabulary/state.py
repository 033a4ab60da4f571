"""A vocabulary as the model folder keeps it: JSON types, read back with every type checked."""

from __future__ import annotations

from typing import Any

from neartag.vocabulary.concepts import Concept, Vocabulary

_FIELDS = 5  # of a concept


def to_json(vocabulary: Vocabulary) -> dict[str, Any]:
    """Return the vocabulary as JSON types; a concept is a list, since there are many."""
    concepts = [
        [each.label, each.uri, dict(each.names), list(each.alternatives), list(each.broader)]
        for each in vocabulary.concepts
    ]
    return {"closed": vocabulary.closed, "language": vocabulary.language, "concepts": concepts}


def from_json(document: Any) -> Vocabulary:
    """Return the vocabulary that `to_json` described; ValueError where it cannot be one."""
    if not isinstance(document, dict) or type(document.get("closed")) is not bool:
        raise ValueError("it does not tell whether it is closed")
    if not isinstance(document.get("language"), str) or not isinstance(document.get("concepts"), list):
        raise ValueError("its language or its concepts are missing")
    concepts = tuple(_concept(entry) for entry in document["concepts"])
    return Vocabulary(concepts, document["closed"], document["language"])


def _concept(entry: Any) -> Concept:
    if not isinstance(entry, list) or len(entry) != _FIELDS:
        raise ValueError("a concept is not a list of five")
    label, uri, names, alternatives, broader = entry
    fine = isinstance(names, dict) and isinstance(alternatives, list) and isinstance(broader, list)
    # In one go: there are many concepts, and loading a model waits for them.
    if not fine or not {str}.issuperset(map(type, (label, uri, *names.values(), *alternatives, *broader))):
        raise ValueError("a concept has a part of the wrong type")
    return Concept(label, uri, names, tuple(alternatives), tuple(broader))

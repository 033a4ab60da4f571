"""What a model folder holds, once it is read: the model, its names, its encoder and its texts."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from neartag.core.errors import ModelError, NeartagError
from neartag.methods import registry
from neartag.storage.manifest import Manifest
from neartag.storage.texts import Texts
from neartag.vocabulary.concepts import Vocabulary

if TYPE_CHECKING:
    from neartag.storage.segments import Segment  # it needs scipy: imported only where documents were added


@dataclass(frozen=True)
class StoredModel:
    """What a model folder holds: what was trained, and what was added since.

    Attributes
    ----------
    model : fitted model
        It predicts: `model.predict_topk(X, k)`.
    label_names, point_names : list of str, or None
        Names of the labels, and ids of the training documents.
    features : encoder, or None
        It turns documents into feature rows; None for a model that was trained on rows.
    info : dict
        What `store.inspect` returns.
    texts : sequence of str, or None
        The texts of the training documents.
    extras : dict
        Small values that go with the model, by name, such as the calibration.
    manifest : Manifest, or None
        What model.json says; None for a model that was not read from a folder.
    vocabulary : Vocabulary, or None
        What the labels mean, and which names lead to them.
    """

    model: Any
    label_names: list[str] | None
    point_names: list[str] | None
    features: Any
    info: dict[str, Any]
    texts: Texts | None = None
    extras: dict[str, Any] = field(default_factory=dict)
    manifest: Manifest | None = None
    vocabulary: Vocabulary | None = None

    def with_segment(self, segment: Segment) -> StoredModel:
        """Return the stored model with the segment's documents added; nothing is written."""
        model = update_module(self.model).add(self.model, segment.rows, segment.Y)
        labels = [*(self.label_names or []), *segment.new_labels]
        points = None if self.point_names is None else [*self.point_names, *segment.ids]
        texts = None if self.texts is None or segment.texts is None else self.texts.concatenate(segment.texts)
        return replace(self, model=model, label_names=labels, point_names=points, texts=texts)


def can_update(model: Any) -> bool:
    """Return whether points can be added to a model, and forgotten, without training it again."""
    return _update_module_name(model) is not None


def update_module(model: Any) -> Any:
    """Return the module that adds points to a model and forgets them."""
    name = _update_module_name(model)
    if name is None:
        kind, methods = getattr(model, "kind", ""), registry.METHODS.all().values()
        able = ", ".join(method.name for method in methods if method.updates is not None)
        raise ModelError(
            f"documents cannot be added to a model of kind {kind!r}, only to {able}; nor can they be forgotten"
        )
    return importlib.import_module(name)


def _update_module_name(model: Any) -> str | None:
    try:
        return registry.METHODS.get(getattr(model, "kind", "")).updates
    except NeartagError:  # no method's: a kind that nobody here knows, or whose package is broken
        return None

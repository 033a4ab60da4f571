"""neartag: the few right labels out of thousands or millions, by a nearest-neighbour vote that explains itself."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from neartag.core.version import __version__ as __version__

if TYPE_CHECKING:
    from neartag import dask, data
    from neartag.encoders.tfidf import TfidfFeatures
    from neartag.encoders.vectors import VectorFeatures
    from neartag.evaluation import metrics
    from neartag.methods import presets
    from neartag.storage import store
    from neartag.tagging.live import LiveTagger
    from neartag.tagging.tagger import TextTagger
    from neartag.x1.classifier import X1Classifier
    from neartag.x1.model import X1Model

__all__ = [
    "LiveTagger",
    "TextTagger",
    "TfidfFeatures",
    "VectorFeatures",
    "X1Classifier",
    "X1Model",
    "dask",
    "data",
    "metrics",
    "presets",
    "store",
]

_CLASSES = {
    "LiveTagger": "neartag.tagging.live",
    "TextTagger": "neartag.tagging.tagger",
    "TfidfFeatures": "neartag.encoders.tfidf",
    "VectorFeatures": "neartag.encoders.vectors",
    "X1Classifier": "neartag.x1.classifier",
    "X1Model": "neartag.x1.model",
}
_MODULES = ("dask", "data", "metrics", "presets", "store")


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for (PEP 562): `neartag --help` must not wait for numpy."""
    if name in _CLASSES:
        return getattr(import_module(_CLASSES[name]), name)
    if name in _MODULES:
        return import_module(f"neartag.{name}")
    raise AttributeError(f"module 'neartag' has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names before they are imported."""
    return sorted([*globals(), *__all__])

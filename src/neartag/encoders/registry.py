"""Encoders by name: a file of this package each, or an entry point of the group `neartag.encoders`."""

from __future__ import annotations

from neartag.core.plugins import Plugins
from neartag.encoders.base import Encoder, check_encoder

# The encoder that is used where none is chosen, by the part that documents bring to learn from.
DEFAULTS = {"text": "tfidf", "vector": "vectors"}

ENCODERS: Plugins[type[Encoder]] = Plugins(
    what="encoder",
    package="neartag.encoders",
    attribute="ENCODER",
    group="neartag.encoders",
    name_of=lambda encoder: encoder.kind,
    check=check_encoder,
)

"""Encoders by name: a file of this package each, or an entry point of the group `neartag.encoders`."""

from __future__ import annotations

from typing import Any

from neartag.core.errors import ParameterError
from neartag.core.plugins import Plugins
from neartag.encoders.base import Encoder, check_encoder
from neartag.encoders.feature_kinds import AUTO, AutoFeatures, kind_parameters

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


def make_encoder(features: Any) -> Any:
    """Return the encoder that `features` stands for: an encoder, the name of a kind, or "auto" (None: too).

    ParameterError where it is neither an encoder nor the name of a kind.
    """
    if features is None or (isinstance(features, str) and features == AUTO):
        return AutoFeatures()
    if isinstance(features, str):
        return ENCODERS.get(DEFAULTS["text"])(**kind_parameters(features))
    try:
        check_encoder(features)
    except TypeError as error:
        raise ParameterError(f"features: {error}") from None
    return features

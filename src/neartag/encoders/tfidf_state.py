"""The state of TfidfFeatures as a model folder keeps it: settings that JSON can hold, and checks of what is read."""

from __future__ import annotations

from typing import Any

import numpy as np

from neartag.core.errors import ModelError
from neartag.encoders.feature_kinds import FeatureChoice
from neartag.encoders.languages import language_code
from neartag.encoders.tfidf_parameters import all_words, as_python_number

_PARAMETERS = ("word_pairs", "sublinear", "min_df", "max_df", "stop_words", "char_ngrams")
_LATER_PARAMETERS = ("hashing", "language")  # states written before there were these do not have them
MAX_IDF = 100.0  # far above 1 + log of any number of texts


def to_settings(features: Any) -> dict[str, Any]:
    """Return the settings of fitted features, fit for JSON."""
    settings: dict[str, Any] = {
        "word_pairs": bool(features.word_pairs),
        "sublinear": bool(features.sublinear),
        "min_df": as_python_number(features.min_df),
        "max_df": as_python_number(features.max_df),
        "stop_words": None if features.stop_words is None else sorted(features.stop_words),
        "char_ngrams": None if features.char_ngrams is None else [int(bound) for bound in features.char_ngrams],
        "hashing": None if features.hashing is None else int(features.hashing),
        "feature_names": features.feature_names_,
    }
    if features.language is not None:
        settings["language"] = language_code(features.language)
        settings["language_stop_words"] = features.language_stop_words_
    if features.choice_ is not None:
        settings["choice"] = features.choice_.to_json()
    return settings


def read_parameters(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of TfidfFeatures in a state's settings; KeyError where one is missing."""
    early = {name: settings[name] for name in _PARAMETERS}
    return {**early, **{name: settings.get(name) for name in _LATER_PARAMETERS}}


def read_choice(settings: dict[str, Any]) -> FeatureChoice | None:
    """Return how the features were chosen; ValueError or TypeError where that cannot be read."""
    choice = settings.get("choice")
    return None if choice is None else FeatureChoice.from_json(choice)


def check_learned(hashing: int | None, names: Any, idf: np.ndarray) -> None:
    """Raise ModelError where these cannot be the names and idf of fitted features."""
    hashed = hashing is not None
    if not (names is None if hashed else isinstance(names, list) and all_words(names)):
        raise ModelError(f"the text features' state has names {names!r:.60}: must be a list, or null with hashing")
    count = hashing if hashing is not None else len(names)
    if idf.shape != (count,) or idf.dtype.kind != "f":
        raise ModelError(f"the text features' state has {count} columns but {idf.dtype} idf of shape {idf.shape}")
    if not np.all((idf >= 1) & (idf <= MAX_IDF) | (idf == 0) & hashed):
        raise ModelError("the text features' state has idf that no texts can give")
    if not hashed and len(set(names)) < count:
        raise ModelError("the text features' state has a name twice")

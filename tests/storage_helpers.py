"""A model and an encoder that are easily looked through, and the package by whose entry points neartag finds them."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import numpy as np

from neartag.core.method import Method
from plugin_helpers import write_distribution

PARTS = 3


class Fake:
    """A model of several parts, every value of which is the same number, so that a mixture shows."""

    kind: ClassVar[str] = "fake"

    def __init__(self, value: int, size: int = 50) -> None:
        self.value = value
        self.parts = {f"learner-{part:03d}": {"weights": np.full(size, value)} for part in range(PARTS)}
        self.parts["model"] = {"empty": np.zeros((0, 3), np.float32), "value": np.array(float(value))}

    def to_state(self):
        return {"value": self.value, "list": [1, "two", None]}, self.parts

    @classmethod
    def from_state(cls, settings, parts):
        model = cls(settings["value"])
        model.parts = parts
        return model


METHOD = Method("fake", "Fake", "a number", "nobody", estimator=Fake, model=Fake, parameters=())


class FakeFeatures:
    kind: ClassVar[str] = "words"
    accepts: ClassVar[str] = "text"

    def __init__(self, words: list[str], idf: np.ndarray) -> None:
        self.words, self.idf = words, idf

    def fit(self, texts):
        return self

    def fit_transform(self, texts):
        return self.transform(texts)

    def transform(self, texts):
        return np.zeros((len(list(texts)), len(self.words)), np.float32)

    def to_state(self):
        return {"words": self.words}, {"idf": self.idf}

    @classmethod
    def from_state(cls, settings, arrays):
        return cls(settings["words"], arrays["idf"])


def write_fakes(folder: Path) -> Path:
    """Write the package that registers the two; the folder returned must be on the search path, and this file's too."""
    points = {"neartag.methods": {"fake": "storage_helpers:METHOD"}}
    return write_distribution(
        folder, "fakes", {**points, "neartag.encoders": {"words": "storage_helpers:FakeFeatures"}}
    )


def whole(stored) -> int:
    """Return the number that every value of a stored Fake is."""
    values = {stored.model.value, float(stored.model.parts["model"]["value"])}
    for part in range(PARTS):
        values.update(np.unique(stored.model.parts[f"learner-{part:03d}"]["weights"]).tolist())
    assert len(values) == 1, f"a mixture: {values}"
    return int(values.pop())

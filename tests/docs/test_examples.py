"""The examples in docstrings run, and what users call says what it takes and returns."""

from __future__ import annotations

import doctest
import importlib
import inspect

import pytest
from docs_helpers import ROOT

from neartag import (
    LiveTagger,
    TextTagger,
    TfidfFeatures,
    VectorFeatures,
    X1Classifier,
    data,
    metrics,
    presets,
    store,
    tune,
)
from neartag.data import documents, synthetic

SOURCE = ROOT / "src"
WITH_EXAMPLES = sorted(
    ".".join(path.relative_to(SOURCE).with_suffix("").parts)
    for path in SOURCE.rglob("*.py")
    if "\n    >>> " in path.read_text(encoding="utf-8") or "\n        >>> " in path.read_text(encoding="utf-8")
)
PUBLIC = {
    **{f"metrics.{name}": getattr(metrics, name) for name in metrics.__all__},
    **{f"data.{name}": getattr(data, name) for name in data.__all__},
    **{f"data.documents.{name}": getattr(documents, name) for name in documents.__all__},
    "data.synthetic.make": synthetic.make,
    **{f"presets.{name}": getattr(presets, name) for name in presets.__all__},
    "tune.tune": tune.tune,
    "tune.tune_texts": tune.tune_texts,
    **{f"store.{name}": getattr(store, name) for name in store.__all__ if name != "StoredModel"},
    **{each.__name__: each for each in (LiveTagger, TextTagger, TfidfFeatures, VectorFeatures, X1Classifier)},
}


def test_modules_with_examples_are_found():
    assert "neartag.evaluation.metrics" in WITH_EXAMPLES
    assert "neartag.data.documents.read" in WITH_EXAMPLES


@pytest.mark.parametrize("module", WITH_EXAMPLES)
def test_examples_run(module):
    result = doctest.testmod(importlib.import_module(module))
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.parametrize("name", [name for name, value in PUBLIC.items() if callable(value)])
def test_public_callables_say_what_they_take_and_show_how(name):
    text = inspect.getdoc(PUBLIC[name])
    wanted = ["Examples"] if name.endswith("BadLines") else ["Parameters", "Examples"]
    if inspect.isfunction(PUBLIC[name]) and name != "data.write":
        wanted.append("Returns")
    for section in wanted:
        assert f"\n{section}\n{'-' * len(section)}\n" in text, section

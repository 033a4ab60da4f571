"""The head of a model card: metadata in YAML, by which Hugging Face's hub lists and compares models."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from neartag.report.card_text import front_matter

if TYPE_CHECKING:
    from neartag.report.card import CardOptions

TASK = {"type": "text-classification", "name": "Multi-label text classification"}
HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+")


def make_front(facts: Mapping[str, Any], options: CardOptions, figures: Mapping[str, Any] | None) -> str:
    """Return the head, with figures as a `model-index`; fields of which nothing is known are left out."""
    texts = facts["trained_on_texts"]
    bases = [each["name"] for each in facts.get("encoders", []) if HUB_NAME.fullmatch(each["name"])]
    results = _results(facts, options, figures)
    values = {
        "library_name": "neartag",
        "license": options.licence,
        "language": facts.get("language"),
        "pipeline_tag": "text-classification" if texts else None,
        "tags": ["multi-label-classification", "extreme-multi-label-classification", "neartag", facts["kind"]],
        "datasets": [options.dataset] if HUB_NAME.fullmatch(options.dataset) else None,
        "base_model": bases,
        "metrics": sorted({metric["type"] for result in results for metric in result["metrics"]}),
        "model-index": [{"name": options.name, "results": results}] if results else None,
    }
    return front_matter({name: value for name, value in values.items() if value})


def _results(facts: Mapping[str, Any], options: CardOptions, figures: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """Return what was measured, held out of training and on test data, as the hub lists results."""
    found: list[dict[str, Any]] = []
    calibration = facts.get("calibration")
    data = {"name": options.dataset or "the model's own data", "type": options.dataset or "own"}
    if calibration is not None:
        best = calibration["best_f1"]
        metrics = [
            {"type": name, "name": f"{name} at threshold {best['threshold']:.3f}", "value": round(best[name], 4)}
            for name in ("f1", "precision", "recall")
        ]
        found.append({"task": TASK, "dataset": {**data, "split": "held out of training"}, "metrics": metrics})
    if figures is not None:
        metrics = [
            {"type": kind, "name": name, "value": round(figures["metrics"][name] / 100, 4)}
            for kind, name in (("precision", "P@1"), ("precision", "P@3"), ("precision", "P@5"), ("ndcg", "nDCG@5"))
        ]
        found.append({"task": TASK, "dataset": {**data, "split": "test"}, "metrics": metrics})
    return found

"""Labels as Label Studio writes them: which control of a project takes them, and the regions that hold them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

CHOICES, TAXONOMY = "Choices", "Taxonomy"
TEXTS = ("Text", "HyperText", "Paragraphs")


@dataclass(frozen=True)
class Control:
    """The control of a labelling configuration that labels go to, and the text that they are about."""

    name: str
    kind: str  # CHOICES or TAXONOMY
    to_name: str
    field: str  # of a task's data, that has the text
    paths: dict[str, list[str]]  # of each label that it offers: the labels above it, and itself; none: any label

    def allowed(self, labels: Iterable[str]) -> list[str] | None:
        """Return those of a model's labels that can be given here; None where all can."""
        return [label for label in labels if label in self.paths] if self.paths else None

    def region(self, labels: Sequence[str]) -> list[dict[str, Any]]:
        """Return labels as the result of a prediction."""
        if not labels:
            return []
        value: dict[str, Any] = {"choices": list(labels)}
        if self.kind == TAXONOMY:
            value = {"taxonomy": [self.paths.get(label, [label]) for label in labels]}
        return [{"from_name": self.name, "to_name": self.to_name, "type": self.kind.lower(), "value": value}]

    def labels(self, result: Iterable[dict[str, Any]]) -> list[str]:
        """Return the labels that a person's annotation gives."""
        found: list[str] = []
        for region in result:
            if region.get("from_name") == self.name:
                value = region.get("value") or {}
                found += value.get("choices") or [path[-1] for path in value.get("taxonomy") or [] if path]
        return list(dict.fromkeys(found))


def find_control(config: str) -> Control:
    """Return the first control of a labelling configuration that labels of a text can go to; ValueError for none."""
    root = ElementTree.fromstring(config)
    texts = {tag.get("name"): tag.get("value", "").lstrip("$") for kind in TEXTS for tag in root.iter(kind)}
    for tag in root.iter():
        target = tag.get("toName")
        if tag.tag in (CHOICES, TAXONOMY) and target in texts:
            return Control(tag.get("name", ""), tag.tag, str(target), texts[target], dict(_paths(tag, [])))
    raise ValueError("the labelling configuration has no Choices and no Taxonomy for a text: add one")


def _paths(tag: ElementTree.Element, above: list[str]) -> Iterable[tuple[str, list[str]]]:
    for choice in tag.findall("Choice"):
        label = choice.get("alias") or choice.get("value") or ""
        path = [*above, label]
        yield label, path
        yield from _paths(choice, path)

"""Small models that the cases harm, and what they answer while they are sound."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from neartag import LiveTagger, TextTagger, X1Classifier
from neartag.data import debian
from neartag.data.documents import Document

TEXTS = ["bake bread in the oven", "ride a bicycle", "bread with butter", "the wheel of a bicycle"]
LABELS = [["cooking"], ["cycling"], ["cooking"], ["cycling"]]
ASKED = ["fresh bread", "night sky wheel", "nothing of that"]
REFINED_POINTS = 240  # fewer are not refined
REFINED_ASKED = ["a chess playing program", "library for reading images", "nothing of that kind"]


def make_smallest(folder: Path) -> None:
    """Save a model of four documents, with everything that a folder can hold: texts, a vocabulary, an addition."""
    classifier = X1Classifier(
        embedding_dim=2, vote_neighbours=2, n_learners=1, n_clusters=1, refine=False, n_jobs=1, random_state=0
    )
    TextTagger("words", classifier).fit(TEXTS, LABELS, ["a", "b", "c", "d"]).save(folder)
    live = LiveTagger(folder)
    live.change_labels(lambda tagger: tagger.rename_label("cooking", "cuisine"))
    live.add([Document("stars in the night sky", ["astronomy"], "sky", None, "")])


def make_refined(folder: Path) -> None:
    """Save a refined and calibrated model of a part of the embedded corpus, with an addition."""
    packages = debian.load("train")
    texts = [" ".join(words) for words in packages.words[:REFINED_POINTS]]
    classifier = X1Classifier(embedding_dim=8, n_learners=1, n_jobs=1, random_state=0)
    tags, names = packages.tags[:REFINED_POINTS], packages.names[:REFINED_POINTS]
    TextTagger("words", classifier).fit(texts, tags, names).save(folder)
    LiveTagger(folder).add([Document("a program that plays go", ["game::go"], "go", None, "")])


def answer(folder: Path, texts: list[str]) -> tuple[Any, ...]:
    """Return all that a model folder says: tags alone and together, reasons, names, texts and settings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tagger = TextTagger.load(folder)
        stored = tagger.stored
        return (
            repr(tagger.predict(texts, 3, fallback=True)),
            repr(tagger.predict(texts[:1], 3)),
            repr(tagger.explain(texts[0], 2)),
            stored.label_names,
            stored.point_names,
            [] if stored.texts is None else list(stored.texts),
            stored.extras,
            stored.vocabulary,
        )

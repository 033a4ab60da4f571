"""What the demo does: X1 and what it is held against learn Debian's package tags, and X1 tags sentences."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from neartag.progress import Progress

METRICS = ("P@1", "P@3", "P@5", "PSP@1", "PSP@3", "PSP@5")
QUICK = 6  # of so many packages one is taken where it must be quick
LABELS, VOTERS = 6, 3  # shown for each sentence, and for each label


class Walkthrough:
    """The corpus as rows, and the steps on them."""

    def __init__(self, quick: bool, progress: Progress) -> None:
        from neartag.data import debian
        from neartag.features import TfidfFeatures

        self.progress = progress
        train, test = debian.load("train"), debian.load("test")
        step = QUICK if quick else 1
        self.release, self.tags = debian.info()["release"], debian.tag_names()
        self.packages, self.sources = train.names[::step], train.sources[::step]
        self.features = TfidfFeatures()
        self.X, self.Y = self.features.fit_transform(train.words[::step]), train.label_matrix(self.tags)[::step]
        self.X_test, self.Y_test = self.features.transform(test.words[::step]), test.label_matrix(self.tags)[::step]

    def run(self, settings: dict[str, Any], folder: str, sentences: Sequence[str]) -> dict[str, Any]:
        """Return what was measured and tagged, fit for JSON; the model is then in the folder."""
        from neartag.cli.references import references

        results = []
        with self.progress.start(3, "the methods to beat"):
            for name, labels, seconds in references(self.X, self.Y, self.sources, self.X_test, 5):
                results.append(self._measure(name, labels, seconds))
                self.progress.advance(note=name)
        results.append(self._train(settings, folder))
        return {
            "release": self.release,
            "packages": {"train": self.X.shape[0], "test": self.X_test.shape[0]},
            "words": self.X.shape[1],
            "tags": len(self.tags),
            "results": results,
            "model": folder,
            "examples": tag(folder, sentences),
        }

    def _train(self, settings: dict[str, Any], folder: str) -> dict[str, Any]:
        from neartag import store
        from neartag.x1.classifier import X1Classifier

        start = time.perf_counter()
        with self.progress.start(None, "cutting into clusters"):
            classifier = X1Classifier(**settings).fit(self.X, self.Y, progress=self.progress)
        labels, _ = classifier.predict_topk(self.X_test, 5)
        result = self._measure("X1", labels, time.perf_counter() - start)
        with self.progress.start(None, f"saving {folder}"):
            names, points = self.tags, self.packages
            store.save(classifier.model_, folder, features=self.features, label_names=names, point_names=points)
        return result

    def _measure(self, name: str, labels: np.ndarray, seconds: float) -> dict[str, Any]:
        from neartag import metrics

        scores = metrics.evaluate(labels, self.Y_test, Y_train=self.Y)
        return {
            "method": name,
            **{metric: round(scores[metric], 3) for metric in METRICS},
            "seconds": round(seconds, 2),
        }


def tag(folder: str, sentences: Sequence[str]) -> list[dict[str, Any]]:
    """Return the best labels of each sentence, by the model in the folder, with the packages that voted for them."""
    from neartag import store
    from neartag.cli.explain import explain

    stored = store.load(folder)
    reasons = explain(stored.model, stored.features.transform(sentences), LABELS, VOTERS)
    labels, points = stored.label_names or [], stored.point_names or []
    return [
        {
            "text": sentence,
            "labels": [
                {
                    "label": labels[reason.label],
                    "score": round(reason.score, 4),
                    "voters": [{"name": points[row], "share": round(share, 4)} for row, share in reason.voters],
                }
                for reason in found
            ],
        }
        for sentence, found in zip(sentences, reasons, strict=True)
    ]

"""What the demo does: X1 and what it is held against learn Debian's package tags, and X1 tags sentences."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from neartag.core.progress import Progress

METRICS = ("P@1", "P@3", "P@5", "PSP@1", "PSP@3", "PSP@5")
QUICK = 6  # of so many packages one is taken where it must be quick
LABELS, VOTERS, WORDS = 6, 3, 5  # shown for each sentence, and for each label


class Walkthrough:
    """The corpus as rows, and the steps on them."""

    def __init__(self, quick: bool, progress: Progress) -> None:
        from neartag.data import debian
        from neartag.encoders.tfidf import TfidfFeatures

        self.progress = progress
        train, test = debian.load("train"), debian.load("test")
        step = QUICK if quick else 1
        self.release, self.tags = debian.info()["release"], debian.tag_names()
        self.packages, self.sources = train.names[::step], train.sources[::step]
        self.features = TfidfFeatures()
        self.words = train.words[::step]
        self.X, self.Y = self.features.fit_transform(self.words), train.label_matrix(self.tags)[::step]
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
        from neartag.storage import store
        from neartag.storage.texts import Texts
        from neartag.tagging.calibration import of_held_out
        from neartag.x1.classifier import X1Classifier

        start = time.perf_counter()
        with self.progress.start(None, "cutting into clusters"):
            classifier = X1Classifier(**settings).fit(self.X, self.Y, progress=self.progress, held_out=True)
        labels, _ = classifier.predict_topk(self.X_test, 5)
        result = self._measure("X1", labels, time.perf_counter() - start)
        with self.progress.start(None, f"saving {folder}"):
            store.save(
                classifier.model_,
                folder,
                label_names=self.tags,
                point_names=self.packages,
                features=self.features,
                texts=Texts.of(" ".join(words) for words in self.words),
                extras=of_held_out(classifier.held_out_, self.Y, "auto"),
            )
        return result

    def _measure(self, name: str, labels: np.ndarray, seconds: float) -> dict[str, Any]:
        from neartag.evaluation import metrics

        scores = metrics.evaluate(labels, self.Y_test, Y_train=self.Y)
        return {
            "method": name,
            **{metric: round(scores[metric], 3) for metric in METRICS},
            "seconds": round(seconds, 2),
        }


def tag(folder: str, sentences: Sequence[str]) -> list[dict[str, Any]]:
    """Return the best labels of each sentence, by the model in the folder, with who voted and what words weighed."""
    from neartag.tagging.tagger import TextTagger

    tagger = TextTagger.load(folder)
    return [
        {
            "text": sentence,
            "labels": [
                {
                    "label": reason.label,
                    "score": round(reason.score, 4),
                    "share": round(reason.share, 4),
                    "voters": [{"name": voter.id, "share": round(voter.share, 4)} for voter in reason.voters],
                    "words": [{"word": word, "weight": round(weight, 4)} for word, weight in reason.words],
                }
                for reason in tagger.explain(sentence, LABELS, VOTERS, WORDS)
            ],
        }
        for sentence in sentences
    ]

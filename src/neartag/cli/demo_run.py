"""What the demo does: X1 and simpler methods learn Debian's package tags, are measured, and X1 tags sentences."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from scipy.sparse import csr_matrix

    from neartag.core.progress import Progress
    from neartag.encoders.tfidf import TfidfFeatures
    from neartag.tagging.corpus import Corpus

METRICS = ("P@1", "P@3", "P@5", "PSP@1", "PSP@3", "PSP@5")
QUICK_STEP = 6  # --quick takes one of so many packages
N_LABELS, N_VOTERS, N_WORDS = 6, 3, 5  # shown of each sentence, and of each label


class Packages(NamedTuple):
    """The embedded corpus, as rows."""

    train: Corpus
    sources: list[str]  # of the training packages
    X_test: csr_matrix
    Y_test: csr_matrix
    encoder: TfidfFeatures


def run_demo(
    settings: dict[str, Any], folder: str, sentences: Sequence[str], *, quick: bool, progress: Progress
) -> dict[str, Any]:
    """Train, measure and tag, and return the report, fit for JSON; the model is then in the folder."""
    from neartag.cli.references import references
    from neartag.data import debian

    packages = load_packages(quick)
    train = packages.train
    results = []
    with progress.start(3, "the methods to beat"):
        for name, labels, seconds in references(train.X, train.Y, packages.sources, packages.X_test, 5):
            results.append(measure(name, labels, seconds, packages))
            progress.advance(note=name)
    results.append(train_model(packages, settings, folder, progress))
    return {
        "release": debian.info()["release"],
        "packages": {"train": train.X.shape[0], "test": packages.X_test.shape[0]},
        "words": train.X.shape[1],
        "tags": train.Y.shape[1],
        "results": results,
        "model": folder,
        "examples": tag_sentences(folder, sentences),
    }


def load_packages(quick: bool) -> Packages:
    """Return the packages, with `quick` some of them."""
    from neartag.data import debian
    from neartag.encoders.tfidf import TfidfFeatures
    from neartag.storage.texts import Texts
    from neartag.tagging.corpus import Corpus

    train, test = debian.load("train"), debian.load("test")
    step = QUICK_STEP if quick else 1
    tags = debian.tag_names()
    encoder = TfidfFeatures()
    words = train.words[::step]  # already cut into words, which stay whole
    corpus = Corpus(
        X=encoder.fit_transform(words),
        Y=train.label_matrix(tags)[::step],
        label_names=tags,
        ids=train.names[::step],
        texts=Texts.from_strings(" ".join(each) for each in words),
    )
    X_test, Y_test = encoder.transform(test.words[::step]), test.label_matrix(tags)[::step]
    return Packages(corpus, train.sources[::step], X_test, Y_test, encoder)


def train_model(packages: Packages, settings: dict[str, Any], folder: str, progress: Progress) -> dict[str, Any]:
    """Train X1, save it in the folder, and return how good it is."""
    from neartag.storage.store import save_bundle
    from neartag.tagging.fitting import fit_bundle
    from neartag.x1.classifier import X1Classifier

    start = time.perf_counter()
    with progress.start(None, "training X1"):
        classifier = X1Classifier(**settings)
        stored = fit_bundle(packages.train, classifier, packages.encoder, calibration="auto", progress=progress)
    labels, _ = classifier.predict_topk(packages.X_test, 5)
    result = measure("X1", labels, time.perf_counter() - start, packages)
    with progress.start(None, f"saving {folder}"):
        save_bundle(stored, folder)
    return result


def measure(name: str, labels: np.ndarray, seconds: float, packages: Packages) -> dict[str, Any]:
    """Return the metrics of a method's labels for the test packages (m, 5), in percent."""
    from neartag.evaluation import metrics

    scores = metrics.evaluate(labels, packages.Y_test, Y_train=packages.train.Y)
    return {"method": name, **{metric: round(scores[metric], 3) for metric in METRICS}, "seconds": round(seconds, 2)}


def tag_sentences(folder: str, sentences: Sequence[str]) -> list[dict[str, Any]]:
    """Return the best labels of each sentence by the model in the folder, with their voters and words."""
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
                for reason in tagger.explain(sentence, N_LABELS, N_VOTERS, N_WORDS)
            ],
        }
        for sentence in sentences
    ]

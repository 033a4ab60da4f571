"""Fit, calibrate, and put together what a model folder holds: for TextTagger, `neartag train` and the demo alike."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from neartag.data.documents import Document
from neartag.storage.bundle import StoredModel
from neartag.tagging import calibration as calibrations
from neartag.tagging.common_words import warn_of_texts_apart
from neartag.tagging.corpus import Corpus
from neartag.tagging.feature_choice import fit_corpus
from neartag.vocabulary.concepts import Vocabulary
from neartag.vocabulary.mapping import map_documents
from neartag.work.executors.base import Executor
from neartag.x1.classifier import X1Classifier


def fit_documents(
    documents: Iterable[Document],
    encoder: Any,
    classifier: Any,
    *,
    calibration: str | None = "auto",
    keep_texts: bool = True,
    vocabulary: Vocabulary | None = None,
    progress: Any = False,
    executor: Executor | None = None,
) -> StoredModel:
    """Encode documents, each read once, fit a classifier to them, and return what a model folder holds.

    An encoder that is AutoFeatures is chosen here. Labels are mapped to the concepts of a vocabulary, which goes with
    the model. `fit_bundle` says what the other parameters are.
    """
    if calibration is not None:
        calibrations.check_kind(calibration)  # before the documents are read
    machine = {"n_jobs": getattr(classifier, "n_jobs", -1), "max_memory": getattr(classifier, "max_memory", None)}
    if vocabulary is not None:
        documents = map_documents(documents, vocabulary)
    corpus, encoder = fit_corpus(documents, encoder, keep_texts=keep_texts, progress=progress, **machine)
    stored = fit_bundle(corpus, classifier, encoder, calibration=calibration, progress=progress, executor=executor)
    return replace(stored, vocabulary=vocabulary)


def make_classifier(refine: bool | None) -> X1Classifier:
    """Return X1 as a tagger uses it; None: refined or not as X1's own default is."""
    return X1Classifier() if refine is None else X1Classifier(refine=refine)


def fit_bundle(
    corpus: Corpus,
    classifier: Any,
    encoder: Any = None,
    *,
    calibration: str | None = None,
    progress: Any = False,
    executor: Executor | None = None,
) -> StoredModel:
    """Fit a classifier to a corpus, calibrate its scores, and return what a model folder holds.

    Parameters
    ----------
    corpus : Corpus
        What to learn from.
    classifier : unfitted classifier
        It is fitted here.
    encoder : fitted encoder, optional
        What made the rows of documents. None for a corpus of rows, whose scores are not calibrated.
    calibration : "auto", "isotonic", "platt" or None
        How scores become probabilities; None: not at all. A classifier that keeps no points out of training is not
        calibrated either.
    progress : bool or Progress
        Whether to show progress.
    executor : Executor, optional
        Who runs the tasks of X1's training; None: threads of this process.
    """
    options = {"progress": progress} if executor is None else {"progress": progress, "executor": executor}
    if calibration is not None:
        calibrations.check_kind(calibration)  # now, not after all the training
    if encoder is not None:
        warn_of_texts_apart(corpus.X, encoder)
    if encoder is None or calibration is None or not _can_hold_out(classifier):
        classifier.fit(corpus.X, corpus.Y, **options)
        extras = {}
    else:
        classifier.fit(corpus.X, corpus.Y, **options, held_out=True)
        extras = calibrations.to_extras(calibrations.calibrate_held_out(classifier.held_out_, corpus.Y, calibration))
    return StoredModel(classifier.model_, corpus.label_names, corpus.ids, encoder, {}, corpus.texts, extras)


def _can_hold_out(classifier: Any) -> bool:
    """Return whether `fit` can keep points out of training and tell how it answered them."""
    return "held_out" in inspect.signature(classifier.fit).parameters

"""TextTagger: texts in, label names out, with reasons; documents and labels may be added and forgotten at any time."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from neartag.core.errors import DataError, ModelError, NeartagError, ParameterError
from neartag.data.documents import Document
from neartag.linalg.validation import check_count
from neartag.storage import store
from neartag.storage.bundle import StoredModel
from neartag.storage.segments import Segment
from neartag.tagging import update
from neartag.tagging.calibration import Calibration
from neartag.tagging.explain import Reason, reasons, scored

__all__ = ["Reason", "Tag", "TextTagger"]


class Tag(NamedTuple):
    """A label given to a text."""

    label: str
    score: float  # the probability that it is right, where the model is calibrated or refined, else the share
    share: float  # of the votes


class TextTagger:
    """Tags texts with label names.

    Parameters
    ----------
    features : what makes rows of texts, TfidfFeatures() by default; VectorFeatures() for vectors of your own.
    classifier : an X1Classifier, with its defaults unless given.
    refine : let rankers decide among the labels that votes bring up; None: as X1Classifier's default. Of a classifier
        that is given it is a setting of its own.
    calibration : "auto", "isotonic" or "platt": how scores become probabilities; None: not at all.
    keep_texts : keep the texts in the model, so that explanations can show them.
    """

    def __init__(
        self,
        features: Any = None,
        classifier: Any = None,
        *,
        refine: bool | None = None,
        calibration: str | None = "auto",
        keep_texts: bool = True,
    ) -> None:
        if refine is not None and classifier is not None:
            raise ParameterError("refine is for TextTagger's own classifier: give it to yours, X1Classifier(refine=…)")
        self._given = features, classifier, refine, calibration, keep_texts
        self._stored: StoredModel | None = None
        self._rows: dict[str, int] | None = None

    @classmethod
    def of(cls, stored: StoredModel) -> TextTagger:
        """Return the tagger of a stored model, which must have been trained on documents."""
        if stored.features is None or stored.label_names is None:
            raise ModelError("the model was trained on rows of features: it has no texts and label names to tag with")
        tagger = cls()
        tagger._stored = stored
        return tagger

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> TextTagger:
        """Return the tagger saved in a folder."""
        return cls.of(store.load(folder))

    def copy(self) -> TextTagger:
        """Return a tagger of the same model, which may go its own way; the arrays are shared."""
        tagger = TextTagger.of(self.stored)
        tagger._rows = None if self._rows is None else dict(self._rows)
        return tagger

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Store the tagger in a folder, in place of the model there."""
        save(self.stored, folder)

    def fit(
        self,
        texts: Iterable[Any],
        labels: Iterable[Sequence[str]],
        ids: Iterable[str] | None = None,
        *,
        progress: Any = False,
    ) -> TextTagger:
        """Learn from texts (or vectors, as the features want them) and the lists of their labels; returns itself."""
        return self.fit_documents(
            _documents(texts, labels, ids, self._wants_vectors(self._given[0])), progress=progress
        )

    def fit_documents(self, documents: Iterable[Document], *, progress: Any = False) -> TextTagger:
        """Learn from documents, as `neartag.data.documents` reads them; each is read once."""
        from neartag.encoders.tfidf import TfidfFeatures
        from neartag.tagging.calibration import check_kind, of_held_out
        from neartag.tagging.corpus import build_corpus
        from neartag.x1.classifier import X1Classifier

        features, classifier, refine, kind, keep_texts = self._given
        if kind is not None:
            check_kind(kind)  # now, not after all the training
        features = TfidfFeatures() if features is None else features
        if classifier is None:
            classifier = X1Classifier() if refine is None else X1Classifier(refine=refine)
        corpus = build_corpus(documents, features, keep_texts=keep_texts)
        classifier.fit(corpus.X, corpus.Y, progress=progress, held_out=kind is not None)
        extras = of_held_out(classifier.held_out_, corpus.Y, kind)
        names = corpus.label_names, corpus.ids
        self._stored = StoredModel(classifier.model_, *names, features, {}, corpus.texts, extras)
        self._rows = None
        return self

    @property
    def stored(self) -> StoredModel:
        """The model with its names, features and texts."""
        if self._stored is None:
            raise NeartagError("this TextTagger has not learned anything yet: call fit(texts, labels) first")
        return self._stored

    @property
    def labels(self) -> list[str]:
        """Every label's name, those of added documents last."""
        return list(self.stored.label_names or [])

    @property
    def calibration(self) -> Calibration | None:
        """What turns scores into probabilities, if anything does."""
        document = self.stored.extras.get("calibration")
        if document is None:
            return None
        try:
            return Calibration.from_json(document)
        except (LookupError, TypeError, ValueError) as error:
            raise ModelError(f"the model's calibration cannot be read ({error}): train it again") from error

    def __len__(self) -> int:
        return int(self.stored.model.n_points)

    def __contains__(self, name: object) -> bool:
        return name in self._row_of

    def predict(
        self, texts: Sequence[Any], k: int = 5, threshold: str | float | None = None, *, n_jobs: int | None = -1
    ) -> list[list[Tag]]:
        """Return the labels of each text, best first: at most k, and with a threshold only those that reach it.

        A threshold is a score, or "f1" or "precision=0.8": what gave the best F1, or that precision, on held-out texts.
        """
        if isinstance(texts, str):
            raise ParameterError("texts is a single string: give a list of texts")
        check_count("k", k)
        calibration = self.calibration
        least = _least(threshold, calibration)
        X = self._transform(texts)
        ids, scores, shares = scored(self.stored.model, X, k, n_jobs)
        scores = scores if calibration is None else calibration(scores)
        names = self.stored.label_names or []
        return [
            [
                Tag(names[label], score, share)
                for label, score, share in zip(*each, strict=True)
                if label >= 0 and score >= least
            ]
            for each in zip(ids.tolist(), scores.tolist(), shares.tolist(), strict=True)
        ]

    def explain(self, text: Any, k: int = 5, voters: int = 5, words: int = 10) -> list[Reason]:
        """Return the k best labels of a text, each with the documents that voted for it and the words they share.

        Of a refined model also the words of the text that the label's ranker weighed, for it and against it. `words` is
        the most that are named of each.
        """
        check_count("k", k)
        check_count("voters", voters)
        check_count("words", words, 0)
        return reasons(self.stored, self.calibration, text, self._transform([text]), k, voters, words)

    def add(self, texts: Iterable[Any], labels: Iterable[Sequence[str]], ids: Iterable[str] | None = None) -> list[str]:
        """Add documents without training again, and return their ids; labels may be new.

        They vote at once. The tagger in memory changes; `save` keeps it. `LiveTagger` changes a folder.
        """
        wants = self._wants_vectors(self.stored.features)
        return self.add_documents(list(_documents(texts, labels, ids, wants)))

    def add_documents(self, documents: Sequence[Document]) -> list[str]:
        """Add documents without training again, and return their ids."""
        if not documents:
            return []
        segment = update.segment_of(self.stored, documents, self._row_of)
        self.apply(segment)
        return segment.ids

    def apply(self, segment: Segment) -> None:
        """Take in the documents of a segment."""
        rows, first = self._row_of, len(self)
        self._stored = self.stored.with_segment(segment)
        for place, name in enumerate(segment.ids):
            rows[name] = first + place

    def forget(self, ids: Iterable[str]) -> int:
        """Forget documents: texts, features, embeddings and votes; returns how many. DataError for an unknown id."""
        names = [ids] if isinstance(ids, str) else list(ids)
        gone = np.zeros(len(self), bool)
        for name in names:
            if name not in self._row_of:
                raise DataError(f"there is no document {name!r} to forget: check its id")
            gone[self._row_of[name]] = True
        if names:
            self._stored = update.without(self.stored, gone)
            self._rows = None
        return int(gone.sum())

    @property
    def _row_of(self) -> dict[str, int]:
        if self._rows is None:
            names = self.stored.point_names
            names = [str(row) for row in range(len(self))] if names is None else names
            self._rows = {name: row for row, name in enumerate(names)}
        return self._rows

    def _transform(self, texts: Sequence[Any]) -> Any:
        return self.stored.features.transform(texts)

    @staticmethod
    def _wants_vectors(features: Any) -> bool:
        return getattr(features, "kind", "") == "vectors"


def save(
    stored: StoredModel, folder: str | os.PathLike[str], *, generation: int = 0, locked: bool = False
) -> store.Manifest:
    """Store a model whole, with all that goes with it."""
    return store.save(
        stored.model,
        folder,
        label_names=stored.label_names,
        point_names=stored.point_names,
        features=stored.features,
        texts=stored.texts,
        extras=stored.extras,
        generation=generation,
        locked=locked,
    )


def _documents(
    texts: Iterable[Any], labels: Iterable[Sequence[str]], ids: Iterable[str] | None, vectors: bool
) -> Iterator[Document]:
    """Yield texts or vectors with their labels as documents; ParameterError where there are not as many of each."""
    if isinstance(texts, str) or isinstance(labels, str):
        raise ParameterError("give a list of texts, and for each a list of labels")
    missing = object()
    sources = [iter(texts), iter(labels), *([] if ids is None else [iter(ids)])]
    number = 0
    while True:
        found = [next(source, missing) for source in sources]
        if all(each is missing for each in found):
            return
        if any(each is missing for each in found):
            raise ParameterError(f"there must be as many lists of labels (and ids) as texts: one ended after {number}")
        text, names, *rest = found
        listed = isinstance(names, Iterable) and not isinstance(names, str)
        if not listed or not all(isinstance(name, str) for name in names):  # type: ignore[attr-defined]
            raise ParameterError(f"the labels of text {number} are {names!r:.60}: give a list of names")
        if not vectors and not isinstance(text, str):
            raise ParameterError(f"text {number} is {text!r:.60}: must be a string")
        name = str(rest[0]) if rest and rest[0] is not None else None
        yield Document("" if vectors else text, list(names), name, text if vectors else None, f"text {number}")  # type: ignore[arg-type, call-overload]
        number += 1


def _least(threshold: str | float | None, calibration: Calibration | None) -> float:
    if threshold is None:
        return 0.0
    if calibration is not None:
        return calibration.threshold(threshold)
    if isinstance(threshold, str):
        raise ParameterError(f"threshold {threshold!r} needs calibrated scores, and this model has none: give a number")
    if not 0 <= threshold <= 1:
        raise ParameterError(f"threshold must be a number from 0 to 1, not {threshold!r}")
    return float(threshold)

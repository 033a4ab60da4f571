"""TextTagger: texts in, label names out, with reasons; documents and labels may be added and forgotten at any time."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

from neartag.core.errors import ModelError, ParameterError
from neartag.data.documents import Document, Fields
from neartag.encoders.feature_kinds import AUTO
from neartag.encoders.registry import make_encoder
from neartag.storage import store
from neartag.storage.bundle import StoredModel
from neartag.storage.signing import PublicKey, Trust
from neartag.tagging.answering import Tag, Tags
from neartag.tagging.answering_tagger import AnsweringTagger
from neartag.tagging.changing_tagger import ChangingTagger
from neartag.tagging.explain import Reason, is_refined
from neartag.tagging.labelled_items import make_documents
from neartag.vocabulary.concepts import Vocabulary

__all__ = ["Reason", "Tag", "Tags", "TextTagger"]


class TextTagger(AnsweringTagger, ChangingTagger):
    """Tags texts with label names, explains its answers, and takes new documents at any time.

    Parameters
    ----------
    features : str or encoder, default "auto"
        What turns documents into feature rows. "words", "pairs" (words and word pairs), "characters" (words and runs of
        characters) or "all" of these; "auto" tries them on a part of the documents and takes what is best there. Give
        TfidfFeatures(…) to set more, HybridFeatures(encoder=…) for the meaning of texts beside their words,
        VectorFeatures() for vectors of your own instead of texts, or any other encoder.
    classifier : X1Classifier, optional
        What learns; X1Classifier() unless given.
    refine : bool, optional
        Let rankers decide among the labels that votes bring up: X1Classifier's default. False: votes alone decide, as
        they do with fewer than 200 documents. A classifier that is given has this as a setting of its own.
    calibration : "auto", "isotonic", "platt" or None
        How scores become probabilities; None: not at all.
    keep_texts : bool, default True
        Keep the texts in the model, so that explanations can show them.
    vocabulary : Vocabulary, optional
        Labels are mapped to its concepts, by any of their names or by URI; other labels are refused where it is closed.
        `neartag.vocabulary.read.read_vocabulary` reads one.

    Examples
    --------
    >>> from neartag import TextTagger, X1Classifier
    >>> texts = ["bake bread in the oven", "ride a bicycle", "bread with butter", "the wheel of a bicycle"]
    >>> labels = [["cooking"], ["cycling"], ["cooking"], ["cycling"]]
    >>> tagger = TextTagger(classifier=X1Classifier(embedding_dim=2, vote_neighbours=2, n_jobs=1)).fit(texts, labels)
    >>> [tag.label for tag in tagger.predict(["fresh bread"], k=1)[0]]
    ['cooking']
    >>> tagger.add(["stars in the night sky"], [["astronomy"]], ids=["sky"])
    ['sky']
    >>> tagger.predict(["the night sky"], k=1)[0][0].label
    'astronomy'
    >>> tagger.forget(["sky"])
    1
    """

    def __init__(
        self,
        features: Any = AUTO,
        classifier: Any = None,
        *,
        refine: bool | None = None,
        calibration: str | None = "auto",
        keep_texts: bool = True,
        vocabulary: Vocabulary | None = None,
    ) -> None:
        if refine is not None and classifier is not None:
            raise ParameterError("refine is for TextTagger's own classifier: give it to yours, X1Classifier(refine=…)")
        make_encoder(features)  # raises where it cannot be one
        self._features, self._classifier, self._refine = features, classifier, refine
        self._calibration_kind, self._keep_texts, self._vocabulary = calibration, keep_texts, vocabulary
        super().__init__()

    @classmethod
    def of(cls, stored: StoredModel) -> TextTagger:
        """Return the tagger of a stored model, which must have been trained on documents."""
        if stored.features is None or stored.label_names is None:
            raise ModelError("the model was trained on rows of features: it has no texts and label names to tag with")
        tagger = cls()
        tagger._take(stored)
        return tagger

    @classmethod
    def load(
        cls,
        folder: str | os.PathLike[str],
        *,
        encoder: Any = None,
        expect_digest: str | None = None,
        require_signature: str | os.PathLike[str] | PublicKey | None = None,
        trust: Trust | None = None,
    ) -> TextTagger:
        """Return the tagger saved in a folder.

        Parameters
        ----------
        folder : str or path
            The model folder.
        encoder : object, optional
            The sentence encoder, where the model was trained with an object of your own, which no folder can hold.
        expect_digest, require_signature, trust
            What the model must show, as in `store.load`.

        Raises
        ------
        ModelError
            There is no model in the folder, it is damaged, or it was not trained on documents.
        """
        stored = store.load(folder, expect_digest=expect_digest, require_signature=require_signature, trust=trust)
        tagger = cls.of(stored)
        if encoder is not None:
            attach = getattr(tagger.stored.features, "attach", None)
            if attach is None:
                raise ParameterError("encoder: this model has no sentence encoder")
            attach(encoder)
        return tagger

    def copy(self) -> TextTagger:
        """Return a tagger of the same model, which may be changed on its own; the arrays are shared."""
        tagger = TextTagger()
        tagger._stored, tagger._calibration = self.stored, self._calibration
        tagger._rows_by_id = None if self._rows_by_id is None else dict(self._rows_by_id)
        return tagger

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Store the tagger in a folder, in place of the model there.

        Raises
        ------
        ModelError
            The folder cannot be written, or holds other things than a model.
        """
        store.save_bundle(self.stored, folder)

    def fit(
        self,
        texts: Iterable[Any],
        labels: Iterable[Sequence[str]] | None = None,
        ids: Iterable[str] | None = None,
        *,
        fields: Fields | None = None,
        progress: Any = False,
    ) -> TextTagger:
        """Learn from texts and their labels.

        Parameters
        ----------
        texts : iterable of str, or a data frame
            The texts; with an encoder of vectors, the vectors. A frame of pandas or polars is read as a table of the
            same columns would be.
        labels : iterable of lists of str
            The label names of each text; left out for a frame that has them.
        ids : iterable of str, optional
            A name for each document, by which explanations name it and `forget` finds it; its number unless given.
        fields : Fields, optional
            The columns of a frame: "text", "labels" and "id" unless given.
        progress : bool or Progress
            Whether to show progress.

        Returns
        -------
        TextTagger
            The tagger itself.

        Raises
        ------
        ParameterError
            There are not as many lists of labels, or ids, as texts; or a setting cannot be used.
        DataError
            A text cannot be used, or two have the same id.
        """
        documents = make_documents(make_encoder(self._features), texts, labels, ids, fields)
        return self.fit_documents(documents, progress=progress)

    def fit_documents(self, documents: Iterable[Document], *, progress: Any = False) -> TextTagger:
        """Learn from documents, as `neartag.data.documents` reads them, and return the tagger; each is read once."""
        from neartag.tagging import fitting  # here: a tagger that is loaded needs nothing of it

        stored = fitting.fit_documents(
            documents,
            make_encoder(self._features),
            fitting.make_classifier(self._refine) if self._classifier is None else self._classifier,
            calibration=self._calibration_kind,
            keep_texts=self._keep_texts,
            vocabulary=self._vocabulary,
            progress=progress,
        )
        self._take(stored)
        return self

    def __repr__(self) -> str:
        """Say in a line what was learned."""
        if self._stored is None:
            return f"TextTagger({self._features!r}, not fitted)"
        traits = [self._stored.model.kind, *(["refined"] if is_refined(self._stored.model) else [])]
        traits += [] if self._calibration is None else ["calibrated"]
        return f"TextTagger({len(self)} documents, {len(self.labels)} labels; {', '.join(traits)})"

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return what the tagger was made with, by name; with `deep`, the classifier's parameters too."""
        own = (self._features, self._classifier, self._refine, self._calibration_kind, self._keep_texts)
        names = ("features", "classifier", "refine", "calibration", "keep_texts", "vocabulary")
        params = dict(zip(names, (*own, self._vocabulary), strict=True))
        nested = self._classifier.get_params() if deep and self._classifier is not None else {}
        return params | {f"classifier__{name}": value for name, value in nested.items()}

"""TextTagger: texts in, label names out, with reasons; documents and labels may be added and forgotten at any time."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from neartag.core.errors import ModelError, NeartagError, ParameterError
from neartag.data.documents import Document, Fields
from neartag.encoders.feature_kinds import AUTO
from neartag.encoders.registry import make_encoder
from neartag.storage import store
from neartag.storage.bundle import StoredModel
from neartag.storage.segments import Segment
from neartag.tagging import calibration as calibrations
from neartag.tagging.answering import Tag, Tags, explain_text, measure_precision, tag_texts
from neartag.tagging.calibration import Calibration
from neartag.tagging.explain import Reason, is_refined
from neartag.tagging.label_changes import close_labels, merge_labels, rename_label
from neartag.tagging.labelled_items import make_documents, read_texts
from neartag.tagging.restricted import RestrictedModels
from neartag.tagging.update import forget_points, make_segment, mark_points, number_points
from neartag.vocabulary.concepts import Vocabulary

if TYPE_CHECKING:
    from neartag.tagging.review import ToLabel
    from neartag.tagging.review_labels import Doubt

__all__ = ["Reason", "Tag", "Tags", "TextTagger"]


class TextTagger:
    """Tags texts with label names, explains its answers, and takes new documents at any time.

    Parameters
    ----------
    features : str or encoder, default "auto"
        What turns documents into feature rows. "words", "pairs" (words and word pairs), "characters" (words and runs of
        characters) or "all" of these; "auto" tries them on a part of the documents and takes what is best there. Give
        TfidfFeatures(…) to set more, VectorFeatures() for vectors of your own instead of texts, or any other encoder.
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
        self._stored: StoredModel | None = None
        self._calibration: Calibration | None = None
        self._rows_by_id: dict[str, int] | None = None  # made when it is first needed, and kept up to date then
        self._restricted = RestrictedModels()

    @classmethod
    def of(cls, stored: StoredModel) -> TextTagger:
        """Return the tagger of a stored model, which must have been trained on documents."""
        if stored.features is None or stored.label_names is None:
            raise ModelError("the model was trained on rows of features: it has no texts and label names to tag with")
        tagger = cls()
        tagger._take(stored)
        return tagger

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> TextTagger:
        """Return the tagger saved in a folder.

        Raises
        ------
        ModelError
            There is no model in the folder, it is damaged, or it was not trained on documents.
        """
        return cls.of(store.load(folder))

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

    @property
    def stored(self) -> StoredModel:
        """The model with its names, encoder and texts."""
        return self._check_fitted()

    @property
    def labels(self) -> list[str]:
        """Every label's name; labels of added documents come last."""
        return list(self.stored.label_names or [])

    @property
    def vocabulary(self) -> Vocabulary | None:
        """What the labels mean, and which names lead to them; None where nothing tells."""
        return self.stored.vocabulary

    @property
    def calibration(self) -> Calibration | None:
        """What turns scores into probabilities; None where nothing does."""
        self._check_fitted()
        return self._calibration

    def __repr__(self) -> str:
        """Say in a line what was learned."""
        if self._stored is None:
            return f"TextTagger({self._features!r}, not fitted)"
        traits = [self._stored.model.kind, *(["refined"] if is_refined(self._stored.model) else [])]
        traits += [] if self._calibration is None else ["calibrated"]
        return f"TextTagger({len(self)} documents, {len(self.labels)} labels; {', '.join(traits)})"

    def __len__(self) -> int:
        return int(self.stored.model.n_points)

    def __contains__(self, name: object) -> bool:
        return name in self._row_of

    def predict(
        self,
        texts: Sequence[Any],
        k: int = 5,
        threshold: str | float | None = None,
        *,
        fields: Fields | None = None,
        include: Sequence[str] | None = None,
        exclude: Sequence[str] | None = None,
        fallback: bool = False,
        n_jobs: int | None = -1,
    ) -> list[Tags]:
        """Return the labels of each text, best first.

        Parameters
        ----------
        texts : sequence of str, or a data frame
            The texts; with an encoder of vectors, the vectors.
        k : int, default 5
            At most so many labels for each text.
        threshold : float or str, optional
            Only labels of this score and above. "f1" and "precision=0.8" stand for the score that gave the best F1, or
            that precision, on held-out texts; they need a calibrated model.
        fields : Fields, optional
            Says which column of a frame has the texts: "text" unless given.
        include, exclude : list of str, optional
            Only these labels, and none of those. Each is a label (with a vocabulary, any of its names, or its URI), or
            "fruit*" for all labels that begin so, or "under:fruit" for a concept and all that are narrower. Scores do
            not change. A refined model answers with those of a text's candidates that are asked for; there may be none.
        fallback : bool, default False
            Give a text that nothing is known of the most frequent labels, each with the score 0. Otherwise it has none.
        n_jobs : int, default -1
            Cores to use; -1: all.

        Returns
        -------
        list of Tags
            For each text a list of named tuples of label, score and share. Its attribute `found` is False where nothing
            is known of the text: no word, or no document is near it.

        Raises
        ------
        ParameterError
            `k` or `threshold` cannot be used, or there is no such label.
        """
        texts = read_texts(texts, fields)
        model = self.restrict(include, exclude)
        more = {"n_jobs": n_jobs, "model": model, "fallback": fallback}
        return tag_texts(self.stored, self.calibration, texts, k, threshold, **more)

    def restrict(self, include: Sequence[str] | None, exclude: Sequence[str] | None) -> Any:
        """Return the model that answers with these labels only, as `predict` takes them; the whole one for None."""
        return self._restricted.get(self.stored, include, exclude)

    def score(self, texts: Sequence[Any], labels: Sequence[Sequence[str]], k: int = 1) -> float:
        """Return P@k on labelled texts, from 0 to 1: how many of the k best labels are right, on average."""
        return measure_precision(self.predict(texts, k), labels, k)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return what the tagger was made with, by name; with `deep`, the classifier's parameters too."""
        own = (self._features, self._classifier, self._refine, self._calibration_kind, self._keep_texts)
        names = ("features", "classifier", "refine", "calibration", "keep_texts", "vocabulary")
        params = dict(zip(names, (*own, self._vocabulary), strict=True))
        nested = self._classifier.get_params() if deep and self._classifier is not None else {}
        return params | {f"classifier__{name}": value for name, value in nested.items()}

    def explain(
        self, text: Any, k: int = 5, voters: int = 5, words: int = 10, *, fallback: bool = False
    ) -> list[Reason]:
        """Return the best labels of a text, each with the documents that voted for it and the words they share.

        Parameters
        ----------
        text : str
            The text; with an encoder of vectors, the vector.
        k : int, default 5
            How many labels.
        voters : int, default 5
            At most so many documents for each label.
        words : int, default 10
            At most so many words for each document. For a refined model, also at most so many words of the text that
            the label's ranker weighed, for the label and against it.
        fallback : bool, default False
            As in `predict`: the most frequent labels, of score 0, where nothing is known of the text; otherwise none.

        Returns
        -------
        list of Reason
            Named tuples of label, score, share, voters, words and found, the best label first.

        Raises
        ------
        ModelError
            If the model is not X1: no other method has voters to name.
        ParameterError
            `text` is not one string (a list of texts, for example), or a number cannot be used.
        """
        return explain_text(self.stored, self.calibration, text, k, voters, words, fallback=fallback)

    def review(
        self, texts: Sequence[Any], n: int = 50, *, fields: Fields | None = None, n_jobs: int | None = -1
    ) -> list[ToLabel]:
        """Return the texts without labels that are most worth labelling, the first first.

        It counts how unsure the model is of a text, how new the text is to it, for how many others it stands, and
        whether one like it is in the list already. Of more than 50,000 texts a part is looked at, always the same.

        Parameters
        ----------
        texts : sequence of str, or a data frame
            Texts without labels; with an encoder of vectors, the vectors.
        n : int, default 50
            At most so many.
        fields, n_jobs
            As in `predict`.

        Returns
        -------
        list of ToLabel
            Named tuples of index (the place in `texts`), score, labels (what the model would give), reason, evidence
            (the nearest documents that the model has).

        Raises
        ------
        ModelError
            The model has not kept its documents' labels, or neither their texts nor their features.
        """
        from neartag.tagging.review import review_texts

        return review_texts(self.stored, self.calibration, read_texts(texts, fields), n, n_jobs)

    def review_labels(
        self,
        texts: Iterable[Any] | None = None,
        labels: Iterable[Sequence[str]] | None = None,
        ids: Iterable[str] | None = None,
        *,
        n: int = 50,
        folds: int | None = None,
        fields: Fields | None = None,
        n_jobs: int | None = -1,
        progress: Any = False,
    ) -> list[Doubt]:
        """Return the labels that are most probably wrong, or missing, the most doubtful first.

        Each is judged by what is known without its own document: by other documents, and by models that were trained
        without it.

        Parameters
        ----------
        texts, labels, ids, fields
            Labelled documents, as in `fit`, to review instead of the model's own.
        n : int, default 50
            At most so many.
        folds : int, optional
            How many models are trained, each without a part of the documents; 0: none, which is quicker and finds a
            little less. Unless given, 5 for the model's own documents, and none for others.
        n_jobs : int, default -1
            Cores to use; -1: all.
        progress : bool or Progress
            Whether to show progress.

        Returns
        -------
        list of Doubt
            Named tuples of index (the document's place), id, label, kind ("wrong" or "missing"), score, reason and
            evidence (the nearest documents; of a missing label, the nearest that have it).

        Raises
        ------
        ModelError
            The model has not kept its documents' labels, or neither their texts nor their features.
        """
        documents = None if texts is None else list(make_documents(self.stored.features, texts, labels, ids, fields))
        return self.review_documents(documents, n=n, folds=folds, n_jobs=n_jobs, progress=progress)

    def review_documents(self, documents: Sequence[Document] | None, **options: Any) -> list[Doubt]:
        """Return what `review_labels` does, of documents as `neartag.data.documents` reads them; None: the model's."""
        from neartag.tagging.review_labels import review_labels

        return review_labels(self.stored, documents, **options)

    def add(
        self,
        texts: Iterable[Any],
        labels: Iterable[Sequence[str]] | None = None,
        ids: Iterable[str] | None = None,
        *,
        fields: Fields | None = None,
    ) -> list[str]:
        """Add documents without training again. They vote at once, and their labels may be new.

        The tagger in memory changes; `save` keeps it. `LiveTagger` changes a folder.

        Parameters
        ----------
        texts, labels, ids, fields
            As in `fit`. A document without an id gets one that no other document has.

        Returns
        -------
        list of str
            The documents' ids.

        Raises
        ------
        DataError
            An id is there already, or given twice.
        ModelError
            The model is of a kind that takes no documents after training.
        """
        return self.add_documents(list(make_documents(self.stored.features, texts, labels, ids, fields)))

    def add_documents(self, documents: Sequence[Document]) -> list[str]:
        """Add documents without training again, and return their ids."""
        if not documents:
            return []
        segment = make_segment(self.stored, documents, self._row_of)
        self.apply(segment)
        return segment.ids

    def apply(self, segment: Segment) -> None:
        """Take in the documents of a segment."""
        rows, first = self._row_of, len(self)
        self._stored = self.stored.with_segment(segment)
        for place, name in enumerate(segment.ids):
            rows[name] = first + place

    def forget(self, ids: Iterable[str]) -> int:
        """Forget documents: their texts, features, embeddings and votes go.

        Parameters
        ----------
        ids : iterable of str
            The documents' ids.

        Returns
        -------
        int
            How many documents were forgotten.

        Raises
        ------
        DataError
            There is no document of this id; nothing is forgotten then.
        """
        names = [ids] if isinstance(ids, str) else list(ids)
        gone = mark_points(len(self), self._row_of, names)  # (n,)
        if names:
            self._stored, self._rows_by_id = forget_points(self.stored, gone), None
        return int(gone.sum())

    def rename_label(self, label: str, new: str) -> None:
        """Give a label another name; the old one, and with a vocabulary any other of its names, still leads to it."""
        self._take(rename_label(self.stored, label, new))

    def merge_label(self, label: str, into: str) -> None:
        """Make two labels one, without training again: documents that had either have `into` from now on.

        Names of the label that is gone lead to `into`. ModelError where the model's method cannot do it.
        """
        self._take(merge_labels(self.stored, label, into))

    def close_labels(self, closed: bool = True) -> None:
        """Refuse labels, from now on, that neither the model nor its vocabulary has; False: take any again."""
        self._take(close_labels(self.stored, closed))

    def _check_fitted(self) -> StoredModel:
        if self._stored is None:
            raise NeartagError("this TextTagger has not learned anything yet: call fit(texts, labels) first")
        return self._stored

    def _take(self, stored: StoredModel) -> None:
        """Tag with this model from now on."""
        self._stored, self._rows_by_id = stored, None
        self._calibration = calibrations.from_extras(stored.extras)

    @property
    def _row_of(self) -> dict[str, int]:
        if self._rows_by_id is None:
            self._rows_by_id = number_points(self.stored)
        return self._rows_by_id

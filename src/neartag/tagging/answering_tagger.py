"""A tagger as one asks it: labels of texts, with reasons, and what to look at next. Nothing changes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from neartag.data.documents import Document, Fields
from neartag.tagging.answering import Tags, explain_text, measure_precision, tag_texts
from neartag.tagging.explain import Reason
from neartag.tagging.held_model import HeldModel
from neartag.tagging.labelled_items import make_documents, read_texts

if TYPE_CHECKING:
    from neartag.tagging.review import ToLabel
    from neartag.tagging.review_labels import Doubt


class AnsweringTagger(HeldModel):
    """Answers, explains, and says what to look at next."""

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
        kind: str | None = None,
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
        kind : "wrong" or "missing", optional
            Only labels that are probably wrong, or only those that are probably missing; both unless given.
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
        return self.review_documents(documents, n=n, kind=kind, folds=folds, n_jobs=n_jobs, progress=progress)

    def review_documents(self, documents: Sequence[Document] | None, **options: Any) -> list[Doubt]:
        """Return what `review_labels` does, of documents as `neartag.data.documents` reads them; None: the model's."""
        from neartag.tagging.review_labels import review_labels

        return review_labels(self.stored, documents, **options)

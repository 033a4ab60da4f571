"""Labelled documents reviewed: the labels that are most doubtful, each with the documents that speak against it.

review_doubts.py tells how doubtful a label is. Reviewed are the documents of a model, or others that are labelled.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse import csr_matrix

from neartag.core.errors import ParameterError
from neartag.core.estimator import choose_progress
from neartag.core.threads import resolve_jobs
from neartag.data.documents import Document
from neartag.linalg import csr
from neartag.linalg.hybrid_rows import words_of
from neartag.linalg.validation import check_count
from neartag.methods.registry import DEFAULT_METHOD
from neartag.storage.bundle import StoredModel
from neartag.tagging.review_doubts import MISSING, WRONG, DoubtfulPairs, answer_by_folds, choose_documents, rank_doubts
from neartag.tagging.review_evidence import SHOWN, NearDocument, ReviewedCorpus, near_documents
from neartag.tagging.review_pairs import FEW, PairFeatures
from neartag.tagging.update import make_segment
from neartag.x1.classifier import X1Classifier

FOLDS = 5  # models trained to answer documents that they do not know; more find little more
MAX_FITTED = 20_000  # documents from which it is learned what to doubt: more would teach nothing
SAID_LABELS = 3  # that the nearest documents have instead


@dataclass(frozen=True)
class Doubt:
    """A label that is probably wrong, or probably missing."""

    index: int  # of the document, among those reviewed
    id: str
    label: str
    kind: str  # "wrong" or "missing"
    score: float  # how likely, where one label in forty is wrong and one in twenty is missing
    reason: str
    evidence: list[NearDocument]  # the nearest documents; of a missing label, the nearest that have it


class LabelReview(NamedTuple):
    """Labels by doubt, and what they were judged by."""

    corpus: ReviewedCorpus
    first: int  # where the reviewed documents begin
    features: PairFeatures
    ranked: DoubtfulPairs


def review_labels(
    stored: StoredModel,
    documents: Sequence[Document] | None,
    n: int,
    folds: int | None = None,
    *,
    kind: str | None = None,
    n_jobs: int | None = -1,
    progress: Any = False,
) -> list[Doubt]:
    """Return the n most doubtful labels; `TextTagger.review_labels` says what the rest is."""
    check_count("n", n)
    if kind not in (None, WRONG, MISSING):
        raise ParameterError(f"kind must be {WRONG!r}, {MISSING!r} or None (both), not {kind!r}")
    review = rank_labels(stored, documents, folds, n_jobs=n_jobs, progress=progress)
    pairs = (each[:n].tolist() for each in review.ranked.of_kind(kind))
    return [_describe(review, *pair) for pair in zip(*pairs, strict=True)]


def rank_labels(
    stored: StoredModel,
    documents: Sequence[Document] | None = None,
    folds: int | None = None,
    *,
    n_jobs: int | None = -1,
    progress: Any = False,
) -> LabelReview:
    """Return all labels of the documents, and all that they may lack, the most doubtful first."""
    folds = (FOLDS if documents is None else 0) if folds is None else folds
    check_count("folds", folds, 0)
    corpus, first = gather_corpus(stored, documents)
    count = corpus.rows.shape[0]
    threads = resolve_jobs(n_jobs)
    answers = None
    if folds > 1 and count >= 2 * folds:
        shown = choose_progress(progress)
        with shown.start(folds, "training without a part of the documents"):
            answers = answer_by_folds(
                lambda: _make_classifier(stored, n_jobs), corpus.rows, corpus.Y, folds, n_jobs, shown.advance
            )
    reviewed = np.arange(count) >= first  # (n,)
    fitted = choose_documents(count, MAX_FITTED)  # (n,)
    features = PairFeatures.prepare(corpus.rows, corpus.Y, answers, np.flatnonzero(reviewed | fitted), threads)
    return LabelReview(corpus, first, features, rank_doubts(features, reviewed, fitted, threads))


def gather_corpus(stored: StoredModel, documents: Sequence[Document] | None) -> tuple[ReviewedCorpus, int]:
    """Return the corpus to review in, and where in it the reviewed documents begin.

    Without documents these are the model's own, all of them. Otherwise they come after the model's, of which those with
    the same id or the same text are left out: a document is no evidence for itself.
    """
    corpus = ReviewedCorpus.of(stored)
    if documents is None:
        return corpus, 0
    if stored.vocabulary is not None:  # a label that it does not have is no error here
        stored = replace(stored, vocabulary=replace(stored.vocabulary, closed=False))
    segment = make_segment(stored, [each._replace(id=None) for each in documents], ())
    kept = ~_are_same(corpus, documents)  # (n,)
    rows = [corpus.rows[kept], words_of(segment.rows)]
    stacked = csr_matrix(sparse.vstack(rows, format="csr")) if sparse.issparse(rows[0]) else np.vstack(rows)
    Y = csr_matrix(sparse.vstack([csr.widen(corpus.Y[kept], segment.Y.shape[1]), segment.Y], format="csr"))
    names = [name for name, keep in zip(corpus.ids, kept.tolist(), strict=True) if keep]
    names += [str(number) if each.id is None else each.id for number, each in enumerate(documents)]
    texts = None
    if corpus.texts is not None:
        texts = [corpus.texts[int(row)] for row in np.flatnonzero(kept)] + [each.text for each in documents]
    labels = [*corpus.label_names, *segment.new_labels]
    return ReviewedCorpus(stacked, Y, labels, names, texts, corpus.features), int(kept.sum())


def _are_same(corpus: ReviewedCorpus, documents: Sequence[Document]) -> np.ndarray:
    """Return which documents of the corpus (n,) are among these, by id or by text."""
    ids = {each.id for each in documents if each.id is not None}
    texts = {each.text for each in documents if each.text}
    same = np.array([name in ids for name in corpus.ids], bool)
    if corpus.texts is not None and texts:
        same |= np.array([text in texts for text in corpus.texts], bool)
    return same


def _make_classifier(stored: StoredModel, n_jobs: int | None) -> X1Classifier:
    """Return an unfitted classifier with the model's settings, as far as they are X1's."""
    settings = stored.model.parameters if stored.model.kind == DEFAULT_METHOD else {}
    return X1Classifier(**{**settings, "n_jobs": n_jobs})


def _describe(review: LabelReview, document: int, label: int, is_missing: bool, score: float) -> Doubt:
    """Return a doubt with its evidence in words and documents."""
    corpus = review.corpus
    near = [
        pair for pair in zip(*(each[document].tolist() for each in review.features.near), strict=True) if pair[0] >= 0
    ]
    having = [point for point, _ in near[:FEW] if corpus.has_label(point, label)]
    reason = say_what_others_have(corpus, [point for point, _ in near[:FEW]], len(having), is_missing)
    if is_missing:
        near = [pair for pair in near if corpus.has_label(pair[0], label)]
    text = None if corpus.texts is None else corpus.texts[document]
    evidence = near_documents(corpus, text, corpus.rows[document : document + 1], near[:SHOWN])
    kind = MISSING if is_missing else WRONG
    return Doubt(
        document - review.first, corpus.ids[document], corpus.label_names[label], kind, score, reason, evidence
    )


def say_what_others_have(corpus: ReviewedCorpus, near: list[int], having: int, is_missing: bool) -> str:
    """Return in words how many of the nearest documents have the label, and what they have where few have it."""
    if not near:
        return "no other document is like it"
    said = f"{having} of the {len(near)} nearest documents {'has' if having == 1 else 'have'} it"
    if is_missing:
        return said
    counted = Counter(name for point in near for name in corpus.labels_of(point))
    others = ", ".join(f"{name} ({count})" for name, count in counted.most_common(SAID_LABELS))
    return f"{said}; they have {others}" if others else said

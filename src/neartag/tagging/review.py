"""What to label next: documents without labels, ranked by what their labels would teach the model.

Four things count. How unsure the model is of a document's own labels. How new it is: how unlike all that was learned
from. For how many other documents it stands. And whether one like it is in the list already.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from neartag.core.errors import ParameterError
from neartag.core.threads import resolve_jobs
from neartag.encoders.tfidf import TfidfFeatures
from neartag.linalg.hybrid_rows import words_of
from neartag.linalg.rows import Rows, as_rows, normalise
from neartag.linalg.validation import check_count
from neartag.storage.bundle import StoredModel
from neartag.tagging.answering import Tag
from neartag.tagging.calibration import Calibration, calibrate_scores
from neartag.tagging.ranking import rank_rows
from neartag.tagging.review_coverage import choose_greedily, nearest_known, similarity_graph
from neartag.tagging.review_doubts import choose_documents
from neartag.tagging.review_evidence import SHOWN, NearDocument, ReviewedCorpus, near_documents

# Labels of each document whose probabilities tell how unsure the model is.
ASKED_LABELS = 10
SUGGESTED = 5
# What is left to learn of a document where the model is sure: it may be wrong, and without calibration it often is.
LEAST_VARIANCE, LEAST_TO_LEARN = 0.01, 0.05
# Of more documents a part is looked at, always the same: their likeness to each other takes time and room.
MAX_DOCUMENTS = 50_000
# What a document's reasons say in words.
UNLIKE, UNSURE, MIN_STANDS_FOR, ALIKE = 0.3, 0.5, 3, 0.3


@dataclass(frozen=True)
class ToLabel:
    """A document that is worth labelling."""

    index: int  # its place among the documents given
    score: float  # what its labels would teach: only its order means something
    labels: list[Tag]  # what the model would give it, best first
    reason: str
    evidence: list[NearDocument]  # the nearest documents that the model has


def review_texts(
    stored: StoredModel, calibration: Calibration | None, texts: Sequence[Any], n: int, n_jobs: int | None = -1
) -> list[ToLabel]:
    """Return the n texts to label first; `TextTagger.review` says what the rest is."""
    if isinstance(texts, str):
        raise ParameterError("texts is a single string: give a list of texts")
    check_count("n", n)
    if not len(texts):
        return []
    threads = resolve_jobs(n_jobs)
    asked = np.flatnonzero(choose_documents(len(texts), MAX_DOCUMENTS))
    items = [texts[place] for place in asked.tolist()]
    X = stored.features.transform(items)  # (m, d)
    ids, scores, shares, found = rank_rows(stored.model, X, min(ASKED_LABELS, int(stored.model.n_labels)), n_jobs)
    corpus, X = ReviewedCorpus.of(stored), normalise(as_rows(words_of(X)))
    probabilities = np.where(ids >= 0, np.clip(calibrate_scores(calibration, scores), 0.0, 1.0), 0.0)
    probabilities[~found] = largest_shares(corpus.Y, ids.shape[1])
    rows, known = encode_together(corpus, items, X)
    graph = similarity_graph(rows, threads)
    covered = nearest_known(rows, known, 1, threads)[1][:, 0]
    to_learn = np.maximum(1 - probabilities[:, 0], LEAST_TO_LEARN)  # of a document, where one like it is labelled
    chosen, values = choose_greedily(graph, covered, to_learn, uncertainty(probabilities), n)
    near = nearest_known(rows[chosen], known, min(SHOWN, known.shape[0]), threads)
    names = stored.label_names or []
    listed = []
    for at, (place, value) in enumerate(zip(chosen.tolist(), values.tolist(), strict=True)):
        answered = zip(*(each[place].tolist() for each in (ids, probabilities, shares)), strict=True)
        tags = [Tag(names[label], score, share) for label, score, share in answered if label >= 0][:SUGGESTED]
        alike = int((graph.data[graph.indptr[place] : graph.indptr[place + 1]] >= ALIKE).sum()) - 1
        best = float(probabilities[place, 0]) if found[place] else None
        reason = say_why(best, float(near[1][at, 0]), alike)  # by the documents that are shown
        pairs = [(point, cosine) for point, cosine in zip(*(each[at].tolist() for each in near), strict=True) if cosine]
        evidence = near_documents(corpus, items[place], X[place : place + 1], pairs)
        listed.append(ToLabel(int(asked[place]), value, tags, reason, evidence))
    return listed


def uncertainty(probabilities: np.ndarray) -> np.ndarray:
    """Return how unsure the model is of each document (m,): the standard deviation of how many of its labels are right.

    The variance is the sum of p(1 − p) over the best labels' probabilities (m, k).
    """
    return np.sqrt((probabilities * (1 - probabilities)).sum(axis=1) + LEAST_VARIANCE)


def largest_shares(Y: csr_matrix, k: int) -> np.ndarray:
    """Return how many of the documents have each of the k most frequent labels (k,): all that is known of a new one."""
    counts = np.sort(np.bincount(Y.indices, minlength=max(k, Y.shape[1])))[::-1][:k]
    return counts / max(1, Y.shape[0])


def say_why(probability: float | None, covered: float, alike: int) -> str:
    """Return in words why a document is worth labelling, by its best label's probability and what it is like.

    The probability is None where no label comes up.
    """
    said = []
    if probability is None:
        said.append("unsure: no label comes up")
    elif probability < UNSURE:
        said.append(f"unsure: its best label has {100 * probability:.0f}%")
    if covered == 0:
        said.append("new: no word in common with what was learned from")
    elif covered < UNLIKE:
        said.append(f"new: the nearest known document has a similarity of {covered:.2f}")
    if alike >= MIN_STANDS_FOR:
        said.append(f"stands for {alike} others like it")
    return "; ".join(said) or f"several labels are possible: the best has {100 * (probability or 0):.0f}%"


def encode_together(corpus: ReviewedCorpus, items: Sequence[Any], X: Rows) -> tuple[Rows, Rows]:
    """Return unit rows of the new documents and of the model's, in columns that both share.

    Words that the model does not know make documents new, so texts are encoded once more, by all their words. Where the
    model has no texts its own features must do: X are the new documents' unit rows.
    """
    if corpus.features.accepts != "text" or corpus.texts is None:
        return X, corpus.rows
    rows = normalise(as_rows(TfidfFeatures().fit_transform([*items, *corpus.texts])))
    return rows[: len(items)], rows[len(items) :]

"""Why a label was given: the documents that voted for it, and the words of the text that its ranker weighed.

Of each document: its share of the votes, its own labels, and the words that it shares with the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from neartag.storage.bundle import StoredModel
from neartag.tagging.calibration import Calibration
from neartag.tagging.explained_meaning import TextMeaning
from neartag.tagging.explained_words import TextWords, Word
from neartag.x1.retrieval import Retrieved

# What brings a label up: documents near the text that have it; its documents' mean, which is like the text though none
# of them is near; or only that it is frequent, where nothing in the text is known.
VOTES, MEAN, FREQUENCY = "votes", "mean", "frequency"


class Voter(NamedTuple):
    """A document that voted."""

    id: str
    share: float  # of all votes on the text
    labels: list[str]
    words: list[Word]  # that both texts have, the weightiest first
    text: str | None
    meaning: Sequence[Word] = ()  # words of the text that make it near in meaning, by a sentence encoder


class Reason(NamedTuple):
    """A label, who voted for it, the strongest first, and what its ranker weighed."""

    label: str
    score: float  # the probability that it is right, where the model is calibrated or refined, else the share
    share: float  # of the votes: all its voters' shares together
    voters: list[Voter]
    words: list[Word]  # of the text, the weightiest first, for or against; none without a ranker
    found: str  # VOTES, MEAN or FREQUENCY


Best = list[tuple[int, float, float]]  # labels, the best first, each with its score and its share of the votes


def has_voters(model: Any) -> bool:
    """Return whether a model's answers are votes of training points, which can be named."""
    return hasattr(model, "retrieve")


def is_refined(model: Any) -> bool:
    """Return whether rankers decide among the labels: scores are then not shares of votes, but probabilities."""
    return getattr(model, "reranker", None) is not None


def votes(model: Any, X: Any, k: int) -> list[tuple[list[tuple[int, float]], dict[int, float]]]:
    """Return for each row its k best labels with their shares, and every voter's row number with its share.

    The shares of those voters that have a label add up to the label's.
    """
    answers = _answers(model, model.retrieve(X), k)
    return [([(label, share) for label, _, share in best], share_of) for best, share_of in answers]


def labels_of(model: Any, point: int) -> list[int]:
    """Return the labels of a training point."""
    return model.Y.indices[model.Y.indptr[point] : model.Y.indptr[point + 1]].tolist()


def reasons(
    stored: StoredModel,
    calibration: Calibration | None,
    text: Any,
    X: Any,
    k: int,
    voters: int,
    words: int,
    *,
    fallback: bool = True,
    **limits: float,
) -> list[Reason]:
    """Return the k best labels of a text, whose feature row is X, each with its strongest voters and words.

    With `fallback`, a text on which nobody votes gets the most frequent labels, of score 0. `limits` are those of
    TextWords, below which words are not shown.
    """
    model, names = stored.model, stored.label_names or []
    retrieved = model.retrieve(X)
    ((best, share_of),) = _answers(model, retrieved, k, fallback=fallback)
    known, meaning = TextWords(stored, text, X, words, **limits), TextMeaning(stored, text, words)
    described: dict[int, Voter] = {}
    given: list[Reason] = []
    proposed: set[int] | None = None  # labels that votes or centroids proposed; asked for once it is needed
    for label, score, share in best:
        own = [point for point in share_of if label in labels_of(model, point)][:voters]
        for point in own:
            if point not in described:
                described[point] = _voter(stored, point, share_of[point], known, meaning)
        if not own and proposed is None:
            proposed = _proposed_labels(model, retrieved)
        source = VOTES if own else MEAN if proposed and label in proposed else FREQUENCY
        if source == FREQUENCY:  # how frequent a label is says nothing about the text
            score = share = 0.0
        elif calibration is not None:
            score = float(calibration(np.array(score)))
        voted = [described[point] for point in own]
        given.append(Reason(names[label], score, share, voted, known.contributions(label), source))
    return given


def nearest_voters(stored: StoredModel, text: Any, X: Any, count: int, words: int) -> list[Voter]:
    """Return the documents with most votes on a text, whose feature row is X, whatever their labels.

    The model may also have been trained on rows of features; labels and documents without names have numbers then.
    """
    ((_, share_of),) = _answers(stored.model, stored.model.retrieve(X), 1)
    known, meaning = TextWords(stored, text, X, words), TextMeaning(stored, text, words)
    return [_voter(stored, point, share, known, meaning) for point, share in list(share_of.items())[:count]]


def _answers(model: Any, retrieved: Retrieved, k: int, *, fallback: bool = True) -> list[tuple[Best, dict[int, float]]]:
    """Return for each row its k best labels, and every voter's row number with its share, the strongest first."""
    labels, scores = model.rank(retrieved, k, fallback=fallback)
    voters, weights = model.voters(retrieved)
    shares = model.shares(retrieved, labels) if is_refined(model) else scores
    all_answers = []
    for row in range(len(labels)):
        share_of: dict[int, float] = {}
        for point, share in zip(voters[row].tolist(), weights[row].tolist(), strict=True):
            if point >= 0:  # several learners may find the same point
                share_of[point] = share_of.get(point, 0.0) + share
        answers = zip(labels[row].tolist(), scores[row].tolist(), shares[row].tolist(), strict=True)
        best = [answer for answer in answers if answer[0] >= 0]
        all_answers.append((best, dict(sorted(share_of.items(), key=lambda voter: (-voter[1], voter[0])))))
    return all_answers


def _proposed_labels(model: Any, retrieved: Retrieved) -> set[int]:
    """Return the labels of a row among which rankers decide: a label that nobody voted for is there by its mean."""
    return set(model.candidates(retrieved)[0].ravel().tolist()) if is_refined(model) else set()


def _voter(stored: StoredModel, point: int, share: float, known: TextWords, meaning: TextMeaning) -> Voter:
    names = stored.label_names
    name = str(point) if stored.point_names is None else stored.point_names[point]
    labels = [str(label) if names is None else names[label] for label in labels_of(stored.model, point)]
    text = None if stored.texts is None else stored.texts[point]
    return Voter(name, share, labels, known.shared_words(point), text, meaning.near_words(point))
